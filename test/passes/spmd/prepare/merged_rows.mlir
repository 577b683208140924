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

// -----

#image = affine_map<(o, k) -> (o + k)>
#window = affine_map<(o, k) -> (k)>
#row = affine_map<(o, k) -> (o)>
#twice = affine_map<(n, r) -> (n)>
#all = affine_map<(n, r) -> (n, r)>

// 8 rows on 3 devices are blocks of 3, and 16 are blocks of 6: rows that are repeated and merged are in blocks as they are.
// CHECK-LABEL: func.func @repeated_aligned
// CHECK: tensor.collapse_shape
// SPMD-LABEL: func.func @repeated_aligned
// SPMD-NOT: = dist.
// SPMD: tensor.collapse_shape %{{.*}} : tensor<3x2xf32> into tensor<6xf32>
// SPMD-NOT: dist.all_
// SPMD: dist.halo_exchange %{{.*}} dim 0 of 16 low 1 high 1 over "rows" {{.*}} : tensor<6xf32> -> tensor<8xf32>
// SPMD-NOT: = dist.
// SPMD: return
dist.mesh @m ["rows" = 3]
func.func @repeated_aligned(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"rows"}]>}, %w: tensor<3xf32>) -> tensor<16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x2xf32>
  %t = linalg.generic {indexing_maps = [#twice, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<8x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<8x2xf32>
  %r = tensor.collapse_shape %t [[0, 1]] : tensor<8x2xf32> into tensor<16xf32>
  %p = tensor.pad %r low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<16xf32> to tensor<18xf32>
  %f = arith.constant dense<0.0> : tensor<16xf32>
  %y = linalg.generic {indexing_maps = [#image, #window, #row], iterator_types = ["parallel", "reduction"]}
      ins(%p, %w : tensor<18xf32>, tensor<3xf32>) outs(%f : tensor<16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %c, %m : f32
    linalg.yield %n : f32
  } -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// -----

#image = affine_map<(o, k) -> (o + k)>
#window = affine_map<(o, k) -> (k)>
#row = affine_map<(o, k) -> (o)>
#twice = affine_map<(n, r) -> (n)>
#all = affine_map<(n, r) -> (n, r)>

// 40 rows on 3 devices are blocks of 14, and 80 are blocks of 27: of the last device's neighbour 2 rows move.
// CHECK-LABEL: func.func @repeated
// CHECK-NOT: tensor.collapse_shape
// SPMD-LABEL: func.func @repeated
// SPMD-NOT: dist.all_
// SPMD: dist.halo_reduce %{{.*}} dim 0 low 0 high 2 over "rows" {{.*}} : tensor<29xf32> -> tensor<27xf32>
// SPMD-NOT: dist.all_
// SPMD: dist.halo_exchange %{{.*}} dim 0 of 80 low 1 high 1 over "rows" {{.*}} : tensor<27xf32> -> tensor<29xf32>
// SPMD-NOT: = dist.
// SPMD: return
dist.mesh @m ["rows" = 3]
func.func @repeated(%x: tensor<40xf32> {dist.sharding = #dist.sharding<@m, [{"rows"}]>}, %w: tensor<3xf32>) -> tensor<80xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<40x2xf32>
  %t = linalg.generic {indexing_maps = [#twice, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<40xf32>) outs(%e : tensor<40x2xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<40x2xf32>
  %r = tensor.collapse_shape %t [[0, 1]] : tensor<40x2xf32> into tensor<80xf32>
  %p = tensor.pad %r low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<80xf32> to tensor<82xf32>
  %f = arith.constant dense<0.0> : tensor<80xf32>
  %y = linalg.generic {indexing_maps = [#image, #window, #row], iterator_types = ["parallel", "reduction"]}
      ins(%p, %w : tensor<82xf32>, tensor<3xf32>) outs(%f : tensor<80xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %c, %m : f32
    linalg.yield %n : f32
  } -> tensor<80xf32>
  return %y : tensor<80xf32>
}

// -----

#image = affine_map<(o, r, k) -> (o + k, r)>
#window = affine_map<(o, r, k) -> (k)>
#row = affine_map<(o, r, k) -> (o, r)>

// 80 rows that are taken apart, of which 40 by 40 are read in windows: blocks of 27 become blocks of 14 periods.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: tensor.expand_shape
// SPMD-LABEL: func.func @apart
// SPMD-NOT: dist.all_
// SPMD: dist.halo_exchange %{{.*}} dim 0 low 0 high 2 over "rows"
// SPMD-NOT: dist.all_
// SPMD: dist.halo_exchange %{{.*}} dim 0 low 2 high 1 over "rows" {{.*}} : tensor<14x2xf32> -> tensor<17x2xf32>
// SPMD-NOT: dist.all_
// SPMD: return
dist.mesh @m ["rows" = 3]
func.func @apart(%x: tensor<80xf32> {dist.sharding = #dist.sharding<@m, [{"rows"}]>}, %w: tensor<3xf32>) -> tensor<38x2xf32> {
  %t = tensor.expand_shape %x [[0, 1]] output_shape [40, 2] : tensor<80xf32> into tensor<40x2xf32>
  %f = arith.constant dense<0.0> : tensor<38x2xf32>
  %y = linalg.generic {indexing_maps = [#image, #window, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%t, %w : tensor<40x2xf32>, tensor<3xf32>) outs(%f : tensor<38x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %c, %m : f32
    linalg.yield %n : f32
  } -> tensor<38x2xf32>
  return %y : tensor<38x2xf32>
}

// -----

#add = affine_map<(t, d) -> (t, d)>
#image = affine_map<(o, k) -> (o + k)>
#window = affine_map<(o, k) -> (k)>
#row = affine_map<(o, k) -> (o)>

// No window reads tokens that a batch of 5 was merged into: they stay where they are.
// CHECK-LABEL: func.func @tokens
// CHECK: tensor.collapse_shape
// SPMD-LABEL: func.func @tokens
// SPMD-NOT: = dist.
// SPMD: tensor.collapse_shape %{{.*}} : tensor<3x16x8xf32> into tensor<48x8xf32>
// SPMD-NOT: = dist.
// SPMD: return
dist.mesh @m ["dp" = 2]
func.func @tokens(%x: tensor<5x16x8xf32> {dist.sharding = #dist.sharding<@m, [{"dp"}, {}, {}]>}, %u: tensor<10xf32>, %w: tensor<3xf32>) -> (tensor<80x8xf32>, tensor<8xf32>) {
  %t = tensor.collapse_shape %x [[0, 1], [2]] : tensor<5x16x8xf32> into tensor<80x8xf32>
  %e = tensor.empty() : tensor<80x8xf32>
  %z = linalg.exp ins(%t : tensor<80x8xf32>) outs(%e : tensor<80x8xf32>) -> tensor<80x8xf32>
  %f = arith.constant dense<0.0> : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#image, #window, #row], iterator_types = ["parallel", "reduction"]}
      ins(%u, %w : tensor<10xf32>, tensor<3xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %c, %m : f32
    linalg.yield %n : f32
  } -> tensor<8xf32>
  return %z, %y : tensor<80x8xf32>, tensor<8xf32>
}
