// RUN: dist-opt %s --dist-spmd | FileCheck %s

// Twelve operands want the axis for a dimension each. All are compared: the
// last, by far the largest, keeps it.
dist.mesh @m ["x" = 2]
#a = affine_map<(a, b, c, d, e, f, g, h, i, j, k, l) -> (a)>
#b = affine_map<(a, b, c, d, e, f, g, h, i, j, k, l) -> (b)>
#c = affine_map<(a, b, c, d, e, f, g, h, i, j, k, l) -> (c)>
#d = affine_map<(a, b, c, d, e, f, g, h, i, j, k, l) -> (d)>
#e = affine_map<(a, b, c, d, e, f, g, h, i, j, k, l) -> (e)>
#f = affine_map<(a, b, c, d, e, f, g, h, i, j, k, l) -> (f)>
#g = affine_map<(a, b, c, d, e, f, g, h, i, j, k, l) -> (g)>
#h = affine_map<(a, b, c, d, e, f, g, h, i, j, k, l) -> (h)>
#i = affine_map<(a, b, c, d, e, f, g, h, i, j, k, l) -> (i)>
#j = affine_map<(a, b, c, d, e, f, g, h, i, j, k, l) -> (j)>
#k = affine_map<(a, b, c, d, e, f, g, h, i, j, k, l) -> (k)>
#all = affine_map<(a, b, c, d, e, f, g, h, i, j, k, l) -> (a, b, c, d, e, f, g, h, i, j, k, l)>

// CHECK-COUNT-11: dist.all_gather {{.*}} tensor<1xf32> -> tensor<2xf32>
// CHECK-NOT: dist.all
// CHECK: linalg.generic {{.*}} tensor<2x2x2x2x2x2x2x2x2x2x2x1xf32>
// CHECK-NOT: dist.all
func.func @f(%0: tensor<2xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>},
             %1: tensor<2xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>},
             %2: tensor<2xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>},
             %3: tensor<2xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>},
             %4: tensor<2xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>},
             %5: tensor<2xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>},
             %6: tensor<2xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>},
             %7: tensor<2xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>},
             %8: tensor<2xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>},
             %9: tensor<2xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>},
             %10: tensor<2xf32> {dist.sharding = #dist.sharding<@m, [{"x"}]>},
             %t: tensor<2x2x2x2x2x2x2x2x2x2x2x2xf32> {dist.sharding = #dist.sharding<@m, [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {"x"}]>})
    -> (tensor<2x2x2x2x2x2x2x2x2x2x2x2xf32> {dist.sharding = #dist.sharding<@m, [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {"x"}]>}) {
  %e = tensor.empty() : tensor<2x2x2x2x2x2x2x2x2x2x2x2xf32>
  %r = linalg.generic {indexing_maps = [#a, #b, #c, #d, #e, #f, #g, #h, #i, #j, #k, #all, #all],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel", "parallel", "parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %t : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>,
          tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2x2x2x2x2x2x2x2x2x2x2xf32>)
      outs(%e : tensor<2x2x2x2x2x2x2x2x2x2x2x2xf32>) {
  ^bb0(%a0: f32, %a1: f32, %a2: f32, %a3: f32, %a4: f32, %a5: f32, %a6: f32, %a7: f32, %a8: f32, %a9: f32, %a10: f32, %a11: f32, %o: f32):
    %s0 = arith.addf %a0, %a1 : f32
    %s1 = arith.addf %s0, %a2 : f32
    %s2 = arith.addf %s1, %a3 : f32
    %s3 = arith.addf %s2, %a4 : f32
    %s4 = arith.addf %s3, %a5 : f32
    %s5 = arith.addf %s4, %a6 : f32
    %s6 = arith.addf %s5, %a7 : f32
    %s7 = arith.addf %s6, %a8 : f32
    %s8 = arith.addf %s7, %a9 : f32
    %s9 = arith.addf %s8, %a10 : f32
    %s10 = arith.addf %s9, %a11 : f32
    linalg.yield %s10 : f32
  } -> tensor<2x2x2x2x2x2x2x2x2x2x2x2xf32>
  return %r : tensor<2x2x2x2x2x2x2x2x2x2x2x2xf32>
}
