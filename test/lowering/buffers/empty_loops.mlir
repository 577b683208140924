// A reduction over nothing leaves what its result began with, though its body
// does not read that. (Where it is known to be over nothing: whole_results.mlir.)
// RUN: dist-opt %s --dist-bufferize | FileCheck %s
// RUN: dist-opt %s --dist-bufferize-plainly | FileCheck %s

// How many rows there are shows when it runs: the result is made where a copy
// of what it begins with is.
// CHECK-LABEL: func.func @some_rows
// CHECK-SAME: %[[INIT:[a-z0-9]*]]: memref<i64>
func.func @some_rows(%init: tensor<i64>, %rows: tensor<8xi64>, %count: tensor<index>) -> tensor<i64> {
  // CHECK: memref.copy %[[INIT]], %[[PLACE:.*]] : memref<i64>
  // CHECK: linalg.generic {{.*}} outs(%[[PLACE]] : memref<i64>)
  %zero = arith.constant 0 : i64
  %n = tensor.extract %count[] : tensor<index>
  %some = tensor.extract_slice %rows[0] [%n] [1] : tensor<8xi64> to tensor<?xi64>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%some : tensor<?xi64>) outs(%init : tensor<i64>) {
  ^bb0(%in: i64, %out: i64):
    linalg.yield %zero : i64
  } -> tensor<i64>
  return %0 : tensor<i64>
}
