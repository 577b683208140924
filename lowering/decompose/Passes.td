//===- Passes.td - Ops in terms of simpler ones ------------*- tablegen -*-===//

#ifndef DIST_LOWERING_DECOMPOSE_PASSES_TD
#define DIST_LOWERING_DECOMPOSE_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistConvertToF64 : Pass<"dist-convert-to-f64", "::mlir::ModuleOp"> {
  let summary = "The same program with all floating-point work in f64";
  let description = [{
    Turns every float type narrower than f64 into f64, constants included, and
    drops the extensions and truncations between them. If two such programs still
    differ, the rounding of narrow types is not the reason.

    ```mlir
    %0 = arith.addf %a, %b : f32          // before
    %0 = arith.addf %a, %b : f64          // after
    ```
  }];
}

def DistSplitSums : Pass<"dist-split-sums", "::mlir::func::FuncOp"> {
  let summary = "Splits long sums over rows into shorter sums";
  let description = [{
    Needs tensors. A sum of more than 16384 floats of at most 32 bits becomes sums
    of about 4096 terms, and the sum of these. This applies if neighbouring
    results are contiguous, as in the gradient of a bias. One long sum would lose
    small terms against the sum so far. Kernels split the other sums. With
    `whole-sums`, sums to a scalar are split as well, so that a GPU's blocks share
    them.

    ```mlir
    // before: tensor<65536x8xf32> to tensor<8xf32>
    affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>
    // after: to tensor<16x8xf32>, and to tensor<8xf32>
    %0 = tensor.expand_shape %x [[0, 1], [2]] : tensor<65536x8xf32> into tensor<16x4096x8xf32>
    affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>
    affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>
    ```
  }];
  let options = [
    Option<"wholeSums", "whole-sums", "bool", "false",
           "Also sums to a scalar">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def DistSparsifySums : Pass<"dist-sparsify-sums", "::mlir::ModuleOp"> {
  let summary = "Sums whose constant weights are mostly zeros add only the others";
  let description = [{
    Needs tensors. It applies to sums over windows of an image that ignore weights
    of zero. If at most half of the constant weights are not zero, new constants
    list the elements that count for each result, and these are added one by one.
    Padding that no weight counts is not read. A part of a constant
    (`dist.local_constant`) becomes parts of these lists; they count from the
    device's first element.

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
  let summary = "Everything except contractions and shape changes becomes linalg.generic";
  let description = [{
    Needs tensors.

    - Gathers become generics that extract elements.
    - Scatters become loops over their slices. With `sort-scatters` they become
      `rt.scatter`, whose keys are sorted before.
    - Concatenations and pads become insertions into an empty tensor.
    - Packing becomes pads, reshapes and transposes.
    - Aggregates such as softmax become their parts.
    - Named and elementwise ops become generics. Contractions keep their form.
    - An op with a loop of no iterations is replaced by its destination.
    - An op that writes a slice of a destination, and does not read it, gets only
      this slice. So in later passes an op writes all of a destination that it
      does not read.

    Two kinds of attention stay, since later passes would not recognize their
    parts. One is an adjoint with at least `min-scores` scores of f32. The other
    is an attention that keeps two numbers of each row for such an adjoint. But
    attention whose body may fail, as by a division by zero, is decomposed: the
    checks are made on its parts.
  }];
  let options = [
    Option<"minScores", "min-scores", "int64_t", "std::numeric_limits<int64_t>::max()",
           "The fewest scores, over all batches, for such attention to stay">,
    Option<"sortsScatters", "sort-scatters", "bool", "false",
           "Scatters become rt.scatter, not loops over their slices">
  ];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::affine::AffineDialect", "::mlir::scf::SCFDialect",
                           "::mlir::rt::RtDialect"];
}

def DistGuardOps : Pass<"dist-guard-ops", "::mlir::func::FuncOp"> {
  let summary = "Operations without a result end the run with a message";
  let description = [{
    Needs tensors. Some operations have no result: integer divisions by zero,
    divisions of the smallest integer by -1, shifts by all bits or more, elements
    at indices outside of the tensor. They store a failed check (`rt.fail`) and go
    on with a safe number. So do slices at computed offsets that reach out of the
    tensor, and loops that would not end: whose computed step is not positive, or
    whose last step leaves its type. Operations are not checked if ranges prove them safe: those of loops,
    of ranks' indices, of constants and of arithmetic.

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
  let summary = "Casts from floats to integers saturate";
  let description = [{
    A cast from a float to an integer drops the fraction. Values outside of the
    type's range become the nearer end, and NaN becomes 0. So the result is the
    same on every processor, in vector and in scalar code. Otherwise LLVM's result
    would be poison.

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
