//===- Passes.td - Communication beside computation --------*- tablegen -*-===//
//
// Passes from level 3 to 4: they decide when collectives start.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_OVERLAP_PASSES_TD
#define DIST_PASSES_OVERLAP_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistUnrollAxis : Pass<"dist-unroll-axis", "::mlir::ModuleOp"> {
  let summary = "An axis of the mesh becomes turns in time: level 3";
  let description = [{
    Needs a program of level 3 whose schedule has an axis for turns, and that
    `--dist-spmd=turns=AXIS` made. Each device does the work of all devices along
    the axis, one turn after the other. What one turn sends can then travel while
    another turn computes. Example: two turns that split the batch.

    ```mlir
    dist.mesh @m ["chunk" = 2, "tp" = 2]
    dist.schedule @tp on @m {
      dist.shard input "x" [{"chunk"}, {}, {} ]
      …
    ```
    `--dist-spmd=turns=chunk --dist-unroll-axis=axis=chunk` makes a program for
    `["tp" = 2]`, whose arguments and results hold the data of both turns. What
    does not depend on the turn is done once.

    Along the axis there may be all_gather, all_slice and axis_index, which then
    need no communication. A gather becomes a concatenation, which costs nothing
    if the parts are computed in place. What is computed from gathered values
    stays where it was, between turns. `dist.fence` keeps it in kernels of its
    own, so that kernels are those of the program without turns.

    Other collectives along the axis are an error: a reduction would add in
    another order than without turns. `--dist-whole-sums`, a part of `turns=AXIS`,
    removes these.
  }];
  let dependentDialects = ["::mlir::dist::DistDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"axis", "axis", "std::string", "\"chunk\"", "The axis of the turns">
  ];
}

def DistSplitBatch : Pass<"dist-split-batch", "::mlir::ModuleOp"> {
  let summary = "Adds an axis for turns that shards the batch: level 0 or 1 to 1";
  let description = [{
    The mesh gets an axis for turns. Dimension 0 of the first input is the batch.
    Inputs with the same dimension 0 are sharded over the new axis, within the
    part that a device has. After placement, partitioning and
    `--dist-unroll-axis`, each device does its part of the batch in turns. What
    one turn sends travels while another computes.

    ```mlir
    dist.mesh @m ["tp" = 2]                       // before
    dist.mesh @m ["turn" = 2, "tp" = 2]           // after
    func.func @main(%x: tensor<4x256xi64> {dist.input = "x",
                      dist.sharding = #dist.sharding<@m, [{"turn", ?}, {?} ]>}, …
    ```
  }];
  let dependentDialects = ["::mlir::dist::DistDialect"];
  let options = [
    Option<"turns", "turns", "int64_t", "2", "Number of turns">,
    Option<"axis", "axis", "std::string", "\"turn\"", "Name of the new axis">
  ];
}

def DistBucketReductions : Pass<"dist-bucket-reductions", "::mlir::ModuleOp"> {
  let summary = "Joins small all_reduces that are ready near one another: level 3";
  let description = [{
    Needs a program of level 3. all_reduces of one block become one call if they
    have the same axes, kind and type, and nothing between them needs their
    results. Example: the gradients of biases and norms. The call works on the
    concatenation of their operands, and stands where the last of them stood.

    Only small operands are joined: by the machine's figures, one more call must
    cost more than copying the data there and back. A bucket is full when it takes
    four times as long as the smallest call.

    Elements are added in the order of the ranks, whatever is beside them, so no
    bit changes. Calls of modules with a `dist.overlap` directive stay as they
    are.

    ```mlir
    %0 = dist.all_reduce %a sum over "dp" : tensor<64xf32>
    %1 = dist.all_reduce %b sum over "dp" : tensor<8x4xf32>
    ```
    becomes
    ```mlir
    %f = tensor.collapse_shape %b [[0, 1]] : tensor<8x4xf32> into tensor<32xf32>
    %c = tensor.concat dim(0) %a, %f : …
    %s = dist.all_reduce %c sum over "dp" : tensor<96xf32>
    %0 = tensor.extract_slice %s[0] [64] [1] : …
    …
    ```
  }];
  let dependentDialects = ["::mlir::dist::DistDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"machineName", "machine", "std::string", "",
           "The machine: a name or a file, as in dist-report">,
    Option<"link", "link", "std::string", "",
           "As in --dist-schedule-overlap">,
    Option<"report", "report", "bool", "false",
           "Report how many were joined in each block, as a remark">
  ];
}

def DistChunkCollectives : Pass<"dist-chunk-collectives", "::mlir::ModuleOp"> {
  let summary = "Splits collectives, and the products beside them, into chunks: level 3";
  let description = [{
    Needs a program of level 3 whose mesh op notes the directives `dist.overlap
    "h.*" chunks 2`. The collectives of these modules are split along a dimension
    that they leave as it is. If there are several, the one with the most products
    beside the collective is taken, then the outermost.

    The ops around a collective are split too. Backwards these are the ops that
    compute what is sent and that nothing else reads, up to a product. Forwards
    they are the ops that read what is received, up to a product (Wang et al.
    2023, "Overlap Communication with Dependent Computation via Decomposition in
    Large Deep Learning Models"). `--dist-schedule-overlap` then computes one
    chunk while another travels.

    ```mlir
    %y = linalg.contract … ins(%a, %w : tensor<4x16x64xf32>, …) …
    %z = dist.all_reduce %y sum over "tp" : tensor<4x16x32xf32>
    ```
    becomes
    ```mlir
    %y0 = linalg.contract … ins(%a0, %w : tensor<2x16x64xf32>, …) …
    %y1 = linalg.contract … ins(%a1, %w : tensor<2x16x64xf32>, …) …
    %z0 = dist.all_reduce %y0 sum over "tp" : tensor<2x16x32xf32>
    %z1 = dist.all_reduce %y1 sum over "tp" : tensor<2x16x32xf32>
    %z = tensor.concat dim(0) %z0, %z1 : …
    ```
    No sum is added in another order, as long as a library computes a row of a
    product in the same way for any number of rows (docs/internals/overlap.md). A module
    without such a collective is an error, at the directive.
  }];
  let dependentDialects = ["::mlir::dist::DistDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def DistRotateLoops : Pass<"dist-rotate-loops", "::mlir::ModuleOp"> {
  let summary = "Loops prefetch collectives that need no loop-carried value: level 3";
  let description = [{
    Needs a program of level 3. In a loop, the first collectives of an iteration
    have nothing to travel beside, because the computation needs their results at
    once. Some do not depend on loop-carried values: those of the parameters of
    layer i, which are stored sharded. The pass issues them one iteration early.
    Those of the first iteration stand before the loop, and the last iteration
    follows the loop. The number of collectives stays the same.

    ```mlir
    %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%x = %x0) -> tensor<256x512xf32> {
      %s = tensor.extract_slice %w[%i, 0, 0] [1, 256, 512] [1, 1, 1] : …
      %g = dist.all_gather %s dim 0 over "dp" : …
      %y = linalg.matmul ins(%x, %g : …) …
      scf.yield %y : tensor<256x512xf32>
    }
    ```
    becomes
    ```mlir
    %s0 = tensor.extract_slice %w[0, 0, 0] [1, 256, 512] [1, 1, 1] : …
    %g0 = dist.all_gather %s0 dim 0 over "dp" : …
    %r7:2 = scf.for %i = %c0 to %c7 step %c1 iter_args(%x = %x0, %g = %g0) -> … {
      %s = tensor.extract_slice %w[%i + 1, 0, 0] [1, 256, 512] [1, 1, 1] : …
      %n = dist.all_gather %s dim 0 over "dp" : …
      %y = linalg.matmul ins(%x, %g : …) …
      scf.yield %y, %n : tensor<256x512xf32>, tensor<512x512xf32>
    }
    %r = linalg.matmul ins(%r7#0, %r7#1 : …) …
    ```
    `--dist-schedule-overlap` then lets `%n` travel beside the product.

    The pass tries to move the first collective, the first two, four, …, up to
    all, and simulates each with the orders of that pass. The loop stays as it is
    unless all its iterations are faster by `margin`, and an iteration needs at
    most `memory` times the memory. That memory includes values that are carried
    and copied. Loops with unknown counts stay as they are.
  }];
  let dependentDialects = ["::mlir::dist::DistDialect",
                           "::mlir::arith::ArithDialect"];
  let options = [
    Option<"machineName", "machine", "std::string", "",
           "The machine: a name or a file, as in dist-report">,
    Option<"link", "link", "std::string", "",
           "As in --dist-schedule-overlap">,
    Option<"margin", "margin", "double", "0.02",
           "By how much a loop must be faster">,
    Option<"memory", "memory", "double", "1.1",
           "The most memory of an iteration, as a multiple of the original's">,
    Option<"report", "report", "bool", "false",
           "Report each loop's estimate and what was done, as a remark">
  ];
}

def DistScheduleOverlap : Pass<"dist-schedule-overlap", "::mlir::ModuleOp"> {
  let summary = "Collectives run beside computation: level 3 to 4";
  let description = [{
    Needs a program of level 3. Orders the ops of each block so that collectives
    start as soon as their operand is available, and computation that does not
    need them goes on meanwhile. Leaves a program of level 4: collectives that run
    beside computation have `dist.stream`. No result changes.

    The pass tries several orders, all found by list scheduling. Collectives start
    as soon as their operand is available, with a limit on the number that is
    started and not yet used. The orders differ in which of the available ops is
    computed next:

    - the next one in the original order;
    - the one with the least computation before a collective, so that links get
      work soon;
    - the one that starts the longest path to the end.

    Each order is simulated on a machine (docs/internals/machines.md) with one
    link for each axis of the mesh. The program stays as it is unless an order is
    faster by `margin`, and needs at most `memory` times the memory.

    ```mlir
    %0 = dist.all_gather %w0 dim 0 over "dp" : …
    %1 = linalg.contract … ins(%x, %0) …
    %2 = dist.all_gather %w1 dim 0 over "dp" : …
    %3 = linalg.contract … ins(%1, %2) …
    ```
    becomes
    ```mlir
    %0 = dist.all_gather %w0 dim 0 over "dp" : …
    %2 = dist.all_gather %w1 dim 0 over "dp" {dist.stream = 1 : i32} : …
    %1 = linalg.contract … ins(%x, %0) …
    %3 = linalg.contract … ins(%1, %2) …
    ```
  }];
  let dependentDialects = ["::mlir::dist::DistDialect"];
  let options = [
    Option<"machineName", "machine", "std::string", "",
           "The machine: a name or a file, as in dist-report">,
    Option<"link", "link", "std::string", "",
           "One link along each axis of the mesh, instead of the machine's: {latency=20us,bandwidth=1GB/s}">,
    Option<"margin", "margin", "double", "0.02",
           "By how much an order must be faster">,
    Option<"memory", "memory", "double", "1.1",
           "The most memory, as a multiple of the original order's">,
    Option<"report", "report", "bool", "false",
           "Report each block's estimate and what was done, as a remark">
  ];
}

#endif // DIST_PASSES_OVERLAP_PASSES_TD
