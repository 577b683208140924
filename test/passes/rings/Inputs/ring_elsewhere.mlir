dist.mesh @m ["sp" = 4]
dist.schedule @s on @m {
  dist.shard input "x" [{}, {"sp"}, {}]
  dist.ring "layers.0.attention.q" over "sp"
}
