dist.mesh @m ["node" = 2, "sp" = 2]
dist.schedule @s on @m {
  dist.shard input "x" [{}, {"node", "sp"}, {}]
  dist.ring "layers.*.attention" over "node", "sp" zigzag
}
