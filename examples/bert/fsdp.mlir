// Fully sharded data parallelism for BERT (ZeRO-3, Rajbhandari et al. 2020; PyTorch's FSDP).
//
// Each rank computes its part of the batch. Every parameter of the layers lies in parts on all ranks and is gathered
// before it is used, since its axis also shards the inputs: (p-1)/p of the parameters' bytes, forward.
//
//   dist-opt bert.mlir --dist-apply-schedule=file=fsdp.mlir --dist-spmd

dist.mesh @m ["dp" = 2]

dist.schedule @fsdp on @m {
  dist.shard input "{input_ids,attention_mask,token_type_ids}" [{"dp"}, {}]

  dist.shard parameter "bert.embeddings.{word,position}_embeddings.weight" [{"dp"}, {}]
  dist.shard parameter "bert.encoder.layer.*.attention.self.*.weight" [{"dp"}, {}]
  dist.shard parameter "bert.encoder.layer.*.attention.self.*.bias" [{"dp"}]
  dist.shard parameter "bert.encoder.layer.*.attention.output.dense.weight" [{"dp"}, {}]
  dist.shard parameter "bert.encoder.layer.*.{intermediate,output}.dense.weight" [{"dp"}, {}]
  dist.shard parameter "bert.encoder.layer.*.attention.output.dense.bias" [{"dp"}]
  dist.shard parameter "bert.encoder.layer.*.{intermediate,output}.dense.bias" [{"dp"}]
  dist.shard parameter "bert.encoder.layer.*.attention.output.LayerNorm.{weight,bias}" [{"dp"}]
  dist.shard parameter "bert.encoder.layer.*.output.LayerNorm.{weight,bias}" [{"dp"}]
}
