// What has no result ends the run on all ranks with op, place and rank, whether ops are fused or not.
// RUN: rm -rf %t && split-file %s %t && cd %t
// RUN: not dist-run zero.mlir 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not dist-run least.mlir 2>&1 | FileCheck %s --check-prefix=LEAST
// RUN: not dist-run loop.mlir 2>&1 | FileCheck %s --check-prefix=LOOP
// RUN: not dist-run element.mlir 2>&1 | FileCheck %s --check-prefix=ELEMENT
// RUN: dist-run padded.mlir --input x=random:3 --verify %{opt} | FileCheck %s --check-prefix=PADDED
// RUN: not dist-run table.mlir --input w=random 2>&1 | FileCheck %s --check-prefix=TABLE
// RUN: sed 's/tp" = 2/tp" = 1/' table.mlir > whole.mlir && not dist-run whole.mlir --input w=random 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: not dist-run hang.mlir 2>&1 | FileCheck %s --check-prefix=HANG
// RUN: not dist-run step.mlir --input s=0 2>&1 | FileCheck %s --check-prefix=STEP
// RUN: not dist-run unsigned.mlir 2>&1 | FileCheck %s --check-prefix=UNSIGNED
// RUN: not dist-run index.mlir 2>&1 | FileCheck %s --check-prefix=INDEX
// RUN: not dist-run long.mlir --input i=random 2>&1 | FileCheck %s --check-prefix=LONG
// RUN: not dist-run flags.mlir --input x=-1 2>&1 | FileCheck %s --check-prefix=FLAGS
// RUN: not dist-run parallel.mlir --input i=9 2>&1 | FileCheck %s --check-prefix=PARALLEL
// RUN: not dist-run marked.mlir --input i=9 2>&1 | FileCheck %s --check-prefix=MARKED
// RUN: not dist-run memory.mlir --input x=random 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: not dist-run shift.mlir --input n=8 2>&1 | FileCheck %s --check-prefix=SHIFT
// RUN: dist-run shift.mlir --input n=7 --verify %{opt} | FileCheck %s --check-prefix=SHIFTED
// RUN: not dist-run affine.mlir --input n=0 2>&1 | FileCheck %s --check-prefix=AFFINE
// RUN: dist-run affine.mlir --input n=3 --verify %{opt} | FileCheck %s --check-prefix=APPLIED
// RUN: not dist-run body_while.mlir --input t=0 --input i=9 2>&1 | FileCheck %s --check-prefix=BODY-WHILE
// RUN: not dist-run body_for.mlir --input a=3 --input d=0 2>&1 | FileCheck %s --check-prefix=BODY-FOR
// RUN: dist-run uneven.mlir --input 'a=random(1,7)' --input 's=random(1,31)' --verify %{opt} | FileCheck %s --check-prefix=UNEVEN
// RUN: dist-run select.mlir --input 's=random(0,40)' --input a=random --verify %{opt} | FileCheck %s --check-prefix=CHOSEN
// RUN: not dist-run wrong_select.mlir --input s=40 --input a=random 2>&1 | FileCheck %s --check-prefix=CHOSEN-WRONG

//--- zero.mlir
dist.mesh @m ["x" = 2]
// ZERO: rank 1 (x=1): zero.mlir:8:8: arith.remui divides by zero
func.func @main() -> (tensor<2xi32> {dist.output = "y", dist.sharding = #dist.sharding<@m, [{"x"}]>}) {
  %a = arith.constant dense<7> : tensor<2xi32>
  %b = arith.constant dense<[1, 0]> : tensor<2xi32>
  %c = dist.sharding_constraint %b <@m, [{"x"}]> : tensor<2xi32>
  // Nobody knows at compile time.
  %0 = arith.remui %a, %c : tensor<2xi32>
  return %0 : tensor<2xi32>
}
//--- least.mlir
// LEAST: rank 0{{.*}}least.mlir:5:8: arith.divsi divides the smallest integer by -1, which overflows
func.func @main() -> tensor<2xi64> {
  %a = arith.constant dense<[1, -9223372036854775808]> : tensor<2xi64>
  %b = arith.constant dense<[1, -1]> : tensor<2xi64>
  %0 = arith.divsi %a, %b : tensor<2xi64>
  return %0 : tensor<2xi64>
}
//--- loop.mlir
// LOOP: loop.mlir:{{[0-9]+}}:{{[0-9]+}}: arith.divui divides by zero
func.func @main() -> tensor<i32> {
  %x = arith.constant dense<5> : tensor<i32>
  %zero = arith.constant 0 : i32
  %r = scf.while (%t = %x) : (tensor<i32>) -> tensor<i32> {
    %v = tensor.extract %t[] : tensor<i32>
    %more = arith.cmpi ne, %v, %zero : i32
    scf.condition(%more) %t : tensor<i32>
  } do {
  ^bb0(%t: tensor<i32>):
    %v = tensor.extract %t[] : tensor<i32>
    %less = arith.subi %v, %v : i32
    %q = arith.divui %v, %less : i32
    %n = tensor.from_elements %q : tensor<i32>
    scf.yield %n : tensor<i32>
  }
  return %r : tensor<i32>
}
//--- element.mlir
// ELEMENT: element.mlir:5:8: error: 'tensor.extract' op is at 4000000000 in dimension 0 of 'tensor<3xf32>'
func.func @main() -> tensor<f32> {
  %x = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %i = arith.constant 4000000000 : index
  %v = tensor.extract %x[%i] : tensor<3xf32>
  %0 = tensor.from_elements %v : tensor<f32>
  return %0 : tensor<f32>
}
//--- padded.mlir
// Padding is divided by nobody, and looks nothing up.
// PADDED: q: equal
// PADDED: r: equal
dist.mesh @m ["x" = 2]
func.func @main(%x: tensor<7xi64> {dist.input = "x", dist.sharding = #dist.sharding<@m, [{"x"}]>})
    -> (tensor<7xi64> {dist.output = "q"}, tensor<7xi64> {dist.output = "r"}) {
  %one = arith.constant dense<1> : tensor<7xi64>
  %many = arith.constant dense<100> : tensor<7xi64>
  %table = arith.constant dense<[4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]> : tensor<17xi64>
  %y = arith.ori %x, %one : tensor<7xi64>
  %q = arith.divsi %many, %y : tensor<7xi64>
  %i = arith.addi %x, %one : tensor<7xi64>
  %at = tensor.expand_shape %i [[0, 1]] output_shape [7, 1] : tensor<7xi64> into tensor<7x1xi64>
  %r = tensor.gather %table[%at] gather_dims([0]) : (tensor<17xi64>, tensor<7x1xi64>) -> tensor<7xi64>
  return %q, %r : tensor<7xi64>, tensor<7xi64>
}
//--- table.mlir
// A row that no rank holds is an error of a split table as it is of a whole one, not zero.
// TABLE: rank {{[01]}} (tp={{[01]}}): table.mlir:{{[0-9]+}}:8: an index of the gather is out of range: coordinates must be at least 0 and less than [6], not 6
// WHOLE: whole.mlir:{{[0-9]+}}:8: an index of the gather is out of range: coordinates must be at least 0 and less than [6], not 6
dist.mesh @m ["tp" = 2]
func.func @main(%w: tensor<6x2xf32> {dist.input = "w", dist.sharding = #dist.sharding<@m, [{"tp"}, {}]>})
    -> (tensor<3x2xf32> {dist.output = "y"}) {
  %i = arith.constant dense<[[0], [6], [5]]> : tensor<3x1xi64>
  %0 = tensor.gather %w[%i] gather_dims([0]) : (tensor<6x2xf32>, tensor<3x1xi64>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
//--- hang.mlir
// A number that a failed check has made is what a loop goes by: it ends all the same.
// HANG: hang.mlir:{{[0-9]+}}:8: arith.remui divides by zero
func.func @main() -> tensor<i32> {
  %c = arith.constant dense<[7, 0]> : tensor<2xi32>
  %0 = arith.remui %c, %c : tensor<2xi32>
  %one = arith.constant 1 : index
  %ten = arith.constant 10 : i32
  %r = tensor.extract %0[%one] : tensor<2xi32>
  %zero = arith.constant 0 : i32
  %n = scf.while (%t = %zero) : (i32) -> i32 {
    %more = arith.cmpi ult, %t, %ten : i32
    scf.condition(%more) %t : i32
  } do {
  ^bb0(%t: i32):
    %next = arith.addi %t, %r : i32
    scf.yield %next : i32
  }
  %y = tensor.from_elements %n : tensor<i32>
  return %y : tensor<i32>
}
//--- step.mlir
// STEP: step.mlir:{{[0-9]+}}:{{[0-9]+}}: the step of scf.for is not positive, not 0
func.func @main(%s: tensor<i32> {dist.input = "s"}) -> tensor<index> {
  %zero = arith.constant 0 : index
  %ten = arith.constant 10 : index
  %e = tensor.extract %s[] : tensor<i32>
  %step = arith.index_cast %e : i32 to index
  %n = scf.for %i = %zero to %ten step %step iter_args(%t = %zero) -> index {
    scf.yield %i : index
  }
  %y = tensor.from_elements %n : tensor<index>
  return %y : tensor<index>
}
//--- unsigned.mlir
// A loop that counts without sign: 200 is not -56.
// UNSIGNED: unsigned.mlir:{{[0-9]+}}:{{[0-9]+}}: an index of tensor.extract is out of range: coordinates must be at least 0 and less than [4], not 4
func.func @main() -> tensor<f32> {
  %x = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %e = math.exp %x : tensor<4xf32>
  %f = arith.constant 0.0 : f32
  %from = arith.constant 0 : i8
  %to = arith.constant 100 : i8
  %step = arith.constant 1 : i8
  %n = scf.for unsigned %i = %from to %to step %step iter_args(%t = %f) -> f32 : i8 {
    %k = arith.index_castui %i : i8 to index
    %v = tensor.extract %e[%k] : tensor<4xf32>
    %s = arith.addf %t, %v : f32
    scf.yield %s : f32
  }
  %y = tensor.from_elements %n : tensor<f32>
  return %y : tensor<f32>
}
//--- index.mlir
// INDEX: index.mlir:{{[0-9]+}}:{{[0-9]+}}: index.divs divides by zero
func.func @main() -> tensor<index> {
  %c = arith.constant dense<[7, 7]> : tensor<2xindex>
  %0 = arith.subi %c, %c : tensor<2xindex>
  %zero = arith.constant 0 : index
  %seven = arith.constant 7 : index
  %e = tensor.extract %0[%zero] : tensor<2xindex>
  %q = index.divs %seven, %e
  %y = tensor.from_elements %q : tensor<index>
  return %y : tensor<index>
}
//--- long.mlir
// LONG: long.mlir:{{[0-9]+}}:8: error: 'tensor.extract_slice' op of 8 elements with stride 1 in dimension 0 of 3 is in range nowhere
func.func @main(%i: tensor<1xindex> {dist.input = "i"}) -> tensor<8xf32> {
  %zero = arith.constant 0 : index
  %x = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %o = tensor.extract %i[%zero] : tensor<1xindex>
  %s = tensor.extract_slice %x[%o] [8] [1] : tensor<3xf32> to tensor<8xf32>
  return %s : tensor<8xf32>
}
//--- marked.mlir
// What a user's module says of checks is not believed.
// MARKED: an index of tensor.extract is out of range: coordinates must be at least 0 and less than [3], not 9
func.func @main(%n: tensor<i32> {dist.input = "i"}) -> tensor<f32> {
  %x = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %e = tensor.extract %n[] : tensor<i32>
  %i = arith.index_cast %e {rt.group_size = 1 : index} : i32 to index
  %v = tensor.extract %x[%i] {rt.guarded} : tensor<3xf32>
  %0 = tensor.from_elements %v : tensor<f32>
  return %0 : tensor<f32>
}
//--- memory.mlir
// MEMORY: memory.mlir:{{[0-9]+}}:8: error: 'memref.alloc' op is on memory; programs of levels 0 to 3 are on tensors
func.func @main(%x: tensor<f32> {dist.input = "x"}) -> tensor<f32> {
  %f = arith.constant 1.0 : f32
  %m = memref.alloc() : memref<f32>
  memref.store %f, %m[] : memref<f32>
  return %x : tensor<f32>
}
//--- flags.mlir
// FLAGS: flags.mlir:{{[0-9]+}}:8: arith.divui divides by zero
func.func @main(%x: tensor<i32> {dist.input = "x"}) -> tensor<i32> {
  %one = arith.constant 1 : i32
  %v = tensor.extract %x[] : tensor<i32>
  %w = arith.addi %v, %one overflow<nuw> : i32
  %q = arith.divui %one, %w : i32
  %y = tensor.from_elements %q : tensor<i32>
  return %y : tensor<i32>
}
//--- parallel.mlir
// PARALLEL: parallel.mlir:{{[0-9]+}}:{{[0-9]+}}: tensor.parallel_insert_slice of 1 elements in dimension 0 of 8 is out of range: it must begin at 0 to 7, not 9
func.func @main(%i: tensor<index> {dist.input = "i"}) -> tensor<8xf32> {
  %o = tensor.extract %i[] : tensor<index>
  %e = arith.constant dense<0.0> : tensor<8xf32>
  %v = arith.constant dense<1.0> : tensor<1xf32>
  %s = scf.forall (%k) in (8) shared_outs(%t = %e) -> tensor<8xf32> {
    %p = arith.addi %k, %o : index
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %v into %t[%p] [1] [1] : tensor<1xf32> into tensor<8xf32>
    }
  }
  return %s : tensor<8xf32>
}
//--- shift.mlir
// SHIFT: shift.mlir:6:8: arith.shrui of 8 bits: the amount must be 0 to 7, not 8
// SHIFTED: y: equal
func.func @main(%n: tensor<i8> {dist.input = "n"}) -> (tensor<4xi8> {dist.output = "y"}) {
  %a = arith.constant dense<[1, 2, 3, -1]> : tensor<4xi8>
  %0 = linalg.broadcast ins(%n : tensor<i8>) outs(%a : tensor<4xi8>) dimensions = [0]
  %1 = arith.shrui %a, %0 : tensor<4xi8>
  return %1 : tensor<4xi8>
}
//--- affine.mlir
// AFFINE: affine.mlir:7:8: arith.{{.*}} divides by zero
// APPLIED: y: equal
func.func @main(%n: tensor<i64> {dist.input = "n"}) -> (tensor<i64> {dist.output = "y"}) {
  %v = tensor.extract %n[] : tensor<i64>
  %s = arith.index_cast %v : i64 to index
  %d = arith.constant 17 : index
  %0 = affine.apply affine_map<(d0)[s0] -> (d0 floordiv s0)>(%d)[%s]
  %1 = arith.index_cast %0 : index to i64
  %2 = tensor.from_elements %1 : tensor<i64>
  return %2 : tensor<i64>
}
//--- body_while.mlir
// What a failed check made 0 does not keep the loop of a kernel from its end.
// BODY-WHILE: body_while.mlir:{{[0-9]+}}:{{[0-9]+}}: an index of tensor.extract is out of range: {{.*}} not 9
#id = affine_map<(d0) -> (d0)>
func.func @main(%t: tensor<4xi32> {dist.input = "t"}, %i: tensor<6xi32> {dist.input = "i"}) -> (tensor<6xi32> {dist.output = "y"}) {
  %e = tensor.empty() : tensor<6xi32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%i : tensor<6xi32>) outs(%e : tensor<6xi32>) {
  ^bb0(%x: i32, %o: i32):
    %z = arith.constant 0 : i32
    %ten = arith.constant 10 : i32
    %xi = arith.index_cast %x : i32 to index
    %w = scf.while (%k = %ten) : (i32) -> i32 {
      %c = arith.cmpi sgt, %k, %z : i32
      scf.condition(%c) %k : i32
    } do {
    ^bb0(%k: i32):
      %s = tensor.extract %t[%xi] : tensor<4xi32>
      %n = arith.subi %k, %s : i32
      scf.yield %n : i32
    }
    linalg.yield %w : i32
  } -> tensor<6xi32>
  return %r : tensor<6xi32>
}
//--- body_for.mlir
// BODY-FOR: body_for.mlir:{{[0-9]+}}:{{[0-9]+}}: arith.divsi divides by zero
#id = affine_map<(d0) -> (d0)>
func.func @main(%a: tensor<2xi64> {dist.input = "a"}, %d: tensor<2xi64> {dist.input = "d"}) -> (tensor<2xi64> {dist.output = "y"}) {
  %e = tensor.empty() : tensor<2xi64>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%a, %d : tensor<2xi64>, tensor<2xi64>) outs(%e : tensor<2xi64>) {
  ^bb0(%x: i64, %y: i64, %o: i64):
    %many = arith.constant 1000000000000 : i64
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %q = arith.divsi %many, %y : i64
    %n = arith.index_cast %q : i64 to index
    %w = scf.for %k = %zero to %n step %one iter_args(%v = %x) -> (i64) {
      %p = arith.muli %v, %v : i64
      %m = arith.xori %p, %q : i64
      scf.yield %m : i64
    }
    linalg.yield %w : i64
  } -> tensor<2xi64>
  return %r : tensor<2xi64>
}
//--- uneven.mlir
// Padding is no mistake of the program's.
// UNEVEN: y: equal
dist.mesh @m ["x" = 3]
func.func @main(%a: tensor<5xi32> {dist.input = "a", dist.sharding = #dist.sharding<@m, [{"x"}]>}, %s: tensor<5xi32> {dist.input = "s"}) -> (tensor<5xi32> {dist.output = "y"}) {
  %c = arith.constant dense<-32> : tensor<5xi32>
  %n = arith.addi %s, %c : tensor<5xi32>
  %m = arith.constant dense<-1> : tensor<5xi32>
  %i = arith.muli %n, %m : tensor<5xi32>
  %0 = arith.shli %a, %i : tensor<5xi32>
  %e = tensor.empty() : tensor<5xi32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%0 : tensor<5xi32>) outs(%e : tensor<5xi32>) {
  ^bb0(%x: i32, %o: i32):
    %k = linalg.index 0 : index
    %five = arith.constant 5 : index
    %left = index.sub %five, %k
    %q = index.divs %five, %left
    %r = affine.apply affine_map<(d0)[s0] -> (d0 mod s0)>(%five)[%left]
    %t = index.add %q, %r
    %u = arith.index_cast %t : index to i32
    %v = arith.addi %x, %u : i32
    linalg.yield %v : i32
  } -> tensor<5xi32>
  return %1 : tensor<5xi32>
}
//--- select.mlir
// A shift that nobody looks at where it has no result.
// CHOSEN: y: equal
func.func @main(%a: tensor<64xi32> {dist.input = "a"}, %s: tensor<64xi32> {dist.input = "s"}) -> (tensor<64xi32> {dist.output = "y"}) {
  %w = arith.constant dense<32> : tensor<64xi32>
  %z = arith.constant dense<0> : tensor<64xi32>
  %0 = arith.shli %a, %s : tensor<64xi32>
  %c = arith.cmpi ult, %s, %w : tensor<64xi32>
  %1 = arith.select %c, %0, %z : tensor<64xi1>, tensor<64xi32>
  return %1 : tensor<64xi32>
}
//--- wrong_select.mlir
// CHOSEN-WRONG: wrong_select.mlir:{{[0-9]+}}:{{[0-9]+}}: arith.shli of 32 bits: the amount must be 0 to 31, not 40
func.func @main(%a: tensor<4xi32> {dist.input = "a"}, %s: tensor<4xi32> {dist.input = "s"}) -> (tensor<4xi32> {dist.output = "y"}) {
  %w = arith.constant dense<32> : tensor<4xi32>
  %z = arith.constant dense<0> : tensor<4xi32>
  %0 = arith.shli %a, %s : tensor<4xi32>
  %c = arith.cmpi uge, %s, %w : tensor<4xi32>
  %1 = arith.select %c, %0, %z : tensor<4xi1>, tensor<4xi32>
  return %1 : tensor<4xi32>
}
