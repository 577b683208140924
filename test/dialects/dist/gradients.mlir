// RUN: dist-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: @roundtrip
// CHECK: dist.follow %{{.*}} like %{{.*}} : tensor<4x2xf32>
// CHECK: dist.follow %{{.*}} like %{{.*}} moved {dist.backward} : tensor<4x2xf32>
// CHECK: dist.scatter_add %{{.*}} into %{{.*}}[%{{.*}}] dims [0] : tensor<3x2xf32> into tensor<4x2xf32>[tensor<3x1xi64>]
// CHECK: dist.scatter_add {{.*}} dims [0, 1] : tensor<3x1x1xf32> into tensor<4x2xf32>[tensor<3x2xi64>]
func.func @roundtrip(%x: tensor<4x2xf32>, %rows: tensor<3x2xf32>, %ids: tensor<3x1xi64>, %some: tensor<3x1x1xf32>, %pairs: tensor<3x2xi64>) -> tensor<4x2xf32> {
  %0 = dist.follow %x like %x : tensor<4x2xf32>
  %1 = dist.follow %0 like %x moved {dist.backward} : tensor<4x2xf32>
  %2 = dist.scatter_add %rows into %1[%ids] dims [0] : tensor<3x2xf32> into tensor<4x2xf32>[tensor<3x1xi64>]
  %3 = dist.scatter_add %some into %2[%pairs] dims [0, 1] : tensor<3x1x1xf32> into tensor<4x2xf32>[tensor<3x2xi64>]
  return %3 : tensor<4x2xf32>
}

// -----

func.func @backward(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{'dist.backward' must be a unit attribute, but is 1 : i64}}
  %0 = tensor.empty() {dist.backward = 1} : tensor<4x2xf32>
  return
}

// -----

func.func @count(%x: tensor<4x2xf32>, %rows: tensor<3x2xf32>, %ids: tensor<3x2xi64>) {
  // expected-error @+1 {{has 1 dims, of which the last dimension of its indices, of type 'tensor<3x2xi64>', has not as many}}
  %0 = dist.scatter_add %rows into %x[%ids] dims [0] : tensor<3x2xf32> into tensor<4x2xf32>[tensor<3x2xi64>]
  return
}

// -----

func.func @order(%x: tensor<4x2xf32>, %rows: tensor<3xf32>, %ids: tensor<3x2xi64>) {
  // expected-error @+1 {{has dims [1, 0], which are to be dimensions of 'tensor<4x2xf32>' in increasing order}}
  %0 = dist.scatter_add %rows into %x[%ids] dims [1, 0] : tensor<3xf32> into tensor<4x2xf32>[tensor<3x2xi64>]
  return
}

// -----

func.func @shape(%x: tensor<4x2xf32>, %rows: tensor<3x3xf32>, %ids: tensor<3x1xi64>) {
  // expected-error @+1 {{adds 'tensor<3x3xf32>' to 'tensor<4x2xf32>', from which 'tensor<3x1xi64>' gather 'tensor<3x2xf32>'}}
  %0 = dist.scatter_add %rows into %x[%ids] dims [0] : tensor<3x3xf32> into tensor<4x2xf32>[tensor<3x1xi64>]
  return
}
