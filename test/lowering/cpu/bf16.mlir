// bf16 runs on processors that have no instruction for it, where LLVM would call functions that no library here has, for
// each element; sums are rounded once, from f64 as well (1 + 2^-8 + 2^-40 is above the middle of two bf16 numbers, but its
// nearest f32 is the middle).
//
// RUN: dist-compile %s -o %t.dist --mcpu=x86-64-v3 --dump-asm=%t.s
// RUN: FileCheck %s --input-file=%t.s --check-prefix=ASM --implicit-check-not=__trunc --implicit-check-not=__extend
// REQUIRES: x86_64
// ASM: vpsrld

// RUN: dist-opt %s --dist-lower-cpu | FileCheck %s
// CHECK-NOT: fptrunc {{.*}} to bf16
// CHECK-NOT: fpext {{.*}}bf16

// RUN: python3 %S/Inputs/bf16.py write %t.in
// RUN: dist-run %s --input x=%t.in/x.npy --input d=%t.in/d.npy --output %t.out
// RUN: python3 %S/Inputs/bf16.py check %t.in %t.out

func.func @main(%x: tensor<4096xf32> {dist.input = "x"}, %d: tensor<4096xf64> {dist.input = "d"})
    -> (tensor<4096xf32> {dist.output = "sum"}, tensor<4096xf32> {dist.output = "rounded"}) {
  %e = tensor.empty() : tensor<4096xf32>
  %sum, %rounded = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}
      ins(%x, %d : tensor<4096xf32>, tensor<4096xf64>) outs(%e, %e : tensor<4096xf32>, tensor<4096xf32>) {
  ^bb0(%a: f32, %b: f64, %o: f32, %p: f32):
    %na = arith.truncf %a : f32 to bf16
    %nb = arith.truncf %b : f64 to bf16
    %s = arith.addf %na, %nb : bf16
    %ws = arith.extf %s : bf16 to f32
    %wb = arith.extf %nb : bf16 to f32
    linalg.yield %ws, %wb : f32, f32
  } -> (tensor<4096xf32>, tensor<4096xf32>)
  return %sum, %rounded : tensor<4096xf32>, tensor<4096xf32>
}
