// Which neighbouring ops share their loops.
//
// RUN: dist-opt %s --dist-decompose-ops --dist-bufferize --dist-form-kernels --split-input-file | FileCheck %s

// A chain of elementwise ops is one loop over one dimension, and nothing but its ends is in memory.
// CHECK-LABEL: func.func @chain
// CHECK-NOT: memref.alloc
// CHECK: call @kernel_0
// CHECK-NOT: call
// CHECK-LABEL: func.func private @kernel_0
// CHECK-COUNT-1: scf.for {{.*}} to %c64
// CHECK-NOT: scf.for
// CHECK: math.exp
// CHECK-NOT: scf.for
// CHECK: math.absf
func.func @chain(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %e = tensor.empty() : tensor<4x16xf32>
  %0 = linalg.exp ins(%x : tensor<4x16xf32>) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = linalg.abs ins(%0 : tensor<4x16xf32>) outs(%e : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}

// -----

// A sum over columns needs all rows before the next op can start: no shared loop over rows, so no loop around both.
// CHECK-LABEL: func.func @dependence
// CHECK-LABEL: func.func private @kernel_0
// CHECK: arith.addf
// CHECK: func.func private
// CHECK: arith.mulf
func.func @dependence(%x: tensor<512x16xf32>) -> tensor<512x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %sum = linalg.reduce ins(%x : tensor<512x16xf32>) outs(%init : tensor<16xf32>) dimensions = [0]
    (%a: f32, %acc: f32) { %s = arith.addf %a, %acc : f32  linalg.yield %s : f32 }
  %e2 = tensor.empty() : tensor<512x16xf32>
  %wide = linalg.broadcast ins(%sum : tensor<16xf32>) outs(%e2 : tensor<512x16xf32>) dimensions = [0]
  %y = linalg.mul ins(%x, %wide : tensor<512x16xf32>, tensor<512x16xf32>) outs(%e2 : tensor<512x16xf32>) -> tensor<512x16xf32>
  return %y : tensor<512x16xf32>
}

// -----

#in = affine_map<(h, w, s, t) -> (h + s, w + t)>
#window = affine_map<(h, w, s, t) -> (s, t)>
#out = affine_map<(h, w, s, t) -> (h, w)>

// A few turns of a sum go inside of the loop over a row, where they are unrolled: what they sum up stays in a register, which begins
// with what the fill says.
// CHECK-LABEL: func.func @few_turns
// CHECK-LABEL: func.func private @kernel_0
// CHECK: %[[ZERO:.*]] = arith.constant {{.*}}0.000000e+00 : f32
// CHECK-NOT: memref.store
// CHECK: scf.for {{.*}} to %c5{{.*}} step
// CHECK: scf.for {{.*}} to %c16{{.*}} step
// CHECK: scf.for {{.*}} to %c3{{.*}} step {{.*}} iter_args({{.*}} = %[[ZERO]])
// CHECK: scf.for {{.*}} to %c3{{.*}} step {{.*}} iter_args
func.func @few_turns(%x: tensor<7x18xf32>) -> tensor<5x16xf32> {
  %zero = arith.constant 0.0 : f32
  %taps = tensor.empty() : tensor<3x3xf32>
  %e = tensor.empty() : tensor<5x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<5x16xf32>) -> tensor<5x16xf32>
  %y = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %taps : tensor<7x18xf32>, tensor<3x3xf32>) outs(%init : tensor<5x16xf32>) {
  ^bb0(%a: f32, %t: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<5x16xf32>
  return %y : tensor<5x16xf32>
}

// -----

#in = affine_map<(h, w, s, t) -> (h + s, w + t)>
#window = affine_map<(h, w, s, t) -> (s, t)>
#out = affine_map<(h, w, s, t) -> (h, w)>

// Many turns stay around it.
// CHECK-LABEL: func.func @many_turns
// CHECK-LABEL: func.func private @kernel_0
// CHECK: scf.for {{.*}} to %c7{{.*}} step
// CHECK: scf.for {{.*}} to %c16{{.*}} step
// CHECK: scf.for {{.*}} to %c5{{.*}} step
// CHECK: scf.for {{.*}} to %c16{{.*}} step
// CHECK: scf.for {{.*}} to %c5{{.*}} step {{.*}} iter_args
func.func @many_turns(%x: tensor<11x20xf32>) -> tensor<7x16xf32> {
  %zero = arith.constant 0.0 : f32
  %taps = tensor.empty() : tensor<5x5xf32>
  %e = tensor.empty() : tensor<7x16xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<7x16xf32>) -> tensor<7x16xf32>
  %y = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %taps : tensor<11x20xf32>, tensor<5x5xf32>) outs(%init : tensor<7x16xf32>) {
  ^bb0(%a: f32, %t: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<7x16xf32>
  return %y : tensor<7x16xf32>
}
