// Attention of many scores is computed by slices of its queries, each over all keys; so is its adjoint, whose cotangents of keys
// and values, and totals, are sums over the slices. Masks count queries from the first one of all. The program that --verify
// compares with has all scores at once.
//
// RUN: dist-opt %s --dist-slice-attention=most-scores=3000 -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: dist-run %t.mlir --reference %s --random --verify %{opt1} | FileCheck %s --check-prefix=EQUAL
// RUN: dist-opt %s '--dist-differentiate=cotangent=do wrt=q,k,v,bias' -o %t.grad.mlir
// RUN: dist-opt %t.grad.mlir --dist-spmd --dist-decompose-ops --canonicalize --cse --dist-form-attention=min-scores=1 -o %t.formed.mlir
// RUN: dist-opt %t.formed.mlir --dist-slice-attention=most-scores=3000 -o %t.sliced.mlir
// RUN: FileCheck %s --check-prefix=ADJOINT < %t.sliced.mlir
// RUN: dist-run %t.sliced.mlir --reference %t.grad.mlir --random --verify %{opt1} | FileCheck %s --check-prefixes=EQUAL,GRADIENTS
//
// Scores that are few enough stay together. A slice has a query at least.
// RUN: dist-opt %s --dist-slice-attention | FileCheck %s --check-prefix=WHOLE
// RUN: dist-opt %s --dist-slice-attention=most-scores=1 | FileCheck %s --check-prefix=ONE
// RUN: not dist-opt %s --dist-slice-attention=most-scores=0 2>&1 | FileCheck %s --check-prefix=NONE

// 2 x 2 x 50 x 36 scores: 3 slices of 17 or 16 queries. Of more scores at once, slices are of 32 queries.
// RUN: dist-opt %s --dist-slice-attention=most-scores=6000 | FileCheck %s --check-prefix=WIDER
// WIDER: scf.for %{{.*}} = %c0{{.*}} to %c32{{.*}} step %c32
// CHECK-NOT: dist.attention
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c34{{.*}} step %c17
// CHECK: tensor.extract_slice %{{.*}} [2, 17, 2, 8] [1, 1, 1, 1]
// CHECK: tensor.insert_slice
// CHECK: tensor.extract_slice %{{.*}}[0, 34, 0, 0] [2, 16, 2, 8] [1, 1, 1, 1]
// ADJOINT-NOT: dist.attention
// ADJOINT: scf.for {{.*}} -> (tensor<2x50x2x4xf32>, tensor<2x50x2xf32>, tensor<2x50x2xf32>)
// ADJOINT: scf.for {{.*}} -> (tensor<2x50x2x8xf32>, tensor<2x36x2x8xf32>, tensor<2x36x2x4xf32>, tensor<2x50x36xf32>)
// WHOLE-NOT: scf.for
// WHOLE-NOT: dist.attention
// WHOLE: return
// ONE: scf.for %{{.*}} = %c0{{.*}} to %c50{{.*}} step %c1
// NONE: error: most-scores is 0; it is at least 1
// EQUAL-DAG: o: equal to the program on one rank
// GRADIENTS-DAG: bias.grad: equal to the program on one rank
// GRADIENTS-DAG: v.grad: equal to the program on one rank

#q = affine_map<(b, h, i, j, d, e) -> (b, i, h, d)>
#k = affine_map<(b, h, i, j, d, e) -> (b, j, h, d)>
#v = affine_map<(b, h, i, j, d, e) -> (b, j, h, e)>
#o = affine_map<(b, h, i, j, d, e) -> (b, i, h, e)>
#s = affine_map<(b, h, i, j, d, e) -> (h, i, j)>
func.func @main(%q: tensor<2x50x2x8xf32> {dist.input = "q"}, %k: tensor<2x36x2x8xf32> {dist.input = "k"},
                %v: tensor<2x36x2x4xf32> {dist.input = "v"}, %bias: tensor<2x50x36xf32> {dist.input = "bias"})
    -> (tensor<2x50x2x4xf32> {dist.output = "o"}) {
  %init = tensor.empty() : tensor<2x50x2x4xf32>
  %inf = arith.constant 0xFF800000 : f32
  %0 = dist.attention(%q, %k, %v : tensor<2x50x2x8xf32>, tensor<2x36x2x8xf32>, tensor<2x36x2x4xf32>)
      with (%bias : tensor<2x50x36xf32>) outs(%init : tensor<2x50x2x4xf32>) maps [#q, #k, #v, #s, #o] {
  ^bb0(%s: f32, %add: f32, %b: index, %h: index, %i: index, %j: index):
    %seen = arith.cmpi sle, %j, %i : index
    %x = arith.addf %s, %add : f32
    %y = arith.select %seen, %x, %inf : f32
    dist.attention_yield %y : f32
  } -> tensor<2x50x2x4xf32>
  return %0 : tensor<2x50x2x4xf32>
}
