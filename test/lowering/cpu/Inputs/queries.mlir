dist.mesh @m ["d" = 2]
dist.schedule @s on @m {
  dist.shard input "q" [{}, {"d"}, {}]
}
