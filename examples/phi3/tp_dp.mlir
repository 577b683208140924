// Tensor parallelism for Phi-3 within each of the groups that share the batch: the directives are those of tp.mlir, on
// one axis of this mesh.
//
//   dist-opt phi3.mlir --dist-apply-schedule=file=tp_dp.mlir --dist-spmd

dist.mesh @m ["dp" = 2, "tp" = 2]

dist.schedule @tp_dp on @m {
  dist.shard input "{input_ids,attention_mask}" [{"dp"}, {}]
  dist.include "tp.mlir"
}
