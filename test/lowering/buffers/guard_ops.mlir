// What has no result is checked where it is not proved to have one.
// RUN: dist-opt %s --dist-guard-ops --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @divisions
// CHECK: %[[STATUS:.*]] = rt.status
// CHECK: linalg.generic
// CHECK: ^bb0(%[[A:.*]]: i32, %[[B:.*]]: i32, %{{.*}}: i32):
// The smallest integer divided by -1 ...
// CHECK: %[[LEAST:.*]] = arith.cmpi eq, %[[A]], %c-2147483648_i32
// CHECK: %[[MINUS:.*]] = arith.cmpi eq, %[[B]], %c-1_i32
// CHECK: %[[BAD:.*]] = arith.andi %[[LEAST]], %[[MINUS]]
// CHECK: scf.if %[[BAD]] {
// CHECK-NEXT: rt.fail %[[STATUS]], "{{.*}}guard_ops.mlir:[[#@LINE+13]]:10: arith.divsi divides the smallest integer by -1, which overflows"
// CHECK: %[[FIRST:.*]] = arith.select %[[BAD]], %{{.*}}, %[[B]]
// ... and what is divided by zero. Nothing else stands between.
// CHECK: %[[ZERO:.*]] = arith.cmpi eq, %[[FIRST]], %c0_i32
// CHECK: scf.if %[[ZERO]] {
// CHECK-NEXT: rt.fail %[[STATUS]], "{{.*}}: arith.divsi divides by zero"
// CHECK: %[[SAFE:.*]] = arith.select %[[ZERO]], %{{.*}}, %[[FIRST]]
// CHECK: arith.divsi %[[A]], %[[SAFE]]
func.func @divisions(%a: tensor<3xi32>, %b: tensor<3xi32>) -> tensor<3xi32> {
  %e = tensor.empty() : tensor<3xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i)->(i)>, affine_map<(i)->(i)>, affine_map<(i)->(i)>], iterator_types = ["parallel"]}
      ins(%a, %b : tensor<3xi32>, tensor<3xi32>) outs(%e : tensor<3xi32>) {
  ^bb0(%x: i32, %y: i32, %o: i32):
    %q = arith.divsi %x, %y : i32
    linalg.yield %q : i32
  } -> tensor<3xi32>
  return %r : tensor<3xi32>
}

// -----

// CHECK-LABEL: func.func @proved
// CHECK-NOT: rt.fail
// CHECK: return
func.func @proved(%x: tensor<8xf32>, %n: i32, %i: index) -> (tensor<8xf32>, i32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %two = arith.constant 2 : i32
  %e = tensor.empty() : tensor<8xf32>
  // The loops' indices, and what is computed of them.
  %r = linalg.generic {indexing_maps = [affine_map<(i)->(i)>], iterator_types = ["parallel"]} outs(%e : tensor<8xf32>) {
  ^bb0(%o: f32):
    %k = linalg.index 0 : index
    %back = arith.subi %c7, %k : index
    %v = tensor.extract %x[%back] : tensor<8xf32>
    linalg.yield %v : f32
  } -> tensor<8xf32>
  %s = scf.for %j = %c0 to %c8 step %c1 iter_args(%t = %r) -> tensor<8xf32> {
    %v = tensor.extract %x[%j] : tensor<8xf32>
    %u = tensor.insert %v into %t[%j] : tensor<8xf32>
    scf.yield %u : tensor<8xf32>
  }
  // A constant; a number that is kept within bounds.
  %half = arith.divsi %n, %two : i32
  %low = arith.maxsi %i, %c0 : index
  %in = arith.minsi %low, %c7 : index
  %w = tensor.extract %x[%in] : tensor<8xf32>
  return %s, %half, %w : tensor<8xf32>, i32, f32
}

// -----

// Each coordinate for itself; constants were checked before.
// CHECK-LABEL: func.func @elements
// CHECK-SAME: %[[X:.*]]: tensor<4x5xf32>, %[[I:.*]]: index, %[[J:.*]]: index
// CHECK: %[[BAD:.*]] = arith.cmpi uge, %[[I]], %c4
// CHECK: rt.fail %{{.*}}, "{{.*}}: an index of tensor.extract is out of range: coordinates must be at least 0 and less than [4, 5]" value %[[I]]
// CHECK: %[[SAFE:.*]] = arith.select %[[BAD]], %{{.*}}, %[[I]]
// CHECK: rt.fail %{{.*}} value %[[J]]
// CHECK: tensor.extract %[[X]][%[[SAFE]], %{{.*}}]
// CHECK: rt.fail %{{.*}}, "{{.*}}: an index of tensor.insert is out of range
// CHECK: tensor.insert
func.func @elements(%x: tensor<4x5xf32>, %i: index, %j: index) -> tensor<4x5xf32> {
  %c4 = arith.constant 4 : index
  %v = tensor.extract %x[%i, %j] : tensor<4x5xf32>
  %y = tensor.insert %v into %x[%i, %c4] : tensor<4x5xf32>
  return %y : tensor<4x5xf32>
}

// -----

// A loop that runs as long as its data say ends before its next turn, whatever a failed check has made of the data.
// CHECK-LABEL: func.func @in_while
// CHECK: scf.while
// CHECK-NEXT: rt.check
// CHECK: linalg.generic
// CHECK: rt.fail
// CHECK-NOT: rt.check
// CHECK: return
func.func @in_while(%x: tensor<3xi32>) -> tensor<3xi32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %r = scf.while (%t = %x) : (tensor<3xi32>) -> tensor<3xi32> {
    %first = tensor.extract %t[%c0] : tensor<3xi32>
    %more = arith.cmpi ne, %first, %zero : i32
    scf.condition(%more) %t : tensor<3xi32>
  } do {
  ^bb0(%t: tensor<3xi32>):
    %e = tensor.empty() : tensor<3xi32>
    %n = linalg.generic {indexing_maps = [affine_map<(i)->(i)>, affine_map<(i)->(i)>], iterator_types = ["parallel"]}
        ins(%t : tensor<3xi32>) outs(%e : tensor<3xi32>) {
    ^bb0(%a: i32, %o: i32):
      %q = arith.divui %zero, %a : i32
      linalg.yield %q : i32
    } -> tensor<3xi32>
    scf.yield %n : tensor<3xi32>
  }
  return %r : tensor<3xi32>
}

// -----

// A slice at a computed place reaches no further than the tensor; the ranks' own parts are known to.
// CHECK-LABEL: func.func @slices
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<12xf32>, %[[I:[a-z0-9]*]]: index
// CHECK: %[[BAD:.*]] = arith.cmpi uge, %[[I]], %c9
// CHECK: rt.fail %{{.*}}, "{{.*}}: tensor.extract_slice of 4 elements in dimension 0 of 12 is out of range: it must begin at 0 to 8" value %[[I]]
// CHECK: %[[SAFE:.*]] = arith.select %[[BAD]], %{{.*}}, %[[I]]
// CHECK: tensor.extract_slice %[[X]][%[[SAFE]]] [4] [1]
// CHECK-NOT: rt.fail
// CHECK: tensor.insert_slice
func.func @slices(%x: tensor<12xf32>, %i: index) -> tensor<12xf32> {
  %c4 = arith.constant 4 : index
  %0 = tensor.extract_slice %x[%i] [4] [1] : tensor<12xf32> to tensor<4xf32>
  %rank = rt.comm_index 0 {rt.group_size = 3 : index}
  %at = arith.muli %rank, %c4 : index
  %1 = tensor.insert_slice %0 into %x[%at] [4] [1] : tensor<4xf32> into tensor<12xf32>
  return %1 : tensor<12xf32>
}
