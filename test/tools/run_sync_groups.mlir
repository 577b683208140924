// RUN: dist-run %s --verify %{opt} --input arg0=random:1 | FileCheck %s
// CHECK: result0: equal to the program on one rank

// Three blocks side by side, each of which is cut, and gathered again.
dist.mesh @m ["tp" = 2]
func.func @main(%x: tensor<4x12xf32>) -> tensor<4x12xf32> {
  %0 = math.exp %x : tensor<4x12xf32>
  %1 = dist.sync %0 fwd_post scatter dim 1 over "tp" groups 3 : tensor<4x12xf32>
  %2 = math.cos %1 : tensor<4x12xf32>
  %3 = dist.sync %2 fwd_post all_gather dim 1 over "tp" : tensor<4x12xf32>
  return %3 : tensor<4x12xf32>
}
