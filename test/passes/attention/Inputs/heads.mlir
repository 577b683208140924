dist.mesh @m ["sp" = 4]
dist.schedule @s on @m {
  dist.shard input "x" [{}, {"sp"}, {}]
  dist.sync "layers.*.attention.{q,k,v}" fwd_post all_to_all dim 1 to 2 over "sp"
}
