dist.mesh @m ["dp" = 2, "tp" = 2, "sp" = 4]
dist.schedule @s on @m {
  dist.shard input "x" [{"dp"}, {"sp"}, {}]
  dist.shard input "w_{q,k,v}0" [{"tp"}, {}]
  dist.shard input "w_o0" [{}, {"tp"}]
  dist.ring "layers.*.attention" over "sp" zigzag
}
