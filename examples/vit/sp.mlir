// Megatron sequence parallelism for ViT (Korthikanti et al. 2022): tensor parallelism inside attention and MLP, and
// between them the tokens are split. There are 17, one for the class: on 4 ranks 5, 5, 5 and 2.
//
// A layer has two reduce_scatter and two all_gather. They send parts of 5 tokens, the last one padded, so a little more
// than two all_reduce would.

dist.mesh @m ["tp" = 4]

dist.schedule @sp on @m {
  dist.shard "vit.layers.*.attention.{q,k,v}_proj" column over "tp"
  dist.shard "vit.layers.*.attention.o_proj" row over "tp"
  dist.shard "vit.layers.*.mlp.fc1" column over "tp"
  dist.shard "vit.layers.*.mlp.fc2" row over "tp"

  dist.sync "vit.layers.*.attention.o_proj" fwd_post reduce_scatter dim 1 over "tp"
  dist.sync "vit.layers.*.mlp.fc2" fwd_post reduce_scatter dim 1 over "tp"
}
