// Rows that a resize computes by periods: of 21 periods of 3 devices have 33 and 30 rows where blocks of 63 are 32 and 31.
// RUN: dist-opt %s --dist-separate-dims --split-input-file | FileCheck %s
// RUN: dist-opt %s --dist-spmd --split-input-file | FileCheck %s --check-prefix=SPMD

#image = affine_map<(q, r, k) -> (q * 2 + k)>
#band = affine_map<(q, r, k) -> (r, k)>
#out = affine_map<(q, r, k) -> (q, r)>

// One row crosses the border, and a bias is added to what each device has.
// CHECK-DAG: #[[$MERGED:.*]] = affine_map<(d0, d1) -> (d0 * 3 + d1)>
// CHECK-LABEL: func.func @resize
// CHECK-NOT: tensor.collapse_shape
// CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[$MERGED]]], iterator_types = ["parallel", "reduction"]}
// CHECK-SAME: ins(%{{.*}} : tensor<21x3xf32>)
// SPMD-LABEL: func.func @resize
// SPMD-NOT: dist.all_
// SPMD: dist.halo_exchange
// SPMD-NOT: dist.all_
// SPMD: dist.halo_reduce %{{.*}} dim 0 low 0 high 1 over "rows" {{.*}} -> tensor<32xf32>
// SPMD-NOT: dist.
// SPMD: linalg.exp {{.*}} tensor<32xf32>
dist.mesh @m ["rows" = 2]
func.func @resize(%x: tensor<42xf32> {dist.sharding = #dist.sharding<@m, [{"rows"}]>}, %w: tensor<3x4xf32>) -> tensor<63xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<42xf32> to tensor<44xf32>
  %e = tensor.empty() : tensor<21x3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<21x3xf32>) -> tensor<21x3xf32>
  %y = linalg.generic {indexing_maps = [#image, #band, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p, %w : tensor<44xf32>, tensor<3x4xf32>) outs(%f : tensor<21x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %c, %m : f32
    linalg.yield %n : f32
  } -> tensor<21x3xf32>
  %r = tensor.collapse_shape %y [[0, 1]] : tensor<21x3xf32> into tensor<63xf32>
  %o = tensor.empty() : tensor<63xf32>
  %z = linalg.exp ins(%r : tensor<63xf32>) outs(%o : tensor<63xf32>) -> tensor<63xf32>
  return %z : tensor<63xf32>
}

// -----

#image = affine_map<(q, r, k) -> (q * 2 + k)>
#band = affine_map<(q, r, k) -> (r, k)>
#out = affine_map<(q, r, k) -> (q, r)>

// Periods that devices divide are merged as they are.
// CHECK-LABEL: func.func @even
// CHECK: tensor.collapse_shape
// SPMD-LABEL: func.func @even
// SPMD-NOT: dist.halo_reduce
// SPMD: tensor.collapse_shape
dist.mesh @m ["rows" = 2]
func.func @even(%x: tensor<40xf32> {dist.sharding = #dist.sharding<@m, [{"rows"}]>}, %w: tensor<3x2xf32>, %f: tensor<20x3xf32>) -> tensor<60xf32> {
  %y = linalg.generic {indexing_maps = [#image, #band, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<40xf32>, tensor<3x2xf32>) outs(%f : tensor<20x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %c, %m : f32
    linalg.yield %n : f32
  } -> tensor<20x3xf32>
  %r = tensor.collapse_shape %y [[0, 1]] : tensor<20x3xf32> into tensor<60xf32>
  return %r : tensor<60xf32>
}

// -----

#image = affine_map<(q, r, k) -> (q * 2 + k)>
#band = affine_map<(q, r, k) -> (r, k)>
#out = affine_map<(q, r, k) -> (q, r)>

// A cotangent is taken apart the same way: by what it follows.
// CHECK-LABEL: func.func @adjoint
// CHECK-NOT: tensor.expand_shape
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%{{.*}} : tensor<63xf32>) outs(%{{.*}} : tensor<21x3xf32>)
// SPMD-LABEL: func.func @adjoint
// SPMD-NOT: dist.all_
// SPMD: dist.halo_exchange %{{.*}} dim 0 low 0 high 1 over "rows" {{.*}} : tensor<32xf32> -> tensor<33xf32>
// SPMD-NOT: dist.all_
// SPMD: dist.halo_reduce
// SPMD-NOT: dist.all_
// SPMD: return
dist.mesh @m ["rows" = 2]
func.func @adjoint(%dz: tensor<63xf32> {dist.sharding = #dist.sharding<@m, [{"rows"}]>},
                   %y: tensor<21x3xf32> {dist.sharding = #dist.sharding<@m, [{"rows"}, {}]>}, %w: tensor<3x2xf32>)
    -> (tensor<42xf32> {dist.sharding = #dist.sharding<@m, [{"rows"}]>}) {
  %zero = arith.constant 0.0 : f32
  %d = tensor.expand_shape %dz [[0, 1]] output_shape [21, 3] {dist.backward} : tensor<63xf32> into tensor<21x3xf32>
  %dy = dist.follow %d like %y {dist.backward} : tensor<21x3xf32>
  %e = tensor.empty() {dist.backward} : tensor<42xf32>
  %f = linalg.fill {dist.backward} ins(%zero : f32) outs(%e : tensor<42xf32>) -> tensor<42xf32>
  %dx = linalg.generic {indexing_maps = [#out, #band, #image], iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%dy, %w : tensor<21x3xf32>, tensor<3x2xf32>) outs(%f : tensor<42xf32>) attrs = {dist.backward} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %c, %m : f32
    linalg.yield %n : f32
  } -> tensor<42xf32>
  return %dx : tensor<42xf32>
}
