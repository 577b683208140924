dist.mesh @m ["dp" = 1, "tp" = 2]
dist.schedule @s on @m {
  dist.shard "fc" column over "tp" groups 2
  dist.shard parameter "fc.*" [{"tp"}, {}] optional
  dist.shard input "x" [{"dp"}, {}]
  dist.sync "/f.*/" fwd_post all_gather dim 1 over "tp"
}
