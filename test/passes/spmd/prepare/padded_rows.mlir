// Rows padded by rows of their own, as circular, reflected and repeated pads are imported: only neighbours' rows move, and those that the ends repeat.
// RUN: dist-opt %s --dist-separate-dims --split-input-file | FileCheck %s
// RUN: dist-opt %s --dist-spmd --split-input-file | FileCheck %s --check-prefix=SPMD

#image = affine_map<(o, k) -> (o + k)>
#window = affine_map<(o, k) -> (k)>
#row = affine_map<(o, k) -> (o)>

// Two rows are summed up in one all_reduce.
// CHECK-LABEL: func.func @circular
// CHECK-NOT: tensor.concat dim(0) %{{.*}}, %arg0
// CHECK: tensor.pad %arg0 low[1] high[1]
// CHECK: linalg.index 0
// CHECK-NEXT: arith.constant 0 : index
// CHECK: arith.constant 97 : index
// SPMD-LABEL: func.func @circular
// SPMD-NOT: dist.all_gather
// SPMD: dist.all_reduce %{{.*}} : tensor<2xf32>
// SPMD-NOT: dist.all_
// SPMD: dist.halo_exchange
// SPMD-NOT: dist.all_
// SPMD: return
dist.mesh @m ["rows" = 4]
func.func @circular(%x: tensor<96xf32> {dist.sharding = #dist.sharding<@m, [{"rows"}]>}, %w: tensor<3xf32>) -> tensor<96xf32> {
  %first = tensor.extract_slice %x[0] [1] [1] : tensor<96xf32> to tensor<1xf32>
  %last = tensor.extract_slice %x[95] [1] [1] : tensor<96xf32> to tensor<1xf32>
  %p = tensor.concat dim(0) %last, %x, %first : (tensor<1xf32>, tensor<96xf32>, tensor<1xf32>) -> tensor<98xf32>
  %f = arith.constant dense<0.0> : tensor<96xf32>
  %y = linalg.generic {indexing_maps = [#image, #window, #row], iterator_types = ["parallel", "reduction"]}
      ins(%p, %w : tensor<98xf32>, tensor<3xf32>) outs(%f : tensor<96xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %c, %m : f32
    linalg.yield %n : f32
  } -> tensor<96xf32>
  return %y : tensor<96xf32>
}

// -----

#image = affine_map<(o, k) -> (o + k)>
#window = affine_map<(o, k) -> (k)>
#row = affine_map<(o, k) -> (o)>

// Several rows at once, and rows that are repeated more than once: of 96 rows 3.
// CHECK-LABEL: func.func @pieces
// CHECK-NOT: tensor.concat dim(0) %{{.*}}, %arg0
// CHECK: tensor.pad %arg0 low[2] high[2]
// CHECK: linalg.index 0
// CHECK-NEXT: arith.constant 0 : index
// CHECK: arith.constant 1 : index
// CHECK: arith.constant 98 : index
// CHECK: arith.constant 99 : index
// SPMD-LABEL: func.func @pieces
// SPMD-NOT: dist.all_gather
// SPMD: dist.all_reduce %{{.*}} : tensor<3xf32>
// SPMD-NOT: dist.all_
// SPMD: return
dist.mesh @m ["rows" = 2]
func.func @pieces(%x: tensor<96xf32> {dist.sharding = #dist.sharding<@m, [{"rows"}]>}, %w: tensor<5xf32>) -> tensor<96xf32> {
  %first = tensor.extract_slice %x[1] [2] [1] : tensor<96xf32> to tensor<2xf32>
  %last = tensor.extract_slice %x[95] [1] [1] : tensor<96xf32> to tensor<1xf32>
  %p = tensor.concat dim(0) %first, %x, %last, %last : (tensor<2xf32>, tensor<96xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<100xf32>
  %f = arith.constant dense<0.0> : tensor<96xf32>
  %y = linalg.generic {indexing_maps = [#image, #window, #row], iterator_types = ["parallel", "reduction"]}
      ins(%p, %w : tensor<100xf32>, tensor<5xf32>) outs(%f : tensor<96xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %c, %m : f32
    linalg.yield %n : f32
  } -> tensor<96xf32>
  return %y : tensor<96xf32>
}

// -----

#image = affine_map<(o, k) -> (o + k)>
#window = affine_map<(o, k) -> (k)>
#row = affine_map<(o, k) -> (o)>

// A gather of 8 rows sends less, so that the join stays.
// CHECK-LABEL: func.func @small
// CHECK: tensor.concat dim(0) %{{.*}}, %arg0
// CHECK-NOT: linalg.index
// SPMD-LABEL: func.func @small
// SPMD: dist.all_gather
dist.mesh @m ["rows" = 4]
func.func @small(%x: tensor<8xf32> {dist.sharding = #dist.sharding<@m, [{"rows"}]>}, %w: tensor<3xf32>) -> tensor<8xf32> {
  %first = tensor.extract_slice %x[0] [1] [1] : tensor<8xf32> to tensor<1xf32>
  %last = tensor.extract_slice %x[7] [1] [1] : tensor<8xf32> to tensor<1xf32>
  %p = tensor.concat dim(0) %last, %x, %first : (tensor<1xf32>, tensor<8xf32>, tensor<1xf32>) -> tensor<10xf32>
  %f = arith.constant dense<0.0> : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#image, #window, #row], iterator_types = ["parallel", "reduction"]}
      ins(%p, %w : tensor<10xf32>, tensor<3xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %c, %m : f32
    linalg.yield %n : f32
  } -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// Where nothing is sharded the join stays, and so where a piece is of another value.
// CHECK-LABEL: func.func @whole
// CHECK: tensor.concat dim(0) %{{.*}}, %arg0
// CHECK: tensor.concat dim(0) %arg2, %arg1
// SPMD-LABEL: func.func @whole
dist.mesh @m ["rows" = 4]
func.func @whole(%x: tensor<96xf32>, %y: tensor<96xf32> {dist.sharding = #dist.sharding<@m, [{"rows"}]>}, %z: tensor<1xf32>) -> (tensor<97xf32>, tensor<97xf32>) {
  %last = tensor.extract_slice %x[95] [1] [1] : tensor<96xf32> to tensor<1xf32>
  %p = tensor.concat dim(0) %last, %x : (tensor<1xf32>, tensor<96xf32>) -> tensor<97xf32>
  %q = tensor.concat dim(0) %z, %y : (tensor<1xf32>, tensor<96xf32>) -> tensor<97xf32>
  return %p, %q : tensor<97xf32>, tensor<97xf32>
}
