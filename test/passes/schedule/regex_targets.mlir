// What a regular expression begins with tells most names apart before it is tried: none that it matches may be lost.
// RUN: dist-opt %s --split-input-file --dist-apply-schedule=report=false | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-COUNT-9: dist.sharding =
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard parameter "/x?layer|other/" [{"tp"}] expect 2
  dist.shard parameter "/a\\|b/" [{"tp"}] expect 1
  dist.shard parameter "/l.0+\\.w/" [{"tp"}] expect 2
  dist.shard parameter "/dz{0}e/" [{"tp"}] expect 1
  dist.shard parameter "/f[|)]g/" [{"tp"}] expect 1
  dist.shard parameter "/h{0,1}ij*k*/" [{"tp"}] expect 1
  dist.shard parameter "/.?.\\(n/" [{"tp"}] expect 1
}
func.func @main(%0: tensor<8xf32> {dist.parameter = "layer"}, %1: tensor<8xf32> {dist.parameter = "other"}, %2: tensor<8xf32> {dist.parameter = "a|b"},
                %3: tensor<8xf32> {dist.parameter = "l.0.w"}, %4: tensor<8xf32> {dist.parameter = "l.00.w"}, %5: tensor<8xf32> {dist.parameter = "de"},
                %6: tensor<8xf32> {dist.parameter = "f|g"}, %7: tensor<8xf32> {dist.parameter = "i"}, %8: tensor<8xf32> {dist.parameter = "m(n"}) {
  return
}

// -----

// The model itself is the module of the empty name; its ops are those of all modules.
// CHECK-LABEL: func.func @itself
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME: dist.parameter = "w", dist.sharding = #dist.sharding<@m, [{?}, {"tp"}]>
// CHECK-SAME: dist.parameter = "b.w", dist.sharding = #dist.sharding<@m, [{?}, {"tp"}]>
// CHECK: dist.sharding_constraint %[[X]] <@m, [{}, {}]> {{.*}} {dist.scope = ""}
// CHECK: %[[Y:.*]] = dist.sharding_constraint %{{.*}} <@m, [{"tp"}, {}]> {{.*}} {dist.scope = ""}
// CHECK: return %[[Y]]
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "" column over "tp" expect 2
  dist.shard "" input replicate
  dist.shard "" output [0 = {"tp"}]
}
func.func @itself(%x: tensor<4x8xf32>, %w: tensor<8x8xf32> {dist.parameter = "w"}, %v: tensor<8x8xf32> {dist.parameter = "b.w"}) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.matmul {dist.scope = ""} ins(%x, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = math.exp %0 {dist.scope = ""} : tensor<4x8xf32>
  %2 = linalg.matmul {dist.scope = "b"} ins(%1, %v : tensor<4x8xf32>, tensor<8x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
