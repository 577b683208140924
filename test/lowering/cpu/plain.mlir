// The lowering of a program to compare with: a function for each op, copies
// before what is written, no aliasing facts, no library, a place for every
// buffer.
// RUN: dist-opt %s '--dist-lower-cpu=plain=true' --mlir-print-ir-after=dist-plan-memory -o /dev/null 2>&1 | FileCheck %s --check-prefix=PLAIN
// RUN: dist-opt %s --dist-lower-cpu --mlir-print-ir-after=dist-plan-memory -o /dev/null 2>&1 | FileCheck %s --check-prefix=FUSED
// RUN: dist-run %s --verify --input x=random:1 --input w=random:2 | FileCheck %s --check-prefix=RUN-Y

// RUN-Y: y: equal to the program on one rank

// Four buffers of 4,096 bytes: zeros, the product's copy of them, tanh, the sum.
// PLAIN: module attributes {{.*}}rt.arena_bytes = 16384
// PLAIN-LABEL: func.func @main
// PLAIN-COUNT-6: call @plain_
// PLAIN-NOT: call
// PLAIN: func.func private @plain_0
// PLAIN-NOT: noalias
// PLAIN-NOT: fastmath
// PLAIN-NOT: rt.contract

// FUSED: module attributes {{.*}}rt.arena_bytes = 4096
// FUSED: rt.contract
// FUSED: llvm.noalias

func.func @main(%x: tensor<32x32xf32> {dist.input = "x"}, %w: tensor<32x32xf32> {dist.input = "w"}) -> (tensor<32x32xf32> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<32x32xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<32x32xf32>) -> tensor<32x32xf32>
  %p = linalg.matmul ins(%x, %w : tensor<32x32xf32>, tensor<32x32xf32>) outs(%z : tensor<32x32xf32>) -> tensor<32x32xf32>
  %t = math.tanh %p : tensor<32x32xf32>
  %y = arith.addf %t, %x : tensor<32x32xf32>
  return %y : tensor<32x32xf32>
}
