// A product and a sum of one body are one fused operation, whatever LLVM's vectorizers do with them; what one op hands another is rounded.
// RUN: dist-opt %s --dist-lower-cpu | FileCheck %s

#all = affine_map<(r, i) -> (r, i)>
#sum = affine_map<(r, i) -> (r)>

// CHECK-LABEL: llvm.func internal @kernel_0
// CHECK: llvm.fmul {{.*}}, {{.*}} : f32
// CHECK: llvm.fadd
// CHECK-NOT: fmuladd
func.func @main(%x: tensor<8x200xf32> {dist.input = "x"}, %y: tensor<8x200xf32> {dist.input = "y"})
    -> (tensor<8x200xf32> {dist.output = "apart"}, tensor<8xf32> {dist.output = "dot"}, tensor<8x200xf32> {dist.output = "less"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x200xf32>
  %p = linalg.mul ins(%x, %y : tensor<8x200xf32>, tensor<8x200xf32>) outs(%e : tensor<8x200xf32>) -> tensor<8x200xf32>
  %apart = linalg.add ins(%p, %x : tensor<8x200xf32>, tensor<8x200xf32>) outs(%e : tensor<8x200xf32>) -> tensor<8x200xf32>

  // CHECK-LABEL: llvm.func internal @kernel_1
  // CHECK: llvm.intr.fmuladd({{.*}}) : (f32, f32, f32) -> f32
  // CHECK-NOT: llvm.fmul
  dist.fence
  %r = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%r : tensor<8xf32>) -> tensor<8xf32>
  %dot = linalg.generic {indexing_maps = [#all, #all, #sum], iterator_types = ["parallel", "reduction"]}
      ins(%apart, %y : tensor<8x200xf32>, tensor<8x200xf32>) outs(%f : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>

  // Differences: of a product, and from one.
  // CHECK-LABEL: llvm.func internal @kernel_2
  // CHECK: %[[C:.*]] = llvm.fneg %[[B:.*]] : f32
  // CHECK: %[[R:.*]] = llvm.intr.fmuladd(%[[A:.*]], %[[B]], %[[C]])
  // CHECK: %[[N:.*]] = llvm.fneg %[[A]]
  // CHECK: llvm.intr.fmuladd(%[[N]], %[[R]], %[[B]])
  dist.fence
  %less = linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %apart : tensor<8x200xf32>, tensor<8x200xf32>) outs(%e : tensor<8x200xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.subf %0, %b : f32
    %2 = arith.mulf %a, %1 : f32
    %3 = arith.subf %b, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<8x200xf32>
  return %apart, %dot, %less : tensor<8x200xf32>, tensor<8xf32>, tensor<8x200xf32>
}
