// RUN: %{root}/test/dialects/user/user-opt %s --dist-spmd 2>&1 | FileCheck %s
// RUN: python3 %S/Inputs/is_in_docs.py %S/user-opt.cpp %{root}/docs/internals/propagation.md

// An op whose dialect knows nothing of dist has its rule from an external model;
// the documentation shows it.
dist.mesh @m ["x" = 2, "y" = 2]

// CHECK-NOT: warning
// CHECK-LABEL: @clip
// CHECK-SAME: %arg0: tensor<4x3xf64>
// CHECK: %[[L:.*]] = dist.all_slice %arg1 dim 0 over "y" {{.*}} : tensor<6xf64> -> tensor<3xf64>
// CHECK: user.clip %arg0 by %[[L]] : tensor<4x3xf64>, tensor<3xf64> -> tensor<4x3xf64>
// CHECK-NOT: dist.all
func.func @clip(%a: tensor<8x6xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {"y"}]>},
                %l: tensor<6xf64> {dist.sharding = #dist.sharding<@m, [{}]>})
    -> (tensor<8x6xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {"y"}]>}) {
  %0 = user.clip %a by %l : tensor<8x6xf64>, tensor<6xf64> -> tensor<8x6xf64>
  return %0 : tensor<8x6xf64>
}
