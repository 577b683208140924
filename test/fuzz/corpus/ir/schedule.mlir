
dist.mesh @m ["dp" = 2, "tp" = 4]

dist.schedule @all on @m {
  dist.shard "h.*.fc" column over "tp"
  dist.shard "h.*.attn" column over "dp", "tp"(1)2 groups 3
  dist.shard "/h\\.[0-9]+/" row over "tp" optional
  dist.shard parameter "wte.weight" [{"tp"}, {?}] optional
  dist.shard parameter "attn.weight" [{}, {"tp"} groups 3]
  dist.shard input "x" [{"dp"}, {}]
  dist.shard output "y" []
  dist.sync "a" fwd_pre all_gather dim 1 over "tp"
  dist.sync "a" fwd_post reduce_scatter dim 0 over "dp", "tp"
  dist.sync "a" bwd_post all_reduce over "tp" optional
  dist.sync "a" fwd_post scatter dim 2 over "tp"
  dist.sync "a" fwd_post all_to_all dim 1 to 2 over "tp"(2)2
  dist.sync "a" fwd_post all_reduce over "tp" {note = "kept"}
}

dist.schedule @elsewhere on @unknown attributes {note = "kept"} {
  dist.shard "fc" column over "any"
}
dist.schedule @empty on @m {
}
