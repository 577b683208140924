// A sync by a user's own function: its body takes the value's place in the program of one device.
// RUN: dist-opt %s --split-input-file --dist-apply-schedule=report=false | FileCheck %s
// RUN: dist-opt %s --split-input-file --dist-apply-schedule=report=false --dist-spmd | FileCheck %s --check-prefix=SPMD
// RUN: dist-opt %s --split-input-file --dist-apply-schedule=report=false --dist-erase-annotations | FileCheck %s --check-prefix=ERASED

// The pending sum of a row-parallel layer is handed over before the bias is added. In halves, of which the first is
// reduced while nobody waits for the second.
// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = linalg.matmul
// CHECK: %[[S:.*]] = dist.manual_reshard %[[P]] <@m, [{}, {}], partial = sum {"tp"}> to <@m, [{}, {}]>
// CHECK-SAME: cause "{{.*}}: dist.sync \"proj\" fwd_post @in_halves backward @copy" {dist.scope = "proj"} : tensor<8x16xf32> {
// CHECK: ^bb0(%[[PART:.*]]: tensor<8x16xf32>):
// CHECK: dist.all_reduce
// CHECK: dist.yield
// CHECK: } backward {
// CHECK-NEXT: ^bb0(%[[G:.*]]: tensor<8x16xf32>):
// CHECK-NEXT: dist.yield %[[G]] : tensor<8x16xf32>
// CHECK: linalg.generic {{.*}} ins(%[[S]],
// CHECK-NOT: func.func

// SPMD-LABEL: func.func @main
// SPMD: %[[P:.*]] = linalg.matmul
// SPMD: %[[A:.*]] = tensor.extract_slice %[[P]][0, 0]
// SPMD: %[[B:.*]] = tensor.extract_slice %[[P]][4, 0]
// SPMD: %[[RA:.*]] = dist.all_reduce %[[A]] sum over "tp" cause "{{.*}}dist.sync {{.*}}@in_halves{{.*}}" {dist.scope = "proj"} : tensor<4x16xf32>
// SPMD: %[[RB:.*]] = dist.all_reduce %[[B]] sum over "tp" cause "{{.*}}" {dist.scope = "proj"} : tensor<4x16xf32>
// SPMD: %[[C:.*]] = tensor.concat dim(0) %[[RA]], %[[RB]]
// SPMD: linalg.generic {{.*}} ins(%[[C]],
// SPMD-NOT: dist.all

// ERASED-LABEL: func.func @main
// ERASED: %[[P:.*]] = linalg.matmul
// ERASED: linalg.generic {{.*}} ins(%[[P]],
// ERASED-NOT: dist.{{sync|manual|mesh|all}}
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.shard "proj" row over "tp"
  dist.sync "proj" fwd_post @in_halves backward @copy
}
func.func private @in_halves(
    %part: tensor<8x16xf32> {dist.sharding = #dist.sharding<@m, [{}, {}], partial = sum {"tp"}>})
    -> (tensor<8x16xf32> {dist.sharding = #dist.sharding<@m, [{}, {}]>}) {
  %a = tensor.extract_slice %part[0, 0] [4, 16] [1, 1] : tensor<8x16xf32> to tensor<4x16xf32>
  %b = tensor.extract_slice %part[4, 0] [4, 16] [1, 1] : tensor<8x16xf32> to tensor<4x16xf32>
  %ra = dist.all_reduce %a sum over "tp" : tensor<4x16xf32>
  %rb = dist.all_reduce %b sum over "tp" : tensor<4x16xf32>
  %c = tensor.concat dim(0) %ra, %rb : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  return %c : tensor<8x16xf32>
}
func.func private @copy(%gradient: tensor<8x16xf32>) -> tensor<8x16xf32> {
  return %gradient : tensor<8x16xf32>
}
func.func @main(%x: tensor<8x32xf32>, %w: tensor<32x16xf32> {dist.parameter = "proj.weight"},
    %b: tensor<16xf32> {dist.parameter = "proj.bias"}) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %0 = linalg.matmul {dist.scope = "proj"} ins(%x, %w : tensor<8x32xf32>, tensor<32x16xf32>)
         outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>,
                                        affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
         ins(%0, %b : tensor<8x16xf32>, tensor<16xf32>) outs(%e : tensor<8x16xf32>)
         attrs = {dist.scope = "proj"} {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// -----

// Before a module: gathered by hand, from where the function says that the value is. The program is on one of two
// meshes, which the function's collectives then name.
// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = math.exp
// CHECK: dist.manual_reshard %[[X]] <@m, [{"tp"}]> to <@m, [{}]>
// CHECK: dist.all_gather {{.*}} on @m
// SPMD-LABEL: func.func @main
// SPMD: %[[X:.*]] = math.exp %{{.*}} {dist.scope = "a"} : tensor<4xf32>
// SPMD: %[[G:.*]] = dist.all_gather %[[X]] dim 0 over "tp" on @m cause {{.*}} {dist.scope = "b"} : tensor<4xf32> -> tensor<8xf32>
// SPMD: math.cos %[[G]]
dist.mesh @other ["tp" = 4]
dist.mesh @m ["tp" = 2]
dist.schedule @s on @m {
  dist.sync "b" fwd_pre @gather
}
func.func private @gather(%part: tensor<4xf32> {dist.sharding = #dist.sharding<@m, [{"tp"}]>, dist.global_type = tensor<8xf32>})
    -> (tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{}]>, dist.global_type = tensor<8xf32>}) {
  %0 = dist.all_gather %part dim 0 over "tp" on @m : tensor<4xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x {dist.scope = "a"} : tensor<8xf32>
  %1 = math.cos %0 {dist.scope = "b"} : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// What the function takes whole is made whole, as by a constraint.
// SPMD-LABEL: func.func @batches
// SPMD: %[[X:.*]] = dist.all_gather {{.*}} dim 0 over "dp"
// SPMD: %[[P:.*]] = linalg.matmul {{.*}} ins(%[[X]],
// SPMD-NEXT: %[[S:.*]] = dist.all_reduce %[[P]] sum over "tp" cause "{{.*}}@sum{{.*}}"
// SPMD-NEXT: return %[[S]]
dist.mesh @m ["dp" = 2, "tp" = 2]
dist.schedule @s on @m {
  dist.shard "proj" row over "tp"
  dist.shard input "x" [{"dp"}, {}]
  dist.sync "proj" fwd_post @sum
}
func.func private @sum(%x: tensor<8x16xf32> {dist.sharding = #dist.sharding<@m, [{}, {}], partial = sum {"tp"}>})
    -> (tensor<8x16xf32> {dist.sharding = #dist.sharding<@m, [{}, {}]>}) {
  %0 = dist.all_reduce %x sum over "tp" : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
func.func @batches(%x: tensor<8x32xf32> {dist.input = "x"}, %w: tensor<32x16xf32> {dist.parameter = "proj.weight"}) -> tensor<8x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %0 = linalg.matmul {dist.scope = "proj"} ins(%x, %w : tensor<8x32xf32>, tensor<32x16xf32>)
         outs(%f : tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
