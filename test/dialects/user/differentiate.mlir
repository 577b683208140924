// RUN: %{root}/test/dialects/user/user-opt %s --dist-differentiate="cotangent=dy wrt=x of=y" | FileCheck %s
// RUN: not %{root}/test/dialects/user/user-opt %s --dist-differentiate="cotangent=dz wrt=x of=z" 2>&1 | FileCheck %s --check-prefix=OPAQUE

// An op of a user's has the derivative that it gives through its interface; one
// that gives none is an error at its place.

// CHECK: func.func @main(%[[X:.*]]: tensor<8xf64> {dist.input = "x"}, %[[DY:.*]]: tensor<8xf64> {dist.input = "dy"})
// CHECK: user.scale %[[X]] by 2.000000e+00 {dist.scope = "a"}
// CHECK: %[[DX:.*]] = user.scale %[[DY]] by 2.000000e+00 {dist.backward, dist.scope = "a"}
// CHECK: return %{{.*}}, %{{.*}}, %[[DX]]

// OPAQUE: differentiate.mlir:16:8: error: 'user.opaque' op has no derivative that is known
func.func @main(%x: tensor<8xf64> {dist.input = "x"})
    -> (tensor<8xf64> {dist.output = "y"}, tensor<8xf64> {dist.output = "z"}) {
  %y = user.scale %x by 2.0 {dist.scope = "a"} : tensor<8xf64> -> tensor<8xf64>
  %z = user.opaque %y : tensor<8xf64> -> tensor<8xf64>
  return %y, %z : tensor<8xf64>, tensor<8xf64>
}
