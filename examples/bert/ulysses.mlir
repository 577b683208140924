// Ulysses for BERT (DeepSpeed, Jacobs et al. 2023): the sequence is sharded everywhere but inside attention, where the
// heads are. Four all_to_all a layer change between the two, each of (p-1)/p of what a rank holds; all weights are whole.
//
//   dist-opt bert.mlir --dist-apply-schedule=file=ulysses.mlir --dist-spmd

dist.mesh @m ["sp" = 4]

dist.schedule @ulysses on @m {
  dist.shard input "{input_ids,token_type_ids}" [{}, {"sp"}]

  dist.sync "bert.encoder.layer.*.attention.self.{query,key,value}" fwd_post all_to_all dim 1 to 2 over "sp"
  dist.sync "bert.encoder.layer.*.attention.output.dense" fwd_pre all_to_all dim 2 to 1 over "sp"
}
