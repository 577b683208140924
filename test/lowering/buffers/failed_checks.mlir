// What must hold of the data is checked by stores, and what follows is safe with data of which it does not hold.
// RUN: dist-opt %s --dist-decompose-ops --dist-guard-ops --split-input-file | FileCheck %s
// RUN: dist-opt %s --dist-lower-cpu --split-input-file | FileCheck %s --check-prefix=LLVM

// An index out of range is stored, and zero from there on. Kernels call nothing.
// CHECK-LABEL: func.func @gather
// CHECK: %[[STATUS:.*]] = rt.status
// CHECK: linalg.generic
// CHECK: %[[BAD:.*]] = arith.cmpi uge, %[[INDEX:.*]], %
// CHECK: scf.if %[[BAD]] {
// CHECK: rt.fail %[[STATUS]], "{{.*}}failed_checks.mlir:[[#]]:[[#]]: an index of the gather is out of range: coordinates must be at least 0 and less than [5]" value %[[INDEX]]
// CHECK: %[[SAFE:.*]] = arith.select %[[BAD]], %{{.*}}, %[[INDEX]] : index
// CHECK: linalg.yield %[[SAFE]]
// CHECK-NOT: rt.check
// LLVM-LABEL: llvm.func internal @kernel_0
// LLVM-NOT: llvm.call
// LLVM: llvm.return
func.func @gather(%x: tensor<5xf32>, %i: tensor<3x1xi64>) -> tensor<3xf32> {
  %0 = tensor.gather %x[%i] gather_dims([0]) : (tensor<5xf32>, tensor<3x1xi64>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// No index is in range of nothing.
// CHECK-LABEL: func.func @gather_of_nothing
// CHECK: rt.fail %{{.*}}, "{{.*}}less than [0]"
// CHECK-NOT: tensor.extract
func.func @gather_of_nothing(%x: tensor<0xf32>, %i: tensor<3x1xi64>) -> tensor<3xf32> {
  %0 = tensor.gather %x[%i] gather_dims([0]) : (tensor<0xf32>, tensor<3x1xi64>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// What follows an assertion in a body is not done where it does not hold.
// CHECK-LABEL: func.func @assert_in_body
// CHECK: linalg.generic
// CHECK: %[[GOOD:.*]] = arith.cmpi ult
// CHECK: %[[RESULT:.*]] = scf.if %[[GOOD]] -> (f32) {
// CHECK: tensor.extract
// CHECK: } else {
// CHECK: rt.fail %{{.*}}, "{{.*}}: in range"
// CHECK: scf.yield %{{.*}} : f32
// CHECK: }
// CHECK: linalg.yield %[[RESULT]]
func.func @assert_in_body(%x: tensor<7xf32>, %i: tensor<3xindex>) -> tensor<3xf32> {
  %c7 = arith.constant 7 : index
  %e = tensor.empty() : tensor<3xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i)->(i)>, affine_map<(i)->(i)>], iterator_types = ["parallel"]}
      ins(%i : tensor<3xindex>) outs(%e : tensor<3xf32>) {
  ^bb0(%k: index, %o: f32):
    %p = arith.cmpi ult, %k, %c7 : index
    cf.assert %p, "in range"
    %v = tensor.extract %x[%k] : tensor<7xf32>
    linalg.yield %v : f32
  } -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// -----

// Between kernels the run ends at the assertion.
// CHECK-LABEL: func.func @assert_between
// CHECK: scf.if
// CHECK: rt.fail %{{.*}}, "{{.*}}: positive"
// CHECK: rt.check
func.func @assert_between(%x: tensor<f32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %v = tensor.extract %x[] : tensor<f32>
  %p = arith.cmpf ogt, %v, %zero : f32
  cf.assert %p, "positive"
  return %x : tensor<f32>
}

// -----

// A loop that runs as long as its data say is left.
// CHECK-LABEL: func.func @gather_in_while
// CHECK: scf.while
// CHECK-NEXT: rt.check
// CHECK: rt.fail
func.func @gather_in_while(%x: tensor<5xi64>, %start: tensor<1xi64>) -> tensor<1xi64> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i64
  %0 = scf.while (%i = %start) : (tensor<1xi64>) -> tensor<1xi64> {
    %v = tensor.extract %i[%c0] : tensor<1xi64>
    %more = arith.cmpi ne, %v, %zero : i64
    scf.condition(%more) %i : tensor<1xi64>
  } do {
  ^bb0(%i: tensor<1xi64>):
    %at = tensor.expand_shape %i [[0, 1]] output_shape [1, 1] : tensor<1xi64> into tensor<1x1xi64>
    %next = tensor.gather %x[%at] gather_dims([0]) : (tensor<5xi64>, tensor<1x1xi64>) -> tensor<1xi64>
    scf.yield %next : tensor<1xi64>
  }
  return %0 : tensor<1xi64>
}
