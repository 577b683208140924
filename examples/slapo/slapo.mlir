// Two projections that meet with the sequence split between them, after the `sync` of Slapo (Chen et al. 2023).
//
//   x [3, 16, 30] -> fc1 -> fc2 -> relu -> y [3, 16, 30]
//
// fc1 is split by its input features, so its result is a sum of two parts. After it (`fwd_post`) the sum is formed and
// each rank is left with half of dimension 1, [3, 8, 30]. fc2 is split by its output features and needs all of
// dimension 1, so before it (`fwd_pre`) the halves are gathered. Nothing is sent anywhere else: the relu works on the
// half of the features that fc2 left, and y stays split by them until it is written out.

dist.mesh @m ["tp" = 2]

dist.schedule @slapo on @m {
  dist.shard "fc1" row over "tp"
  dist.sync "fc1" fwd_post reduce_scatter dim 1 over "tp"
  dist.shard "fc2" column over "tp"
  dist.sync "fc2" fwd_pre all_gather dim 1 over "tp"
  dist.shard output "y" [{}, {}, {"tp"}]
}
