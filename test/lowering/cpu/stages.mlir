// A product and a softmax, through the steps of --dist-lower-cpu.
//
// RUN: dist-opt %s --dist-decompose-ops | FileCheck %s --check-prefix=DECOMPOSE
// RUN: dist-opt %s --dist-decompose-ops --dist-bufferize | FileCheck %s --check-prefix=BUFFERS
// RUN: dist-opt %s --dist-decompose-ops --dist-bufferize --dist-select-contractions \
// RUN:   | FileCheck %s --check-prefix=CONTRACT
// RUN: dist-opt %s --dist-decompose-ops --dist-bufferize --dist-select-contractions --dist-form-kernels \
// RUN:   | FileCheck %s --check-prefix=KERNEL
// RUN: dist-opt %s --dist-decompose-ops --dist-bufferize --dist-select-contractions --dist-form-kernels \
// RUN:   --dist-plan-memory | FileCheck %s --check-prefix=MEMORY
// RUN: dist-opt %s --dist-lower-cpu | FileCheck %s --check-prefix=LLVM

// Contractions keep their form; a softmax becomes its parts.
// DECOMPOSE-LABEL: func.func @main
// DECOMPOSE: linalg.matmul
// DECOMPOSE-NOT: linalg.softmax
// DECOMPOSE: arith.maxnumf
// DECOMPOSE: math.exp
// DECOMPOSE: arith.divf

// The result is computed in the caller's buffer, and what is not needed any more is written over.
// BUFFERS: module attributes {rt.num_results = 1 : i64}
// BUFFERS-LABEL: func.func @main
// BUFFERS-SAME: %[[RESULT:[a-z0-9]+]]: memref<8x32xf32>)
// BUFFERS: linalg.generic {{.*}} ins(%[[SCORES:.*]], %{{.*}} : {{.*}}) outs(%[[SCORES]] : memref<8x32xf32>)
// BUFFERS: math.exp
// BUFFERS: outs(%[[RESULT]] : memref<8x32xf32>)
// BUFFERS: arith.divf
// BUFFERS-NOT: outs(%{{.*}} : memref<8x32xf32>)
// BUFFERS: return

// The zero fill is part of the call: no accumulation.
// CONTRACT-NOT: linalg.matmul
// CONTRACT: rt.contract
// CONTRACT-NOT: accumulate
// CONTRACT-SAME: loops [#rt.loop<m 8 a 64 b 0 c 32>, #rt.loop<n 32 a 0 b 1 c 1>, #rt.loop<k 64 a 1 b 32 c 0>]

// One kernel; what is between its parts shrinks to what one row needs.
// KERNEL: call @kernel_0
// KERNEL-NOT: call
// KERNEL-LABEL: func.func private @kernel_0
// KERNEL-SAME: llvm.noalias
// KERNEL: memref.alloca() {{.*}} : memref<1xf32>
// KERNEL: memref.alloca() {{.*}} : memref<1xf32>
// KERNEL: scf.for
// KERNEL: scf.for {{.*}} iter_args
// KERNEL: arith.maxnumf
// KERNEL: scf.for
// KERNEL: math.exp
// KERNEL: arith.addf
// KERNEL: scf.for
// KERNEL: arith.divf

// MEMORY: module attributes {rt.arena_bytes = 1024 : i64, rt.kernels = 1 : i64, rt.live_bytes = 1024 : i64
// MEMORY: memref.view

// LLVM: llvm.func @dist_contract
// LLVM: llvm.func @dist_main(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: !llvm.ptr, %arg3: !llvm.ptr, %arg4: !llvm.ptr) {

func.func @main(%x: tensor<8x64xf32> {dist.input = "x"}, %w: tensor<64x32xf32> {dist.input = "w"})
    -> (tensor<8x32xf32> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x32xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x32xf32>) -> tensor<8x32xf32>
  %product = linalg.matmul ins(%x, %w : tensor<8x64xf32>, tensor<64x32xf32>) outs(%init : tensor<8x32xf32>) -> tensor<8x32xf32>
  %y = linalg.softmax dimension(1) ins(%product : tensor<8x32xf32>) outs(%empty : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}
