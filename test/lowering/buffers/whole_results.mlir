// What an op does not write of a result is what its destination held, although no body reads that.
//
// RUN: split-file %s %t
// RUN: dist-opt %t/slices.mlir --dist-decompose-ops | FileCheck %s
// RUN: not dist-opt %t/diagonal.mlir --dist-decompose-ops 2>&1 | FileCheck %s --check-prefix=DIAGONAL
// RUN: dist-run %t/run.mlir --input a=7 --input i=5 --verify --output %t
// RUN: od -A n -t d8 -j 128 %t/row.npy | FileCheck %s --check-prefix=ROW
// RUN: od -A n -t d8 -j 128 %t/none.npy | FileCheck %s --check-prefix=NONE

// CHECK-LABEL: func.func @row
// CHECK: %[[SLICE:.*]] = tensor.extract_slice %arg1[1, 0] [1, 4] [1, 1]
// CHECK: %[[MADE:.*]] = linalg.generic {{.*}} outs(%[[SLICE]]
// CHECK: tensor.insert_slice %[[MADE]] into %arg1[1, 0] [1, 4] [1, 1]
// CHECK-LABEL: func.func @no_turns
// CHECK-NEXT: return %arg1
// CHECK-LABEL: func.func @whole
// CHECK-NOT: slice
// CHECK-LABEL: func.func @backwards
// CHECK-NOT: slice
// CHECK-LABEL: func.func @split
// CHECK-NOT: slice
// CHECK-LABEL: func.func @end_backwards
// CHECK: tensor.extract_slice %arg1[2] [2] [2]
// DIAGONAL: diagonal.mlir:2:8: error: 'linalg.generic' op writes result 0 at places that are no slice of it, each once, and does not read what it held

// ROW: 5 5
// ROW-NEXT: 7 7
// ROW-NEXT: 5 5
// NONE: 5

//--- slices.mlir
#same = affine_map<(i) -> (i)>
func.func @row(%a: tensor<4xi64>, %i: tensor<3x4xi64>) -> tensor<3x4xi64> {
  %y = linalg.generic {indexing_maps = [#same, affine_map<(i) -> (1, i)>], iterator_types = ["parallel"]}
      ins(%a : tensor<4xi64>) outs(%i : tensor<3x4xi64>) {
  ^bb0(%in: i64, %out: i64):
    linalg.yield %in : i64
  } -> tensor<3x4xi64>
  return %y : tensor<3x4xi64>
}
func.func @no_turns(%a: tensor<0xi64>, %i: tensor<i64>) -> tensor<i64> {
  %y = linalg.generic {indexing_maps = [#same, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%a : tensor<0xi64>) outs(%i : tensor<i64>) {
  ^bb0(%in: i64, %out: i64):
    linalg.yield %in : i64
  } -> tensor<i64>
  return %y : tensor<i64>
}
func.func @whole(%a: tensor<4x2xi64>, %i: tensor<8xi64>) -> tensor<8xi64> {
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (2 * i + j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<4x2xi64>) outs(%i : tensor<8xi64>) {
  ^bb0(%in: i64, %out: i64):
    linalg.yield %in : i64
  } -> tensor<8xi64>
  return %y : tensor<8xi64>
}
func.func @backwards(%a: tensor<4xi64>, %i: tensor<4xi64>) -> tensor<4xi64> {
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (3 - i)>], iterator_types = ["parallel"]}
      ins(%a : tensor<4xi64>) outs(%i : tensor<4xi64>) {
  ^bb0(%in: i64, %out: i64):
    linalg.yield %in : i64
  } -> tensor<4xi64>
  return %y : tensor<4xi64>
}
func.func @split(%a: tensor<4xi64>, %i: tensor<2x2xi64>) -> tensor<2x2xi64> {
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i floordiv 2, i mod 2)>], iterator_types = ["parallel"]}
      ins(%a : tensor<4xi64>) outs(%i : tensor<2x2xi64>) {
  ^bb0(%in: i64, %out: i64):
    linalg.yield %in : i64
  } -> tensor<2x2xi64>
  return %y : tensor<2x2xi64>
}
func.func @end_backwards(%a: tensor<2xi64>, %i: tensor<5xi64>) -> tensor<5xi64> {
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (4 - 2 * i)>], iterator_types = ["parallel"]}
      ins(%a : tensor<2xi64>) outs(%i : tensor<5xi64>) {
  ^bb0(%in: i64, %out: i64):
    linalg.yield %in : i64
  } -> tensor<5xi64>
  return %y : tensor<5xi64>
}
//--- diagonal.mlir
func.func @diagonal(%a: tensor<4xi64>, %i: tensor<4x4xi64>) -> tensor<4x4xi64> {
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i, i)>], iterator_types = ["parallel"]}
      ins(%a : tensor<4xi64>) outs(%i : tensor<4x4xi64>) {
  ^bb0(%in: i64, %out: i64):
    linalg.yield %in : i64
  } -> tensor<4x4xi64>
  return %y : tensor<4x4xi64>
}
//--- run.mlir
func.func @main(%a: tensor<2xi64> {dist.input = "a"}, %i: tensor<3x2xi64> {dist.input = "i"})
    -> (tensor<3x2xi64> {dist.output = "row"}, tensor<i64> {dist.output = "none"}) {
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (1, i)>], iterator_types = ["parallel"]}
      ins(%a : tensor<2xi64>) outs(%i : tensor<3x2xi64>) {
  ^bb0(%in: i64, %out: i64):
    linalg.yield %in : i64
  } -> tensor<3x2xi64>
  %five = arith.constant dense<5> : tensor<i64>
  %none = tensor.extract_slice %a[0] [0] [1] : tensor<2xi64> to tensor<0xi64>
  %z = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%none : tensor<0xi64>) outs(%five : tensor<i64>) {
  ^bb0(%in: i64, %out: i64):
    linalg.yield %in : i64
  } -> tensor<i64>
  return %y, %z : tensor<3x2xi64>, tensor<i64>
}
