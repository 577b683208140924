// Products of matrices are the library's; a matrix and a vector are a kernel. A sum of 16 bits over loops that do not merge is
// rounded once all the same: it is one of f32.
// RUN: split-file %s %t
// DEFINE: %{lower} = dist-opt --dist-lower-cuda
// DEFINE: %{run} = dist-run --backend cuda --driver emulated:5 --random=1 --verify
// RUN: %{lower} %t/product.mlir | FileCheck %s --check-prefix=CALL
// RUN: %{run} %t/product.mlir 2>&1 | FileCheck %s --check-prefix=EQUAL --implicit-check-not='emulated GPU'
// RUN: %{lower} %t/vector.mlir | FileCheck %s --check-prefix=KERNEL
// RUN: %{run} %t/vector.mlir 2>&1 | FileCheck %s --check-prefix=EQUAL --implicit-check-not='emulated GPU'
// RUN: %{lower} %t/sums.mlir | FileCheck %s --check-prefix=CALL
// RUN: %{lower} %t/apart.mlir | FileCheck %s --check-prefix=APART
// RUN: %{run} %t/apart.mlir 2>&1 | FileCheck %s --check-prefix=EQUAL --implicit-check-not='emulated GPU'
// CALL: llvm.func @dist_main
// CALL: llvm.call @dist_contract
// APART: llvm.func @dist_main
// APART: llvm.call @dist_contract
// APART: llvm.call @dist_launch
// KERNEL-NOT: llvm.call @dist_contract
// KERNEL: llvm.call @dist_launch
// KERNEL-NOT: llvm.call @dist_contract
// EQUAL: y: equal to the program on one rank

//--- product.mlir
#a = affine_map<(b, m, n, k) -> (b, m, k)>
#b = affine_map<(b, m, n, k) -> (b, n, k)>
#c = affine_map<(b, m, n, k) -> (m, b, n)>
func.func @main(%x: tensor<3x20x64xf32> {dist.input = "x"}, %w: tensor<3x24x64xf32> {dist.input = "w"})
    -> (tensor<20x3x24xf32> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<20x3x24xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<20x3x24xf32>) -> tensor<20x3x24xf32>
  %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<3x20x64xf32>, tensor<3x24x64xf32>) outs(%fill : tensor<20x3x24xf32>) {
  ^bb0(%p: f32, %q: f32, %sum: f32):
    %product = arith.mulf %p, %q : f32
    %r = arith.addf %sum, %product : f32
    linalg.yield %r : f32
  } -> tensor<20x3x24xf32>
  return %y : tensor<20x3x24xf32>
}

//--- vector.mlir
func.func @main(%x: tensor<512x512xf32> {dist.input = "x"}, %w: tensor<512xf32> {dist.input = "w"})
    -> (tensor<512xf32> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<512xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<512xf32>) -> tensor<512xf32>
  %y = linalg.matvec ins(%x, %w : tensor<512x512xf32>, tensor<512xf32>) outs(%fill : tensor<512xf32>) -> tensor<512xf32>
  return %y : tensor<512xf32>
}

//--- sums.mlir
#a = affine_map<(m, n, k, l) -> (k, l, m)>
#b = affine_map<(m, n, k, l) -> (k, l, n)>
#c = affine_map<(m, n, k, l) -> (m, n)>
func.func @main(%x: tensor<4x16x40xbf16> {dist.input = "x"}, %w: tensor<4x16x48xbf16> {dist.input = "w"})
    -> (tensor<40x48xbf16> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : bf16
  %empty = tensor.empty() : tensor<40x48xbf16>
  %fill = linalg.fill ins(%zero : bf16) outs(%empty : tensor<40x48xbf16>) -> tensor<40x48xbf16>
  %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<4x16x40xbf16>, tensor<4x16x48xbf16>) outs(%fill : tensor<40x48xbf16>) {
  ^bb0(%p: bf16, %q: bf16, %sum: bf16):
    %product = arith.mulf %p, %q : bf16
    %r = arith.addf %sum, %product : bf16
    linalg.yield %r : bf16
  } -> tensor<40x48xbf16>
  return %y : tensor<40x48xbf16>
}

//--- apart.mlir
#a = affine_map<(m, n, k, l) -> (k, l, m)>
#b = affine_map<(m, n, k, l) -> (l, k, n)>
#c = affine_map<(m, n, k, l) -> (m, n)>
func.func @main(%x: tensor<4x16x40xbf16> {dist.input = "x"}, %w: tensor<16x4x48xbf16> {dist.input = "w"})
    -> (tensor<40x48xbf16> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : bf16
  %empty = tensor.empty() : tensor<40x48xbf16>
  %fill = linalg.fill ins(%zero : bf16) outs(%empty : tensor<40x48xbf16>) -> tensor<40x48xbf16>
  %y = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<4x16x40xbf16>, tensor<16x4x48xbf16>) outs(%fill : tensor<40x48xbf16>) {
  ^bb0(%p: bf16, %q: bf16, %sum: bf16):
    %product = arith.mulf %p, %q : bf16
    %r = arith.addf %sum, %product : bf16
    linalg.yield %r : bf16
  } -> tensor<40x48xbf16>
  return %y : tensor<40x48xbf16>
}
