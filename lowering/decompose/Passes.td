//===- Passes.td - Ops in terms of simpler ones ------------*- tablegen -*-===//

#ifndef DIST_LOWERING_DECOMPOSE_PASSES_TD
#define DIST_LOWERING_DECOMPOSE_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistConvertToF64 : Pass<"dist-convert-to-f64", "::mlir::ModuleOp"> {
  let summary = "The same program with all floating-point work in f64";
  let description = [{
    Turns every float type narrower than f64 into f64, constants included, and
    drops the extensions and truncations between them. What remains of a
    difference between two such programs is no rounding of narrow types.

    ```mlir
    %0 = arith.addf %a, %b : f32          // before
    %0 = arith.addf %a, %b : f64          // after
    ```
  }];
}

def DistSplitSums : Pass<"dist-split-sums", "::mlir::func::FuncOp"> {
  let summary = "Sums of many terms over rows are sums of few";
  let description = [{
    A sum of more than 16384 floats of at most 32 bits, of which the results lie
    beside each other (the gradient of a bias), becomes sums of about 4096 terms and
    the sum of these: one sum would lose what is small against what it has already.
    Sums whose results do not lie so are split by the kernels.

    ```mlir
    // before: tensor<65536x8xf32> to tensor<8xf32>
    affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>
    // after: to tensor<16x8xf32>, and to tensor<8xf32>
    %0 = tensor.expand_shape %x [[0, 1], [2]] : tensor<65536x8xf32> into tensor<16x4096x8xf32>
    affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>
    affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def DistSparsifySums : Pass<"dist-sparsify-sums", "::mlir::ModuleOp"> {
  let summary = "Sums whose constant weights are mostly zeros add what counts";
  let description = [{
    Where a sum over windows of an image says that weights of zero count for
    nothing, and at most half of the constant weights are none, constants say which
    elements count for each result, and these are added one by one. What a pad adds
    and nothing counts is not read. A part of a constant (`dist.local_constant`) makes
    parts of these, which count from the first element that the device has.

    ```mlir
    // before: d0 x 25 results of 14 elements each, and a few around them
    affine_map<(d0, d1, k) -> (d0 * 14 + k)>, affine_map<(d0, d1, k) -> (d0, d1, k)>
    ^bb0(%x: f32, %w: f32, %sum: f32):
      %none = arith.cmpf oeq, %w, %zero : f32
      %product = arith.mulf %x, %w : f32
      %counted = arith.select %none, %zero, %product : f32
      %0 = arith.addf %sum, %counted : f32
    // after: d0 * 25 results
    ^bb0(%at0: i64, %w0: f32, %at1: i64, %w1: f32, %sum: f32):
      %x0 = tensor.extract %image[%i0] : tensor<56xf32>  // %at0 as an index
      ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::linalg::LinalgDialect"];
}

def DistDecomposeOps : Pass<"dist-decompose-ops", "::mlir::func::FuncOp"> {
  let summary = "Everything but contractions and shape changes becomes linalg.generic";
  let description = [{
    Gathers become generics that extract elements, concatenations and pads
    insertions into an empty tensor, packing pads, reshapes and transpositions,
    aggregates such as softmax their parts, and named or elementwise ops generics.
    Contractions keep their form. An op with a loop of no turns is what its destination
    held; one that writes a slice of a destination, and does not read it, gets this slice
    alone, so that what later passes see writes all of what it does not read.

    An adjoint of attention with at least `min-scores` scores of f32 stays, and so does an
    attention that keeps two numbers of each row for one: their parts would not be found
    again. Not where a body may divide by zero, or the like, which is checked in parts.
  }];
  let options = [
    Option<"minScores", "min-scores", "int64_t", "std::numeric_limits<int64_t>::max()",
           "Scores, over all batches, from which on such attention stays">
  ];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::affine::AffineDialect", "::mlir::scf::SCFDialect",
                           "::mlir::rt::RtDialect"];
}

def DistGuardOps : Pass<"dist-guard-ops", "::mlir::func::FuncOp"> {
  let summary = "What has no result ends the run with a message";
  let description = [{
    Integer divisions by zero, divisions of the smallest integer by -1, shifts by all
    bits and more, and elements at indices beyond the tensor store a failed check
    (`rt.fail`) and go on with a number that does no harm; so do slices at computed
    places that reach beyond it.
    What the ranges of loops, places of ranks, constants and arithmetic prove gets
    no check.

    ```mlir
    %0 = arith.divsi %a, %b : i32                    // before
    %bad = arith.cmpi eq, %b, %zero : i32            // after
    scf.if %bad {
      rt.fail %status, "model.py:7: arith.divsi divides by zero" : !llvm.ptr
    }
    %divisor = arith.select %bad, %one, %b : i32
    %0 = arith.divsi %a, %divisor : i32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::mlir::rt::RtDialect", "::mlir::LLVM::LLVMDialect"];
}

def DistSaturateCasts : Pass<"dist-saturate-casts", "::mlir::func::FuncOp"> {
  let summary = "Floats become the nearest integer of a type";
  let description = [{
    A cast from a float to an integer drops the fraction; what is beyond the type's
    ends becomes the nearer end, and NaN 0. Every processor, and every order of
    vector and scalar code, so has the same result; without this, LLVM's result is
    poison.

    ```mlir
    %0 = arith.fptosi %x : f32 to i8                 // before
    %inside = arith.andi %not_below, %not_beyond : i1 // after
    %safe = arith.select %inside, %x, %zero : f32
    %1 = arith.fptosi %safe : f32 to i8
    %2 = arith.select %beyond, %c127_i8, %1 : i8
    %0 = arith.select %below, %cn128_i8, %2 : i8
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif // DIST_LOWERING_DECOMPOSE_PASSES_TD
