dist.mesh @m ["sp" = 4]
dist.schedule @s on @m {
  dist.shard input "x" [{}, {"sp"}, {}]
}
