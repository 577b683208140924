// Two results that begin alike share their first parts, but not their buffer.
//
// RUN: dist-opt %s --dist-cpu-decompose --canonicalize --cse --dist-cpu-bufferize | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[FIRST:[a-z0-9]+]]: memref<6x3xf32>, %[[SECOND:[a-z0-9]+]]: memref<6x3xf32>)
// CHECK: %[[OTHER:.*]] = memref.alloc
// CHECK: memref.copy %[[FIRST]], %[[OTHER]]
// Each is whole before the other is written.
// CHECK: %[[COPY:.*]] = memref.alloc
// CHECK-NEXT: memref.copy %[[FIRST]], %[[COPY]]
// CHECK-NEXT: memref.copy %[[OTHER]], %[[FIRST]]
// CHECK-NEXT: memref.copy %[[COPY]], %[[SECOND]]
func.func @main(%c: tensor<6x4xf32>) -> (tensor<6x3xf32>, tensor<6x3xf32>) {
  %a = tensor.extract_slice %c[0, 0] [6, 2] [1, 1] : tensor<6x4xf32> to tensor<6x2xf32>
  %b = tensor.extract_slice %c[0, 1] [6, 1] [1, 1] : tensor<6x4xf32> to tensor<6x1xf32>
  %d = tensor.extract_slice %c[0, 2] [6, 1] [1, 1] : tensor<6x4xf32> to tensor<6x1xf32>
  %r = tensor.concat dim(1) %a, %b : (tensor<6x2xf32>, tensor<6x1xf32>) -> tensor<6x3xf32>
  %s = tensor.concat dim(1) %a, %d : (tensor<6x2xf32>, tensor<6x1xf32>) -> tensor<6x3xf32>
  return %r, %s : tensor<6x3xf32>, tensor<6x3xf32>
}
