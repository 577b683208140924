// Between the elements of a dimension of one there is no step, whatever the slice says.
// RUN: dist-opt %s --dist-full-rank-slices | FileCheck %s
// RUN: dist-run %s --random --verify | FileCheck %s --check-prefix=OUT
// OUT-DAG: row: equal to the program on one rank (largest difference 0)
// OUT-DAG: put: equal to the program on one rank (largest difference 0)

// CHECK: tensor.extract_slice %arg0[1, 0] [1, 3] [1, 2] : tensor<4x5xf32> to tensor<3xf32>
// CHECK: tensor.insert_slice %{{.*}} into %arg0[%{{.*}}, 0] [1, 3] [1, 2] : tensor<3xf32> into tensor<4x5xf32>
func.func @f(%x: tensor<4x5xf32> {dist.input = "x"}) -> (tensor<3xf32> {dist.output = "row"}, tensor<4x5xf32> {dist.output = "put"}) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %row = tensor.extract_slice %x[1, 0] [1, 3] [3, 2] : tensor<4x5xf32> to tensor<3xf32>
  %put = tensor.insert_slice %row into %x[%c3, 0] [1, 3] [%c2, 2] : tensor<3xf32> into tensor<4x5xf32>
  return %row, %put : tensor<3xf32>, tensor<4x5xf32>
}
