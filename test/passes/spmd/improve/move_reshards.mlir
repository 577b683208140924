// A reshard goes to where the value is smallest: before heads are repeated, and before a cast that widens.
// RUN: dist-opt %s --split-input-file --dist-propagate --dist-insert-reshards --dist-move-reshards --dist-tidy-reshards --dist-verify-placed | FileCheck %s

// CHECK-LABEL: func.func @repeated
// CHECK-SAME: %[[K:[a-z0-9]+]]: tensor<8x4xf32>
// CHECK: %[[WHOLE:.*]] = dist.reshard %[[K]] <@m, [{"x"}, {}]> to <@m, [{}, {}]> cause {{.*}} : tensor<8x4xf32>
// CHECK: %[[REPEATED:.*]] = linalg.broadcast ins(%[[WHOLE]] : tensor<8x4xf32>) outs(%{{.*}} : tensor<8x2x4xf32>) dimensions = [1] {dist.shardings = [#dist.sharding<@m, [{}, {}, {}]>]}
// CHECK: %[[HEADS:.*]] = tensor.collapse_shape %[[REPEATED]] {{.*}}{dist.shardings = [#dist.sharding<@m, [{}, {}]>]}
// CHECK-NOT: dist.reshard
// CHECK: linalg.matmul {{.*}} ins(%{{.*}}, %[[HEADS]] :
dist.mesh @m ["x" = 2]
func.func @repeated(%k: tensor<8x4xf32> {dist.input = "k", dist.sharding = #dist.sharding<@m, [{"x"}, {}]>},
                    %q: tensor<64x16xf32> {dist.input = "q", dist.sharding = #dist.sharding<@m, [{"x"}, {}]>})
    -> (tensor<64x4xf32> {dist.output = "y", dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x2x4xf32>
  %0 = linalg.broadcast ins(%k : tensor<8x4xf32>) outs(%e : tensor<8x2x4xf32>) dimensions = [1]
  %1 = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<8x2x4xf32> into tensor<16x4xf32>
  %f = tensor.empty() : tensor<64x4xf32>
  %g = linalg.fill ins(%zero : f32) outs(%f : tensor<64x4xf32>) -> tensor<64x4xf32>
  %2 = linalg.matmul ins(%q, %1 : tensor<64x16xf32>, tensor<16x4xf32>) outs(%g : tensor<64x4xf32>) -> tensor<64x4xf32>
  return %2 : tensor<64x4xf32>
}

// -----

// What a constraint asks for stays where it is asked.

// CHECK-LABEL: func.func @asked
// CHECK: linalg.broadcast
// CHECK: dist.reshard {{.*}} : tensor<8x2x4xf32>
dist.mesh @m ["x" = 2]
func.func @asked(%k: tensor<8x4xf32> {dist.input = "k", dist.sharding = #dist.sharding<@m, [{"x"}, {}]>})
    -> (tensor<8x2x4xf32> {dist.output = "y"}) {
  %e = tensor.empty() : tensor<8x2x4xf32>
  %0 = linalg.broadcast ins(%k : tensor<8x4xf32>) outs(%e : tensor<8x2x4xf32>) dimensions = [1]
  %1 = dist.sharding_constraint %0 <@m, [{"x"}, {}, {}]> : tensor<8x2x4xf32>
  %2 = dist.sharding_constraint %1 <@m, [{}, {}, {}]> : tensor<8x2x4xf32>
  return %2 : tensor<8x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @widened
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x4xf16>
// CHECK: %[[WHOLE:.*]] = dist.reshard %[[X]] {{.*}} : tensor<8x4xf16>
// CHECK: arith.extf %[[WHOLE]]
dist.mesh @m ["x" = 2]
func.func @widened(%x: tensor<8x4xf16> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"x"}, {}]>})
    -> (tensor<8x4xf32> {dist.output = "y", dist.sharding = #dist.sharding<@m, [{}, {}]>}) {
  %0 = arith.extf %x : tensor<8x4xf16> to tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// A mask that two layers reshape, each by itself, is brought to where both want it once, where it is smallest.

// CHECK-LABEL: func.func @shared
// CHECK-SAME: %[[MASK:[a-z0-9]+]]: tensor<16xi1>
// CHECK: %[[WHOLE:.*]] = dist.reshard %[[MASK]] <@m, [{"x"}]> to <@m, [{}]> cause {{.*}} : tensor<16xi1>
// CHECK: linalg.generic {{.*}} ins(%[[WHOLE]] : tensor<16xi1>) {{.*}}{dist.shardings = [#dist.sharding<@m, [{"x"}, {}, {}]>]}
// CHECK-NOT: dist.reshard
// CHECK: return
dist.mesh @m ["x" = 2]
func.func @shared(%mask: tensor<16xi1> {dist.input = "mask", dist.sharding = #dist.sharding<@m, [{"x"}]>},
                  %a: tensor<16x64x16xf32> {dist.input = "a", dist.sharding = #dist.sharding<@m, [{"x"}, {}, {}]>},
                  %b: tensor<16x64x16xf32> {dist.input = "b", dist.sharding = #dist.sharding<@m, [{"x"}, {}, {}]>})
    -> (tensor<16x64x16xf32> {dist.output = "y"}, tensor<16x64x16xf32> {dist.output = "z"}) {
  %e = tensor.empty() : tensor<16x1x16xf32>
  %bias = linalg.generic {indexing_maps = [affine_map<(q, one, k) -> (k)>, affine_map<(q, one, k) -> (q, one, k)>],
                          iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%mask : tensor<16xi1>) outs(%e : tensor<16x1x16xf32>) {
  ^bb0(%in: i1, %out: f32):
    %zero = arith.constant 0.0 : f32
    %least = arith.constant 0xFF800000 : f32
    %s = arith.select %in, %zero, %least : f32
    linalg.yield %s : f32
  } -> tensor<16x1x16xf32>
  %f = tensor.empty() : tensor<16x64x16xf32>
  %c0 = tensor.collapse_shape %bias [[0, 1], [2]] {dist.scope = "0"} : tensor<16x1x16xf32> into tensor<16x16xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(q, h, k) -> (q, h, k)>, affine_map<(q, h, k) -> (q, k)>, affine_map<(q, h, k) -> (q, h, k)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a, %c0 : tensor<16x64x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x64x16xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %s = arith.addf %in, %in2 : f32
    linalg.yield %s : f32
  } -> tensor<16x64x16xf32>
  %c1 = tensor.collapse_shape %bias [[0, 1], [2]] {dist.scope = "1"} : tensor<16x1x16xf32> into tensor<16x16xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(q, h, k) -> (q, h, k)>, affine_map<(q, h, k) -> (q, k)>, affine_map<(q, h, k) -> (q, h, k)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%b, %c1 : tensor<16x64x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x64x16xf32>) {
  ^bb0(%in: f32, %in2: f32, %out: f32):
    %s = arith.addf %in, %in2 : f32
    linalg.yield %s : f32
  } -> tensor<16x64x16xf32>
  return %0, %1 : tensor<16x64x16xf32>, tensor<16x64x16xf32>
}
