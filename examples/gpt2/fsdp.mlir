// Fully sharded data parallelism for GPT-2 (ZeRO-3, Rajbhandari et al. 2020; PyTorch's FSDP).
//
// Each rank computes its part of the batch. Every parameter lies in parts on all ranks: sharded over an axis that also
// shards the inputs, it is only stored that way, and gathered before it is used: (p-1)/p of the parameters' bytes,
// forward, and nothing for activations. Without the directives for parameters this is plain data parallelism, which sends
// nothing forward.
//
//   dist-opt gpt2.mlir --dist-apply-schedule=file=fsdp.mlir --dist-spmd

dist.mesh @m ["dp" = 2]

dist.schedule @fsdp on @m {
  dist.shard input "{input_ids,attention_mask}" [{"dp"}, {}]

  dist.shard parameter "transformer.{wte,wpe}.weight" [{"dp"}, {}]
  dist.shard parameter "transformer.h.*.{attn,mlp}.*.weight" [{"dp"}, {}]
  dist.shard parameter "transformer.h.*.{attn,mlp}.*.bias" [{"dp"}]
  dist.shard parameter "transformer.h.*.{ln_1,ln_2}.{weight,bias}" [{"dp"}]
  dist.shard parameter "transformer.ln_f.{weight,bias}" [{"dp"}]
}
