// Fully sharded data parallelism for OPT (ZeRO-3, Rajbhandari et al. 2020; PyTorch's FSDP).
//
// Each rank computes its part of the batch. Every parameter lies in parts on all ranks and is gathered before it is
// used, since its axis also shards the inputs: (p-1)/p of the parameters' bytes, forward. `**` is any run of
// characters.
//
//   dist-opt opt.mlir --dist-apply-schedule=file=fsdp.mlir --dist-spmd

dist.mesh @m ["dp" = 2]

dist.schedule @fsdp on @m {
  dist.shard input "{input_ids,attention_mask}" [{"dp"}, {}]

  dist.shard parameter "model.decoder.embed_{tokens,positions}.weight" [{"dp"}, {}]
  dist.shard parameter "model.decoder.layers.*.self_attn.*.weight" [{"dp"}, {}]
  dist.shard parameter "model.decoder.layers.*.{fc1,fc2}.weight" [{"dp"}, {}]
  dist.shard parameter "model.decoder.**.{self_attn_layer_norm,final_layer_norm}.weight" [{"dp"}]
  dist.shard parameter "model.decoder.**.bias" [{"dp"}]
}
