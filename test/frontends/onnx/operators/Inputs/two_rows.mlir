dist.mesh @m ["rows" = 3]
dist.schedule @rows on @m {
  dist.shard input "x" [{}, {}, {"rows"}, {}]
  dist.shard input "u" [{}, {}, {"rows"}, {}]
}
