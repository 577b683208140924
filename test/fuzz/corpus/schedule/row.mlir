dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "fc" row over "tp"
  dist.sync "fc" fwd_post reduce_scatter dim 0 over "tp"
}
