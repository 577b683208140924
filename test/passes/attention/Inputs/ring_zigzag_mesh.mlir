dist.mesh @m ["dp" = 2, "tp" = 2, "sp" = 4]
dist.schedule @s on @m {
  dist.shard input "x" [{"dp"}, {"sp"}, {}]
  dist.shard "layers.*.attention.{q,k,v}" column over "tp"
  dist.shard "layers.*.attention.o" row over "tp"
  dist.ring "layers.*.attention" over "sp" zigzag
}
