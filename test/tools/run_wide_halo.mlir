// RUN: dist-run %s --verify=f64 %{opt} --input x=random:1 --input w=random:2 | FileCheck %s
// RUN: dist-run %s --mesh sp=6 --verify=f64 %{opt} --input x=random:1 --input w=random:2 | FileCheck %s

// Windows that reach over two blocks on either side, and the ends of the line;
// on 6 ranks blocks have 3 rows, and the last one has only one.

// CHECK: y: equal to the program on one rank
#in = affine_map<(o, c, k) -> (o + k * 3, c)>
#window = affine_map<(o, c, k) -> (k)>
#out = affine_map<(o, c, k) -> (o, c)>
dist.mesh @m ["sp" = 8]
func.func @main(%x: tensor<16x5xf32> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"sp"}, {}]>}, %w: tensor<3xf32> {dist.input = "w"}) -> (tensor<16x5xf32> {dist.output = "y"}) {
  %half = arith.constant 0.5 : f32
  %p = tensor.pad %x low[4, 0] high[2, 0] {
  ^bb0(%a: index, %b: index):
    tensor.yield %half : f32
  } : tensor<16x5xf32> to tensor<22x5xf32>
  %f = arith.constant dense<0.0> : tensor<16x5xf32>
  %r = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p, %w : tensor<22x5xf32>, tensor<3xf32>) outs(%f : tensor<16x5xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<16x5xf32>
  return %r : tensor<16x5xf32>
}
