// Of numbers narrower than f32 a product's cotangents are products of such numbers, with sums of f32, whatever has widened
// the cotangent; and what is summed up over rows is summed in f32 and rounded once.
//
// RUN: split-file %s %t
// RUN: dist-opt %t/widened.mlir '--dist-differentiate=cotangent=dy' | FileCheck %s
// RUN: dist-opt %t/products.mlir '--dist-differentiate=cotangent=dy' | FileCheck %s --check-prefix=PRODUCTS
// RUN: dist-opt %t/accumulated.mlir '--dist-differentiate=cotangent=dy wrt=x,c' -o %t/accumulated.grad.mlir
// RUN: dist-run %t/accumulated.grad.mlir --random --verify %{opt} | FileCheck %s --check-prefix=ACCUMULATED
// CHECK: func.func @main(
// CHECK: linalg.contract
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<64x32xbf16>) outs(%{{.*}} : tensor<32xf32>)
// CHECK: %[[HALF:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<64x32xbf16>) outs(%{{.*}} : tensor<64x32xbf16>)
// CHECK: arith.mulf %{{.*}}, %{{.*}} : bf16
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[HALF]] : tensor<64x16xbf16>, tensor<64x32xbf16>) outs(%{{.*}} : tensor<32x16xf32>)

// Of products that are rounded to bf16 as well.
// PRODUCTS: linalg.matmul
// PRODUCTS: linalg.contract {{.*}} : tensor<64x32xbf16>, tensor<16x32xbf16>) outs(%{{.*}} : tensor<64x16xf32>)
// PRODUCTS: linalg.contract {{.*}} : tensor<64x16xbf16>, tensor<64x32xbf16>) outs(%{{.*}} : tensor<16x32xf32>)
//
// What is widened of what there was is not left out.
// ACCUMULATED: x.grad: equal to the program on one rank (
// ACCUMULATED: c.grad: equal to the program on one rank (

//--- widened.mlir
#x = affine_map<(i, o, k) -> (i, k)>
#w = affine_map<(i, o, k) -> (o, k)>
#y = affine_map<(i, o, k) -> (i, o)>
#all = affine_map<(i, o) -> (i, o)>
#column = affine_map<(i, o) -> (o)>

func.func @main(%x: tensor<64x16xbf16> {dist.input = "x"}, %w: tensor<32x16xbf16> {dist.parameter = "w"},
    %b: tensor<32xbf16> {dist.parameter = "b"}) -> (tensor<64x32xbf16> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : bf16
  %e = tensor.empty() : tensor<64x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
  %p = linalg.contract indexing_maps = [#x, #w, #y] ins(%x, %w : tensor<64x16xbf16>, tensor<32x16xbf16>)
      outs(%f : tensor<64x32xf32>) -> tensor<64x32xf32>
  %n = tensor.empty() : tensor<64x32xbf16>
  %y = linalg.generic {indexing_maps = [#all, #column, #all], iterator_types = ["parallel", "parallel"]}
      ins(%p, %b : tensor<64x32xf32>, tensor<32xbf16>) outs(%n : tensor<64x32xbf16>) {
  ^bb0(%a: f32, %c: bf16, %o: bf16):
    %r = arith.truncf %a : f32 to bf16
    %h = arith.mulf %r, %half : bf16
    %s = arith.addf %h, %c : bf16
    linalg.yield %s : bf16
  } -> tensor<64x32xbf16>
  return %y : tensor<64x32xbf16>
}

//--- products.mlir
func.func @main(%x: tensor<64x16xbf16> {dist.parameter = "x"}, %w: tensor<16x32xbf16> {dist.parameter = "w"})
    -> (tensor<64x32xbf16> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<64x32xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  %y = linalg.matmul ins(%x, %w : tensor<64x16xbf16>, tensor<16x32xbf16>) outs(%f : tensor<64x32xbf16>) -> tensor<64x32xbf16>
  return %y : tensor<64x32xbf16>
}

//--- accumulated.mlir
#x = affine_map<(i, k) -> (i, k)>
#w = affine_map<(i, k) -> (k)>
#y = affine_map<(i, k) -> (i)>
#all = affine_map<(i, o) -> (i, o)>
func.func @main(%x: tensor<64x16xf32> {dist.input = "x"}, %c: tensor<64x16xf32> {dist.input = "c"}, %w: tensor<16xf32> {dist.input = "w"}) -> (tensor<64xf32> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : f32
  %xx = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<64x16xf32>) outs(%c : tensor<64x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    %r = arith.truncf %s : f32 to bf16
    %h = arith.extf %r : bf16 to f32
    linalg.yield %h : f32
  } -> tensor<64x16xf32>
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %p = linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "reduction"]} ins(%xx, %w : tensor<64x16xf32>, tensor<16xf32>)
      outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %a : f32
    %m2 = arith.mulf %m, %b : f32
    %s = arith.addf %o, %m2 : f32
    linalg.yield %s : f32
  } -> tensor<64xf32>
  return %p : tensor<64xf32>
}
