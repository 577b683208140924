// RUN: dist-opt %s --split-input-file --dist-spmd | FileCheck %s

// Elements of which no sums are known: rows of a sharded table are not made zero and summed, the table is gathered.
dist.mesh @m ["x" = 4]

// CHECK-LABEL: func.func @main
// CHECK: %[[TABLE:.*]] = dist.all_gather %{{.*}} : tensor<2x6xcomplex<f64>> -> tensor<8x6xcomplex<f64>>
// CHECK: tensor.gather %[[TABLE]]
func.func @main(%table: tensor<8x6xcomplex<f64>> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}, %rows: tensor<32x1xi64>) -> tensor<32x6xcomplex<f64>> {
  %0 = tensor.gather %table[%rows] gather_dims([0]) : (tensor<8x6xcomplex<f64>>, tensor<32x1xi64>) -> tensor<32x6xcomplex<f64>>
  return %0 : tensor<32x6xcomplex<f64>>
}

// The neutral element of a type without infinities is its smallest number.
// CHECK-LABEL: func.func @narrow
// CHECK: arith.constant {{-4.480000e\+02|0xFE}} : f8E4M3FN
func.func @narrow(%a: tensor<8x6xf8E4M3FN> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}, %b: tensor<6xf8E4M3FN>) -> tensor<6xf8E4M3FN> {
  %0 = linalg.reduce { arith.maximumf } ins(%a : tensor<8x6xf8E4M3FN>) outs(%b : tensor<6xf8E4M3FN>) dimensions = [0]
  return %0 : tensor<6xf8E4M3FN>
}

// -----

// Where few rows are read they are gathered, in parts of columns; what is past the last column is left as it is.
dist.mesh @m ["x" = 4]

// CHECK-LABEL: func.func @few
// CHECK: tensor.insert_slice %{{.*}} : tensor<16x6xcomplex<f64>> into tensor<16x8xcomplex<f64>>
// CHECK: dist.all_to_all
// CHECK: tensor.gather %{{.*}} : (tensor<64x2xcomplex<f64>>, tensor<3x1xi64>) -> tensor<3x2xcomplex<f64>>
// CHECK: dist.all_gather
func.func @few(%table: tensor<64x6xcomplex<f64>> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}, %rows: tensor<3x1xi64>) -> tensor<3x6xcomplex<f64>> {
  %0 = tensor.gather %table[%rows] gather_dims([0]) : (tensor<64x6xcomplex<f64>>, tensor<3x1xi64>) -> tensor<3x6xcomplex<f64>>
  return %0 : tensor<3x6xcomplex<f64>>
}
