// Elementwise functions run on whole vectors: f32 exp, tanh and erf as polynomials, others by the C library's vector
// variants. A call for each element would take most of a transformer's time (docs/internals/kernels.md).
//
// RUN: dist-compile %s -o %t.dist --mcpu=x86-64-v4 --dump-asm=%t.s
// RUN: FileCheck %s --input-file=%t.s --implicit-check-not=fmaf --implicit-check-not=floorf --implicit-check-not=expf \
// RUN:   --implicit-check-not=tanhf --implicit-check-not=erff
// REQUIRES: x86_64

// CHECK: vfmadd{{.*}}zmm
// CHECK: callq _ZGVdN8v_logf
// CHECK: callq _ZGVdN4v_exp

func.func @main(%x: tensor<4096xf32>, %z: tensor<1024xf32>, %y: tensor<4096xf64>)
    -> (tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<1024xf32>, tensor<4096xf64>) {
  %e = tensor.empty() : tensor<4096xf32>
  %d = tensor.empty() : tensor<4096xf64>
  %0 = linalg.exp ins(%x : tensor<4096xf32>) outs(%e : tensor<4096xf32>) -> tensor<4096xf32>
  %1 = linalg.tanh ins(%x : tensor<4096xf32>) outs(%e : tensor<4096xf32>) -> tensor<4096xf32>
  %2 = linalg.erf ins(%x : tensor<4096xf32>) outs(%e : tensor<4096xf32>) -> tensor<4096xf32>
  %s = tensor.empty() : tensor<1024xf32>
  %3 = linalg.log ins(%z : tensor<1024xf32>) outs(%s : tensor<1024xf32>) -> tensor<1024xf32>
  %4 = linalg.exp ins(%y : tensor<4096xf64>) outs(%d : tensor<4096xf64>) -> tensor<4096xf64>
  return %0, %1, %2, %3, %4 : tensor<4096xf32>, tensor<4096xf32>, tensor<4096xf32>, tensor<1024xf32>, tensor<4096xf64>
}
