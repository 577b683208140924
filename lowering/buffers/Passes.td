//===- Passes.td - From tensors to buffers in an arena -----*- tablegen -*-===//
//
// What every target's lowering does with tensors and buffers, in its order.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUFFERS_PASSES_TD
#define DIST_LOWERING_BUFFERS_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistFullRankSlices : Pass<"dist-full-rank-slices", "::mlir::ModuleOp"> {
  let summary = "Slices that keep one unit dimension and drop another say which";
  let description = [{
    A slice with computed offsets that drops some of its dimensions of size 1, and
    keeps others, becomes one that drops none, and a `tensor.collapse_shape`. Folding
    its offsets would else change its sizes (LLVM 22). A slice's stride of a
    dimension of one element becomes 1: upstream crashes on views with another (LLVM 22).
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def DistLimitInlining : Pass<"dist-limit-inlining", "::mlir::ModuleOp"> {
  let summary = "Calls that inlining would multiply are an error";
  let description = [{
    What is called is compiled in the place of each call. Functions that call the
    next one twice double the program with each level: where the entry function
    would have 2^18 ops more than the module has, the first function that is too
    large is named, with its size.
  }];
}

def DistFormAttention : Pass<"dist-form-attention", "::mlir::ModuleOp"> {
  let summary = "Softmax between two contractions becomes dist.attention";
  let description = [{
    Finds, from the second contraction on, what is attention by its structure: a
    product with quotients of exponentials and their sums, of differences to the
    largest of each row, of anything elementwise that is made of a contraction's
    results. That becomes the body, with what its operands are computed of
    elementwise: a mask that hangs on places alone leaves no tensor behind. f32
    only, with at least `min-scores` scores in all, or with `min-scores-of-fewer` where
    tiles multiply less than the parts do, as masks leave nothing of blocks of 128 keys;
    the module's `rt.attentions` says how many were formed.

    Where gradients are made of the weights, and all that reads them is the adjoint of
    the attention (the weights' cotangent, that of softmax, anything elementwise behind
    it, three contractions), that becomes `dist.attention_adjoint`, for which forward
    keeps two numbers for each query. What else is made of the scores' cotangents (those
    of a bias, of slopes, of factors that are learned) becomes its totals: sums, where
    sums are taken, else tensors as they are. Where something else reads the weights
    (they are a result), all stays as it is.

    ```mlir
    %s = linalg.contract ins(%q, %k) …                 // before
    %x = linalg.generic ins(%s, %mask) …               // add
    %m = linalg.generic ins(%x) …                      // maximum of each row
    %e = linalg.generic ins(%x, %m) …                  // exp of the difference
    %l = linalg.generic ins(%e) …                      // sum of each row
    %p = linalg.generic ins(%e, %l) …                  // quotient
    %o = linalg.contract ins(%p, %v) …
    %o = dist.attention(%q, %k, %v) with (%mask) …     // after
    ```
  }];
  let options = [
    Option<"minScores", "min-scores", "int64_t", "1",
           "Scores, over all batches, from which on attention is formed">,
    Option<"minScoresOfFewer", "min-scores-of-fewer", "int64_t",
           "std::numeric_limits<int64_t>::max()",
           "The same where tiles multiply less than the parts do">,
    Option<"onlyAcrossLoops", "only-across-loops", "bool", "false",
           "Only where a loop goes back through another: before loops are changed">
  ];
  let dependentDialects = ["::mlir::dist::DistDialect", "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def DistBufferize : Pass<"dist-bufferize", "::mlir::ModuleOp"> {
  let summary = "One-shot bufferization with results in given buffers";
  let description = [{
    The entry function gets a buffer argument for each result, and results are
    computed in place there where possible. A result with `dist.updates` has none: it
    is put into the argument that it is the new value of, in place where nothing reads
    the old value any more, and by a copy at the end elsewhere. Other arguments are
    read-only. `rt.num_results` says how many of the arguments, the last ones, are for
    results, and `rt.result_numbers` for which, where these are not all.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::linalg::LinalgDialect"];
}

def DistBufferizePlainly : Pass<"dist-bufferize-plainly", "::mlir::ModuleOp"> {
  let summary = "A buffer for every value, for programs to compare with";
  let description = [{
    In place of `--dist-bufferize`, without analysis and with nothing in place:
    every op that writes gets a copy of what it writes to, slices are copied out,
    and results are copied to the caller's buffers, or to the arguments that they
    update, at the end.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::linalg::LinalgDialect"];
}

def DistCarryInPlace : Pass<"dist-carry-in-place", "::mlir::func::FuncOp"> {
  let summary = "What a loop carries stays in one buffer";
  let description = [{
    A buffer that a loop's iteration makes and the next one reads is copied into
    one that lies beside the loop, so that every allocation has a known live range.
    Buffers that are the same in every iteration stay as they are.

    ```mlir
    %0 = scf.for … iter_args(%a = %x) -> (memref<4xf32>) { … scf.yield %new }  // before
    memref.copy %x, %buffer                                                    // after
    scf.for … { … memref.copy %new, %buffer }
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def DistPlanMemory : Pass<"dist-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Every buffer gets its place in one arena";
  let description = [{
    Buffers whose live ranges do not overlap share memory: best fit over the
    intervals from the first to the last op that may touch a buffer or an alias.
    The entry function takes the arena as its last argument; module attribute
    `rt.arena_bytes` is its size, and `rt.live_bytes` the most bytes alive at once.
  }];
  let options = [
    Option<"sharing", "sharing", "bool", "true",
           "Whether buffers may have the same place, one after the other">,
    Option<"alignment", "alignment", "int64_t", "64",
           "Bytes that places are multiples of">
  ];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def DistPerturbRounding : Pass<"dist-perturb-rounding", "::mlir::ModuleOp"> {
  let summary = "Floating-point operations with random rounding errors";
  let description = [{
    For a program that is run several times, to learn which digits of its results
    rounding decides: every result of an elementary operation that is not exact is
    multiplied with 1 + x, x at random within two epsilons of its type, before it is
    rounded. Comparisons, selections, minima, negation and other exact operations
    stay as they are, and so do sums and products that need no rounding; but a step of
    a reduction moves also where it is exact by chance, for in another order it is
    not: unless it changes nothing, or its value has few digits, as counts have. Where
    its terms cancel it moves as far as they are large. Functions whose result is
    exact in all likelihood (whole numbers of whole numbers, powers of two) stay.

    The random numbers come of the loops' positions and of a counter of calls. The
    program has two further symbols, `dist_perturbation_counter` (i64, the seed) and
    `dist_perturbation_amplitude` (f64): with 0, the value that it has first, results
    are those without this pass, bit by bit; with 1 they are perturbed.

    With loops that are not counted there are two more: `dist_perturbation_turns` (i64)
    is how often one of them turned at most while the amplitude was 0. Beyond that, a
    perturbed loop draws the same numbers in every turn, and one that has not ended
    after four times as many turns and 64 is left; then `dist_perturbation_stopped`
    (i64) is 1.

    ```mlir
    %y = arith.addf %a, %b : f32             // before
    %z = arith.addf %wide_a, %wide_b : f64   // after: exact, or nearly
    %near = arith.truncf %z : f64 to f32
    %back = arith.extf %near : f32 to f64
    %rounds = arith.cmpf une, %back, %z : f64
    %moved = arith.mulf %z, %factor : f64
    %chosen = arith.select %rounds, %moved, %z : f64
    %y = arith.truncf %chosen : f64 to f32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif // DIST_LOWERING_BUFFERS_PASSES_TD
