//===- Passes.td - From tensors to buffers in an arena -----*- tablegen -*-===//
//
// The passes on tensors and buffers that every target's lowering runs, in its
// order.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUFFERS_PASSES_TD
#define DIST_LOWERING_BUFFERS_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistFullRankSlices : Pass<"dist-full-rank-slices", "::mlir::ModuleOp"> {
  let summary = "Makes clear which unit dimensions a slice drops";
  let description = [{
    Needs tensors. A slice with computed offsets may drop some dimensions of size
    1 and keep others. It becomes a slice that drops none, and a
    `tensor.collapse_shape`. Otherwise folding its offsets would change its sizes
    (LLVM 22). If a dimension of a slice has one element, its stride becomes 1:
    upstream crashes on views with another stride (LLVM 22).
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def DistLimitInlining : Pass<"dist-limit-inlining", "::mlir::ModuleOp"> {
  let summary = "Rejects programs that inlining would make too large";
  let description = [{
    Every call is inlined later. If functions call the next one twice, the program
    doubles at each level. It is an error if inlining adds more than 2^18 ops to
    the entry function. The message names the first function that is too large,
    with its size.
  }];
}

def DistFormAttention : Pass<"dist-form-attention", "::mlir::ModuleOp"> {
  let summary = "Softmax between two contractions becomes dist.attention";
  let description = [{
    Needs tensors. Starts from the second contraction and recognizes attention by
    its structure. The second contraction multiplies with quotients of
    exponentials and their sums. The exponentials are of differences to the
    largest element of each row. These elements are computed elementwise from the
    result of the first contraction. The elementwise ops become the body, and so
    do the elementwise ops that compute their operands. So a mask that depends
    only on positions leaves no tensor behind.

    Only f32 is handled, with at least `min-scores` scores in all. With
    `min-scores-of-fewer` the limit is another one if tiles multiply less than the
    separate ops do, because masks leave nothing of some blocks of 128 keys. The
    module's `rt.attentions` says how many were formed.

    Gradients are formed too. If all readers of the weights are the adjoint of the
    attention, that adjoint becomes `dist.attention_adjoint`, and forward keeps
    two numbers for each query. The adjoint is the weights' cotangent, softmax's,
    anything elementwise behind it, and three contractions. Other ops may read the
    scores' cotangents: those of a bias, of slopes, of learned factors. They
    become totals: sums if the ops sum, else whole tensors. If something else
    reads the weights, for example because they are a result, nothing is changed.

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
           "The fewest scores, over all batches, to form attention for">,
    Option<"minScoresOfFewer", "min-scores-of-fewer", "int64_t",
           "std::numeric_limits<int64_t>::max()",
           "The same if tiles multiply less than the separate ops do">,
    Option<"onlyAcrossLoops", "only-across-loops", "bool", "false",
           "Only attention in a loop whose adjoint is in another: run it before loops are changed">
  ];
  let dependentDialects = ["::mlir::dist::DistDialect", "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def DistSliceAttention : Pass<"dist-slice-attention", "::mlir::func::FuncOp"> {
  let summary = "Attention becomes its parts, for slices of the queries";
  let description = [{
    Needs tensors. Each `dist.attention` and `dist.attention_adjoint` becomes its
    parts: contractions, the body, a softmax. If there are more than `most-scores`
    scores over all batches, a loop computes them for slices of the queries, over
    all keys. The last slice may have fewer queries. Sums over queries, which are
    cotangents of keys and values, are added up over the slices.

    ```mlir
    %o = dist.attention(%q, %k, %v) …                     // before, of 4096 queries
    %o = scf.for %i = %c0 to %c4096 step %c512 …          // after
      %part = tensor.extract_slice %q[0, %i, 0] [8, 512, 64] [1, 1, 1] …
      %scores = linalg.generic … ins(%part, %k) …
    ```
  }];
  let options = [
    Option<"mostScores", "most-scores", "int64_t", "std::numeric_limits<int64_t>::max()",
           "The most scores that are computed at once">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def DistBufferize : Pass<"dist-bufferize", "::mlir::ModuleOp"> {
  let summary = "One-shot bufferization with results in given buffers";
  let description = [{
    The entry function gets a buffer argument for each result. Results are
    computed in place there if possible. A result with `dist.updates` gets no
    buffer: it is written into the argument that it updates. That is in place if
    nothing reads the old value any more, else by a copy at the end. Other
    arguments are read-only.

    Leaves buffers. `rt.num_results` says how many of the arguments, the last
    ones, are for results. `rt.result_numbers` says for which results, if these
    are not all.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::linalg::LinalgDialect"];
}

def DistBufferizePlainly : Pass<"dist-bufferize-plainly", "::mlir::ModuleOp"> {
  let summary = "A buffer for every value, for programs to compare with";
  let description = [{
    Replaces `--dist-bufferize`, without analysis and with nothing in place. Every
    op that writes gets a copy of its destination, and slices are copied out. At
    the end, results are copied to the caller's buffers, or to the arguments that
    they update.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::linalg::LinalgDialect"];
}

def DistCarryInPlace : Pass<"dist-carry-in-place", "::mlir::func::FuncOp"> {
  let summary = "Loop-carried buffers stay in one buffer";
  let description = [{
    Needs buffers. If an iteration of a loop allocates a buffer and the next one
    reads it, the data is copied into a buffer that is allocated outside of the
    loop. So every allocation has a known live range. Buffers that are the same in
    every iteration stay as they are.

    ```mlir
    %0 = scf.for … iter_args(%a = %x) -> (memref<4xf32>) { … scf.yield %new }  // before
    memref.copy %x, %buffer                                                    // after
    scf.for … { … memref.copy %new, %buffer }
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def DistPlanMemory : Pass<"dist-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Places every buffer in one arena";
  let description = [{
    Buffers whose live ranges do not overlap share memory. A live range is the
    interval from the first to the last op that may touch the buffer or an alias;
    places are found by best fit. The entry function takes the arena as its last
    argument. The module attribute `rt.arena_bytes` is the arena's size, and
    `rt.live_bytes` the most bytes alive at once.
  }];
  let options = [
    Option<"sharing", "sharing", "bool", "true",
           "Whether buffers may share memory, one after the other">,
    Option<"alignment", "alignment", "int64_t", "64",
           "Alignment of offsets, in bytes">
  ];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def DistPerturbRounding : Pass<"dist-perturb-rounding", "::mlir::ModuleOp"> {
  let summary = "Floating-point operations with random rounding errors";
  let description = [{
    A program that is run several times with other random errors shows which
    digits of its results rounding decides. Every result of an elementary
    operation that is not exact is multiplied by 1 + x before it is rounded, with
    x at random within two epsilons of its type. Exact operations stay as they
    are: comparisons, selections, minima, negation, and sums and products that
    need no rounding. Functions whose result is exact in all likelihood stay, too:
    whole numbers of whole numbers, powers of two.

    A step of a reduction is perturbed even if it is exact by chance, since it may
    not be exact in another order. It is not perturbed if it changes nothing, or
    if its value has few digits, as counts have. If its terms cancel, the
    perturbation is as large as the terms suggest.

    The random numbers are made from the loops' indices and a counter of calls.
    The program has two further symbols:

    - `dist_perturbation_counter` (i64): the seed.
    - `dist_perturbation_amplitude` (f64): with 0, the initial value, results have
      the bits that they have without this pass. With 1 they are perturbed.

    Programs with loops without a fixed number of iterations have two more:

    - `dist_perturbation_turns` (i64): the most iterations of such a loop while
      the amplitude was 0. Beyond that number, a perturbed loop draws the same
      numbers in every iteration. After four times as many iterations and 64 it is
      ended.
    - `dist_perturbation_stopped` (i64): 1 if a loop was ended like that.

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
