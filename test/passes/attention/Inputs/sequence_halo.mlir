// A layer's input with its neighbours' seven rows before the block, where the
// attention begins.
dist.mesh @m ["sp" = 4]
dist.schedule @s on @m {
  dist.shard input "x" [{}, {"sp"}, {}]
  dist.sync "layers.*.attention" fwd_pre halo dim 1 low 7 high 0 over "sp"
}
