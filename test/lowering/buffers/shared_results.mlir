// Results that have something in common: each lies in its own buffer, and none is overwritten before all are read.
//
// RUN: dist-opt %s --dist-decompose-ops --canonicalize --cse --dist-bufferize --split-input-file | FileCheck %s

// Two concatenations that begin alike.
// CHECK-LABEL: func.func @begin_alike
// CHECK-SAME: %[[FIRST:[a-z0-9]+]]: memref<6x3xf32>, %[[SECOND:[a-z0-9]+]]: memref<6x3xf32>)
// CHECK: memref.copy %[[A:alloc.*]], %[[FIRST]]
// CHECK-NEXT: memref.copy %[[B:alloc.*]], %[[SECOND]]
// CHECK-NEXT: return
func.func @begin_alike(%c: tensor<6x4xf32>) -> (tensor<6x3xf32>, tensor<6x3xf32>) {
  %a = tensor.extract_slice %c[0, 0] [6, 2] [1, 1] : tensor<6x4xf32> to tensor<6x2xf32>
  %b = tensor.extract_slice %c[0, 1] [6, 1] [1, 1] : tensor<6x4xf32> to tensor<6x1xf32>
  %d = tensor.extract_slice %c[0, 2] [6, 1] [1, 1] : tensor<6x4xf32> to tensor<6x1xf32>
  %r = tensor.concat dim(1) %a, %b : (tensor<6x2xf32>, tensor<6x1xf32>) -> tensor<6x3xf32>
  %s = tensor.concat dim(1) %a, %d : (tensor<6x2xf32>, tensor<6x1xf32>) -> tensor<6x3xf32>
  return %r, %s : tensor<6x3xf32>, tensor<6x3xf32>
}

// -----

// The first result is computed from a value that the second is a part of: that value may lie where the first will, but
// then it must be read before. (Once the second was a part of the first.)
// CHECK-LABEL: func.func @part_of_a_source
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<4xf64>, %[[FIRST:[a-z0-9]+]]: memref<4xf64>, %[[SECOND:[a-z0-9]+]]: memref<1xf64>)
// CHECK: linalg.generic {{.*}} ins(%[[X]] : memref<4xf64>) outs(%[[SOURCE:.*]] : memref<4xf64>)
// CHECK: math.exp
// CHECK: %[[PART:.*]] = memref.subview %[[SOURCE]]
// CHECK: linalg.copy ins(%[[PART]] {{.*}} outs(%[[SECOND]] : memref<1xf64>)
// CHECK: memref.copy %{{.*}}, %[[FIRST]]
func.func @part_of_a_source(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<1xf64>) {
  %e = tensor.empty() : tensor<4xf64>
  %source = linalg.exp ins(%x : tensor<4xf64>) outs(%e : tensor<4xf64>) -> tensor<4xf64>
  %first = math.tanh %source : tensor<4xf64>
  %second = tensor.extract_slice %source[1] [1] [1] : tensor<4xf64> to tensor<1xf64>
  return %first, %second : tensor<4xf64>, tensor<1xf64>
}

// -----

// The same value twice.
// CHECK-LABEL: func.func @twice
// CHECK-SAME: %[[FIRST:[a-z0-9]+]]: memref<4xf64>, %[[SECOND:[a-z0-9]+]]: memref<4xf64>)
// CHECK: linalg.generic {{.*}} outs(%[[Y:.*]] : memref<4xf64>)
// CHECK: linalg.copy ins(%[[Y]] : memref<4xf64>) outs(%[[FIRST]] : memref<4xf64>)
// CHECK: linalg.copy ins(%[[Y]] : memref<4xf64>) outs(%[[SECOND]] : memref<4xf64>)
func.func @twice(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  %e = tensor.empty() : tensor<4xf64>
  %y = linalg.exp ins(%x : tensor<4xf64>) outs(%e : tensor<4xf64>) -> tensor<4xf64>
  return %y, %y : tensor<4xf64>, tensor<4xf64>
}
