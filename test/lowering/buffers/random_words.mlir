// Random words become arithmetic: Philox4x32-10, whose authors (Salmon, Moraes, Dror and Shaw) give these answers to
// these counters and keys in Random123 1.14, tests/kat_vectors. What is written is found by folding it.
// RUN: dist-opt %s --dist-decompose-ops --canonicalize --split-input-file --verify-diagnostics | FileCheck %s

// Counter 0, 0, 0, 0; key 0, 0: 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
// CHECK-LABEL: @zeros
// CHECK-DAG: %[[A:.*]] = arith.constant 1713891541 : i64
// CHECK-DAG: %[[B:.*]] = arith.constant 3781805453 : i64
// CHECK-DAG: %[[C:.*]] = arith.constant 3159862348 : i64
// CHECK-DAG: %[[D:.*]] = arith.constant 2600524760 : i64
// CHECK: return %[[A]], %[[B]], %[[C]], %[[D]]
func.func @zeros() -> (i64, i64, i64, i64) {
  %zero = arith.constant 0 : i64
  %w:4 = dist.random_words %zero, %zero operator 0 at () of []
  return %w#0, %w#1, %w#2, %w#3 : i64, i64, i64, i64
}

// Counter 243f6a88, 85a308d3, 13198a2e, 03707344; key a4093822, 299f31d0: d16cfe09 94fdcceb 5001e420 24126ea1. The
// element's number is that of a row of two and a place in it, and the step's upper half does not count.
// CHECK-LABEL: @digits_of_pi
// CHECK-DAG: %[[A:.*]] = arith.constant 3513581065 : i64
// CHECK-DAG: %[[B:.*]] = arith.constant 2499661035 : i64
// CHECK-DAG: %[[C:.*]] = arith.constant 1342301216 : i64
// CHECK-DAG: %[[D:.*]] = arith.constant 605187745 : i64
// CHECK: return %[[A]], %[[B]], %[[C]], %[[D]]
func.func @digits_of_pi() -> (i64, i64, i64, i64) {
  %seed = arith.constant 2999170649027065890 : i64
  %step = arith.constant 4352668484 : i64
  %i = arith.constant 4814775065593754948 : index
  %j = arith.constant 0 : index
  %w:4 = dist.random_words %seed, %step operator 320440878 at (%i, %j) of [4814775065593754949, 2]
  return %w#0, %w#1, %w#2, %w#3 : i64, i64, i64, i64
}

// A stream adds one more than its number to the seed's upper half: the same answer.
// CHECK-LABEL: @stream
// CHECK-DAG: %[[A:.*]] = arith.constant 3513581065 : i64
// CHECK-DAG: %[[B:.*]] = arith.constant 2499661035 : i64
// CHECK-DAG: %[[C:.*]] = arith.constant 1342301216 : i64
// CHECK-DAG: %[[D:.*]] = arith.constant 605187745 : i64
// CHECK: return %[[A]], %[[B]], %[[C]], %[[D]]
func.func @stream() -> (i64, i64, i64, i64) {
  %seed = arith.constant 2999170631847196706 : i64
  %step = arith.constant 57701188 : i64
  %stream = arith.constant 3 : index
  %i = arith.constant -8817193942522041720 : index
  %w:4 = dist.random_words %seed, %step operator 320440878 at (%i) of [9223372036854775807] stream %stream
  return %w#0, %w#1, %w#2, %w#3 : i64, i64, i64, i64
}

// -----

dist.mesh @m ["tp" = 2]
func.func @not_placed(%seed: i64, %i: index) -> i64 {
  // expected-error@below {{draws from streams of devices, of which it is not known here which draws what: run --dist-spmd}}
  %w:4 = dist.random_words %seed, %seed operator 0 at (%i) of [4] streams over "tp"
  return %w#0 : i64
}
