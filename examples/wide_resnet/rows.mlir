// Each rank has a band of the image's rows, and the rows next to it that windows reach come from its neighbours.

dist.mesh @m ["rows" = 4]

dist.schedule @rows on @m {
  dist.shard input "x" [{}, {}, {"rows"}, {}]
}
