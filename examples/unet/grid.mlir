// Each rank has a tile of the image: what windows reach comes row by row, then column by column with the corners.

dist.mesh @m ["rows" = 2, "columns" = 2]

dist.schedule @grid on @m {
  dist.shard input "x" [{}, {}, {"rows"}, {"columns"}]
}
