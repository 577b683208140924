// Single elements: read, written, put together. None of these ops runs for want of a rule.
// RUN: dist-opt %s --dist-propagate=strict --dist-insert-reshards --dist-improve-reshards --dist-partition --split-input-file 2>&1 | FileCheck %s

// CHECK-NOT: warning
dist.mesh @m ["x" = 4]

// The device that has the place writes; the others put back what is there. Nothing is sent. A place that nobody has
// is an error, as it is on one device.
// CHECK-LABEL: func.func @insert
// CHECK-NOT: dist.all
// CHECK: %[[ROW:.*]] = arith.cmpi ult, %arg1, %c5
// CHECK-NEXT: cf.assert %[[ROW]], "an index of tensor.insert is out of range: coordinates must be at least 0 and less than [5, 3]"
// CHECK: %[[HERE:.*]] = arith.andi
// CHECK: %[[COLUMN:.*]] = arith.cmpi ult, %arg2, %c3
// CHECK-NEXT: cf.assert %[[COLUMN]], "an index of tensor.insert is out of range: coordinates must be at least 0 and less than [5, 3]"
// CHECK-NEXT: %[[THERE:.*]] = tensor.extract %arg0[%[[I:.*]], %arg2] : tensor<2x3xf64>
// CHECK-NEXT: %[[NEW:.*]] = arith.select %[[HERE]], %arg3, %[[THERE]] : f64
// CHECK-NEXT: %[[R:.*]] = tensor.insert %[[NEW]] into %arg0[%[[I]], %arg2] : tensor<2x3xf64>
// CHECK-NEXT: return %[[R]]
func.func @insert(%a: tensor<5x3xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}, %i: index, %j: index, %v: f64) -> tensor<5x3xf64> {
  %0 = tensor.insert %v into %a[%i, %j] : tensor<5x3xf64>
  return %0 : tensor<5x3xf64>
}

// An element that is read is needed everywhere.
// CHECK-LABEL: func.func @extract
// CHECK: dist.all_gather {{.*}} cause "{{.*}}moves operand 0 for tensor.extract, which needs dimension 0 whole"
// CHECK: tensor.extract %{{.*}} : tensor<8xf64>
// CHECK-NEXT: return
func.func @extract(%a: tensor<8xf64> {dist.sharding = #dist.sharding<@m, [{"x"}]>}, %i: index) -> f64 {
  %0 = tensor.extract %a[%i] : tensor<8xf64>
  return %0 : f64
}

// Elements are everywhere: a part of the tensor that they make is a slice of it.
// CHECK-LABEL: func.func @from_elements
// CHECK: %[[WHOLE:.*]] = tensor.from_elements {{.*}} : tensor<4xf64>
// CHECK-NEXT: %[[PART:.*]] = dist.all_slice %[[WHOLE]] dim 0 over "x"
// CHECK-NEXT: arith.addf %{{.*}}, %[[PART]] : tensor<1xf64>
func.func @from_elements(%a: tensor<4xf64> {dist.sharding = #dist.sharding<@m, [{"x"}]>}, %v: f64) -> tensor<4xf64> {
  %0 = tensor.from_elements %v, %v, %v, %v : tensor<4xf64>
  %1 = arith.addf %a, %0 : tensor<4xf64>
  return %1 : tensor<4xf64>
}
