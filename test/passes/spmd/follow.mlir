// RUN: dist-opt %s --dist-propagate | FileCheck %s --check-prefix=PLACED
// RUN: dist-opt %s --dist-propagate --dist-insert-reshards --dist-improve-reshards --dist-verify-placed | FileCheck %s
// RUN: dist-opt %s --dist-erase-annotations | FileCheck %s --check-prefix=ERASED

// What follows lies as its leader, which is placed before and is not moved by
// it.
// Two contributions whose sums are pending are added before they are
// scattered, once.

// ERASED-NOT: dist.follow
// ERASED-NOT: dist.backward

#rows = affine_map<(i, j, k) -> (i, k)>
#columns = affine_map<(i, j, k) -> (j, k)>
#out = affine_map<(i, j, k) -> (i, j)>
#all = affine_map<(i, j) -> (i, j)>
dist.mesh @m ["tp" = 2]

// PLACED-LABEL: @contributions
// PLACED: linalg.contract {{.*}}dist.shardings = [#dist.sharding<@m, [{"tp"}, {}]>]
// CHECK-LABEL: @contributions
// CHECK: %[[A:.*]] = linalg.contract {{.*}}partial = sum {"tp"}
// CHECK-NOT: dist.reshard
// CHECK: %[[B:.*]] = linalg.contract {{.*}}partial = sum {"tp"}
// CHECK-NOT: dist.reshard
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}}ins(%[[A]], %[[B]] {{.*}}partial = sum {"tp"}
// CHECK: dist.reshard %[[SUM]] {{.*}}partial = sum {"tp"}> to <@m, [{"tp"}, {}]>
// CHECK-NOT: dist.reshard
// CHECK: return
func.func @contributions(%x: tensor<8x16xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>},
                         %v: tensor<16x32xf32> {dist.parameter = "v", dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>},
                         %w: tensor<16x32xf32> {dist.parameter = "w", dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>},
                         %p: tensor<8x32xf32> {dist.input = "p", dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>},
                         %q: tensor<8x32xf32> {dist.input = "q", dist.sharding = #dist.sharding<@m, [{}, {"tp"}]>})
    -> (tensor<8x16xf32> {dist.output = "y"}, tensor<8x16xf32> {dist.output = "x.grad"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %y = linalg.exp ins(%x : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %a = linalg.contract indexing_maps = [#rows, #columns, #out] {dist.backward}
      ins(%p, %v : tensor<8x32xf32>, tensor<16x32xf32>) outs(%z : tensor<8x16xf32>) -> tensor<8x16xf32>
  %fa = dist.follow %a like %x : tensor<8x16xf32>
  %b = linalg.contract indexing_maps = [#rows, #columns, #out] {dist.backward}
      ins(%q, %w : tensor<8x32xf32>, tensor<16x32xf32>) outs(%z : tensor<8x16xf32>) -> tensor<8x16xf32>
  %fb = dist.follow %b like %x : tensor<8x16xf32>
  %s = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%fa, %fb : tensor<8x16xf32>, tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) {
  ^bb0(%i: f32, %j: f32, %o: f32):
    %t = arith.addf %i, %j : f32
    linalg.yield %t : f32
  } -> tensor<8x16xf32>
  return %y, %s : tensor<8x16xf32>, tensor<8x16xf32>
}

// The leader stays whole, although what follows it is asked for in parts.
// PLACED-LABEL: @leader
// PLACED: linalg.exp {{.*}}dist.shardings = [#dist.sharding<@m, [{}, {}]>]
// CHECK-LABEL: @leader
func.func @leader(%x: tensor<8x16xf32> {dist.input = "x"},
                  %dy: tensor<8x16xf32> {dist.input = "dy", dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>})
    -> (tensor<8x16xf32> {dist.output = "y"}, tensor<8x16xf32> {dist.output = "x.grad"}) {
  %e = tensor.empty() : tensor<8x16xf32>
  %y = linalg.exp ins(%x : tensor<8x16xf32>) outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %f = dist.follow %dy like %y : tensor<8x16xf32>
  %d = linalg.mul {dist.backward} ins(%f, %y : tensor<8x16xf32>, tensor<8x16xf32>)
      outs(%e : tensor<8x16xf32>) -> tensor<8x16xf32>
  %g = dist.follow %d like %x : tensor<8x16xf32>
  return %y, %g : tensor<8x16xf32>, tensor<8x16xf32>
}
