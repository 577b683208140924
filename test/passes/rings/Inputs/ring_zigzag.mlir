dist.mesh @m ["sp" = 4]
dist.schedule @s on @m {
  dist.shard input "x" [{}, {"sp"}, {}]
  dist.ring "layers.*.attention" over "sp" zigzag
}
