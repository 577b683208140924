// RUN: dist-opt %s --split-input-file --verify-diagnostics

// Each number of a program is compared with its tensor, in arithmetic that does not wrap.

func.func @pad_below(%x: tensor<5xf32>) -> tensor<3xf32> {
  %z = arith.constant 0.0 : f32
  // expected-error@below {{'tensor.pad' op pads dimension 0 by -1; it must be 0 to 2^46}}
  %p = tensor.pad %x low[-1] high[-1] {
  ^bb0(%i: index):
    tensor.yield %z : f32
  } : tensor<5xf32> to tensor<3xf32>
  return %p : tensor<3xf32>
}

// -----

func.func @pad_wraps(%x: tensor<?xf32>) -> tensor<?xf32> {
  %z = arith.constant 0.0 : f32
  // expected-error@below {{pads dimension 0 by 4611686018427387904}}
  %p = tensor.pad %x low[4611686018427387904] high[4611686018427387904] {
  ^bb0(%i: index):
    tensor.yield %z : f32
  } : tensor<?xf32> to tensor<?xf32>
  return %p : tensor<?xf32>
}

// -----

func.func @pad_of_constant(%x: tensor<16xf32>) -> tensor<11xf32> {
  %z = arith.constant 0.0 : f32
  %seven = arith.constant 7 : index
  // expected-error@below {{makes 25 elements in dimension 0, where its result has 11}}
  %p = tensor.pad %x low[%seven] high[2] {
  ^bb0(%i: index):
    tensor.yield %z : f32
  } : tensor<16xf32> to tensor<11xf32>
  return %p : tensor<11xf32>
}

// -----

func.func @slice_wraps(%x: tensor<16xf32>) -> tensor<5xf32> {
  // expected-error@below {{of 5 elements with stride 4611686018427387904 in dimension 0 of 16 is in range nowhere from 1 on}}
  %p = tensor.extract_slice %x[1] [5] [4611686018427387904] : tensor<16xf32> to tensor<5xf32>
  return %p : tensor<5xf32>
}

// -----

func.func @slice_of_constant(%x: tensor<16xf32>) -> tensor<4xf32> {
  %stride = arith.constant 6 : index
  // expected-error@below {{of 4 elements with stride 6 in dimension 0 of 16 is in range nowhere}}
  %p = tensor.extract_slice %x[0] [4] [%stride] : tensor<16xf32> to tensor<4xf32>
  return %p : tensor<4xf32>
}

// -----

func.func @insert_backwards(%x: tensor<16xf32>, %u: tensor<3xf32>) -> tensor<16xf32> {
  // expected-error@below {{has stride -5 in dimension 0; it must be at least 1}}
  %p = tensor.insert_slice %u into %x[12] [3] [-5] : tensor<3xf32> into tensor<16xf32>
  return %p : tensor<16xf32>
}

// -----

func.func @insert_beyond(%x: tensor<16xf32>, %u: tensor<4xf32>) -> tensor<16xf32> {
  %at = arith.constant 13 : index
  // expected-error@below {{of 4 elements with stride 1 in dimension 0 of 16 is in range nowhere from 13 on}}
  %p = tensor.insert_slice %u into %x[%at] [4] [1] : tensor<4xf32> into tensor<16xf32>
  return %p : tensor<16xf32>
}

// -----

func.func @insert_in_parallel(%x: tensor<16xf32>, %u: tensor<4xf32>) -> tensor<16xf32> {
  %p = scf.forall (%i) in (2) shared_outs(%o = %x) -> tensor<16xf32> {
    scf.forall.in_parallel {
      // expected-error@below {{has stride -5}}
      tensor.parallel_insert_slice %u into %o[2] [4] [-5] : tensor<4xf32> into tensor<16xf32>
    }
  }
  return %p : tensor<16xf32>
}

// -----

func.func @dimension(%x: tensor<16xf32>) -> index {
  %seven = arith.constant 7 : index
  // expected-error@below {{asks for dimension 7 of a tensor of rank 1}}
  %d = tensor.dim %x, %seven : tensor<16xf32>
  return %d : index
}

// -----

// i = 0, 2^62, then -2^63.
func.func @loop_wraps(%a: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %end = arith.constant 9223372036854775807 : index
  %step = arith.constant 4611686018427387904 : index
  // expected-error@below {{from 0 to 9223372036854775807 by 4611686018427387904 does not end: its last step leaves 'index'}}
  %r = scf.for %i = %c0 to %end step %step iter_args(%t = %a) -> f32 {
    scf.yield %t : f32
  }
  return %r : f32
}

// -----

func.func @loop_of_bytes(%a: f32) -> f32 {
  %c0 = arith.constant 0 : i8
  %end = arith.constant -1 : i8
  %step = arith.constant 100 : i8
  // Signed, there is nothing to do; unsigned, the third step is to 300.
  %s = scf.for %i = %c0 to %end step %step iter_args(%t = %a) -> f32 : i8 {
    scf.yield %t : f32
  }
  // expected-error@below {{from 0 to 255 by 100 does not end: its last step leaves 'i8'}}
  %r = scf.for unsigned %i = %c0 to %end step %step iter_args(%t = %s) -> f32 : i8 {
    scf.yield %t : f32
  }
  return %r : f32
}

// -----

func.func @loop_stands(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@below {{'scf.forall' op has step 0, which must be at least 1}}
  %r = scf.forall (%i) = (0) to (4) step (0) shared_outs(%o = %x) -> tensor<4xf32> {
  }
  return %r : tensor<4xf32>
}

// -----

// MLIR looks at i = 0 and 4, where the index is 0.
func.func @map_peaks(%x: tensor<16xf32>, %e: tensor<5xf32>) -> tensor<5xf32> {
  // expected-error-re@below {{operand #0 has an index (d0 mod 4) * 1000 of {{[1-3]}}000, where its dimension has 16}}
  %p = linalg.generic {indexing_maps = [affine_map<(i) -> ((i mod 4) * 1000)>, affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<16xf32>) outs(%e : tensor<5xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<5xf32>
  return %p : tensor<5xf32>
}

// -----

// 0 at i = 0 and 3, and beyond 64 bits at 2.
func.func @map_wraps(%x: tensor<16xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@below {{that leaves 64 bits}}
  %p = linalg.generic {indexing_maps = [affine_map<(i) -> (((i mod 3) * 4611686018427387904) mod 5)>,
                                        affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<16xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<4xf32>
  return %p : tensor<4xf32>
}

// -----

func.func @backward_convolution(%x: tensor<1x16x1xf32>, %k: tensor<2x1x1xf32>,
                                %e: tensor<1x3x1xf32>) -> tensor<1x3x1xf32> {
  // expected-error-re@below {{'linalg.conv_1d_nwc_wcf' op operand #0 has an index {{.*}} of -{{[1-6]}}, where its dimension has 16}}
  %r = linalg.conv_1d_nwc_wcf {strides = dense<-3> : vector<1xi64>, dilations = dense<8> : vector<1xi64>}
      ins(%x, %k : tensor<1x16x1xf32>, tensor<2x1x1xf32>) outs(%e : tensor<1x3x1xf32>) -> tensor<1x3x1xf32>
  return %r : tensor<1x3x1xf32>
}

// -----

func.func @cast_back(%x: tensor<16x4xf32>) -> tensor<17x4xf32> {
  %a = tensor.cast %x : tensor<16x4xf32> to tensor<?x4xf32>
  %b = tensor.cast %a : tensor<?x4xf32> to tensor<?x?xf32>
  // expected-error@below {{makes 'tensor<17x4xf32>' of what is 'tensor<16x4xf32>'}}
  %c = tensor.cast %b : tensor<?x?xf32> to tensor<17x4xf32>
  return %c : tensor<17x4xf32>
}

// -----

// MLIR's verifier reads a size at this number.
func.func @joined_before_the_first(%x: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error@below {{'tensor.concat' op has dim -9, which must be at least 0}}
  %a = tensor.concat dim(-9) %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return %a : tensor<8xf32>
}

// -----

// MLIR takes the distance for -2, and the loop for none.
func.func @ends_far_apart(%a: f32) -> f32 {
  %from = arith.constant -9223372036854775807 : index
  %end = arith.constant 9223372036854775805 : index
  %step = arith.constant 4611686018427387903 : index
  // expected-error@below {{takes more than half of 'index'}}
  %r = scf.for %i = %from to %end step %step iter_args(%t = %a) -> f32 {
    scf.yield %t : f32
  }
  return %r : f32
}

// -----

func.func @element(%x: tensor<3xf32>) -> f32 {
  %at = arith.constant 3 : index
  // expected-error@below {{is at 3 in dimension 0 of 'tensor<3xf32>'}}
  %a = tensor.extract %x[%at] : tensor<3xf32>
  return %a : f32
}

// -----

// Of an op that is folded away: what it reads is not outside.
func.func @element_before(%x: tensor<3xf32>) -> tensor<3xf32> {
  %at = arith.constant -6 : index
  %c0 = arith.constant 0.0 : f32
  // expected-error@below {{'tensor.insert' op is at -6 in dimension 0 of 'tensor<3xf32>'}}
  %a = tensor.insert %c0 into %x[%at] : tensor<3xf32>
  return %a : tensor<3xf32>
}

// -----

// The number that stands for a value, where no value is.
func.func @pad_by_none(%x: tensor<4xf32>) -> tensor<?xf32> {
  %z = arith.constant 0.0 : f32
  // expected-error@below {{'tensor.pad' op has 0 values in a list that leaves 1 open (-9223372036854775808 stands for a value)}}
  %p = tensor.pad %x low[0] high[-9223372036854775808] {
  ^bb0(%i: index):
    tensor.yield %z : f32
  } : tensor<4xf32> to tensor<?xf32>
  return %p : tensor<?xf32>
}

// -----

func.func @through_unranked(%x: tensor<4xf32>) -> tensor<400000xf32> {
  %u = tensor.cast %x : tensor<4xf32> to tensor<*xf32>
  // expected-error@below {{'tensor.cast' op makes 'tensor<400000xf32>' of what is 'tensor<4xf32>'}}
  %d = tensor.cast %u : tensor<*xf32> to tensor<400000xf32>
  return %d : tensor<400000xf32>
}

// -----

// Other sizes would come here.
func.func @branch_of_other_sizes(%x: tensor<4xf32>, %five: i1) -> f32 {
  %c4 = arith.constant 4 : index
  %d = tensor.cast %x : tensor<4xf32> to tensor<?xf32>
  %r = scf.if %five -> f32 {
    %a = tensor.cast %d : tensor<?xf32> to tensor<5xf32>
    %v = tensor.extract %a[%c4] : tensor<5xf32>
    scf.yield %v : f32
  } else {
    %v = tensor.extract %x[%c4] : tensor<4xf32>
    scf.yield %v : f32
  }
  return %r : f32
}

// -----

func.func @no_dim(%x: tensor<4xf32>) -> tensor<8xf32> {
  // expected-error@below {{'tensor.concat' op requires attribute 'dim'}}
  %a = "tensor.concat"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return %a : tensor<8xf32>
}

// -----

func.func @no_amounts(%x: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error@below {{'tensor.pad' op requires attribute 'static_high'}}
  %a = "tensor.pad"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0>}> ({
  ^bb0(%i: index):
    %z = arith.constant 0.0 : f32
    tensor.yield %z : f32
  }) : (tensor<4xf32>) -> tensor<5xf32>
  return %a : tensor<5xf32>
}
