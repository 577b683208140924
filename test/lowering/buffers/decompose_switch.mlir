// A switch is a branch in a branch: what bufferization knows of branches holds for it.
//
// RUN: dist-opt %s --dist-decompose-ops | FileCheck %s

// CHECK-LABEL: func.func @switch
// CHECK-NOT: scf.index_switch
// CHECK: %[[R:.*]] = scf.if
// CHECK: scf.yield %arg1
// CHECK: else
// CHECK: scf.if
// CHECK: scf.yield %arg2
// CHECK: else
// CHECK: scf.yield %arg1
// CHECK: return %[[R]]
func.func @switch(%n: index, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = scf.index_switch %n -> tensor<4xf32>
  case 2 {
    scf.yield %x : tensor<4xf32>
  }
  case 5 {
    scf.yield %y : tensor<4xf32>
  }
  default {
    scf.yield %x : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
