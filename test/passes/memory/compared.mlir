// What backward looks for an extreme in is not computed again: another kernel may round otherwise (a product and a sum in
// one), so that no element would be the largest one, and gradients would be lost. --verify computes on one rank with all
// that is kept.
//
// RUN: dist-opt %s '--dist-differentiate=cotangent=dy wrt=**' | dist-opt --dist-recompute | FileCheck %s
// RUN: dist-opt %s '--dist-differentiate=cotangent=dy wrt=**' -o %t.mlir
// RUN: dist-run %t.mlir --random=1 --verify %{opt} | FileCheck %s --check-prefix=EQUAL
//
// Not computed again, from the exponentials and their sums:
// CHECK-COUNT-4: linalg.generic
// CHECK: %[[P:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<12x16xf32>, tensor<12xf32>)
// CHECK: arith.divf
// CHECK: linalg.generic {{.*}} ins(%[[P]] : tensor<12x16xf32>)
// CHECK: arith.maximumf
// CHECK-NOT: dist.optimization_barrier
// CHECK: linalg.generic {{.*}} ins(%[[P]], %{{.*}} : tensor<12x16xf32>, tensor<12xf32>)
// CHECK: arith.cmpf oeq
// EQUAL: x.grad: equal to the program on one rank
// EQUAL: g.grad: equal to the program on one rank
#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
func.func @main(%x: tensor<12x16xf32> {dist.input = "x"}, %bias: tensor<16xf32> {dist.input = "bias"},
                %g: tensor<16xf32> {dist.input = "g"}) -> (tensor<12xf32> {dist.output = "y"}) {
  %inf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<12x16xf32>
  %r = tensor.empty() : tensor<12xf32>
  %least = linalg.fill ins(%inf : f32) outs(%r : tensor<12xf32>) -> tensor<12xf32>
  %none = linalg.fill ins(%zero : f32) outs(%r : tensor<12xf32>) -> tensor<12xf32>
  %z = linalg.generic {indexing_maps = [#all, #column, #column, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %bias, %g : tensor<12x16xf32>, tensor<16xf32>, tensor<16xf32>) outs(%e : tensor<12x16xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %out: f32):
    %1 = arith.addf %a, %b : f32
    %2 = arith.mulf %1, %c : f32
    linalg.yield %2 : f32
  } -> tensor<12x16xf32>
  %m = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%z : tensor<12x16xf32>) outs(%least : tensor<12xf32>) {
  ^bb0(%a: f32, %out: f32):
    %1 = arith.maximumf %a, %out : f32
    linalg.yield %1 : f32
  } -> tensor<12xf32>
  %exp = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%z, %m : tensor<12x16xf32>, tensor<12xf32>) outs(%e : tensor<12x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %1 = arith.subf %a, %b : f32
    %2 = math.exp %1 : f32
    linalg.yield %2 : f32
  } -> tensor<12x16xf32>
  %sum = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%exp : tensor<12x16xf32>) outs(%none : tensor<12xf32>) {
  ^bb0(%a: f32, %out: f32):
    %1 = arith.addf %a, %out : f32
    linalg.yield %1 : f32
  } -> tensor<12xf32>
  %p = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%exp, %sum : tensor<12x16xf32>, tensor<12xf32>) outs(%e : tensor<12x16xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %1 = arith.divf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<12x16xf32>
  %y = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<12x16xf32>) outs(%least : tensor<12xf32>) {
  ^bb0(%a: f32, %out: f32):
    %1 = arith.maximumf %a, %out : f32
    linalg.yield %1 : f32
  } -> tensor<12xf32>
  return %y : tensor<12xf32>
}
