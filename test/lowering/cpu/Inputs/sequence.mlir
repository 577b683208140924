dist.mesh @m ["sp" = 2]
dist.schedule @s on @m {
  dist.shard input "x" [{}, {"sp"}, {}]
}
