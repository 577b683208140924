//===- Passes.td - Communication beside computation --------*- tablegen -*-===//
//
// What decides, at level 4, when collectives start.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_OVERLAP_PASSES_TD
#define DIST_PASSES_OVERLAP_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistUnrollAxis : Pass<"dist-unroll-axis", "::mlir::ModuleOp"> {
  let summary = "An axis of the mesh becomes chunks in time: level 3";
  let description = [{
    What the devices along an axis do, one device does in turns, so that what one
    turn sends can be hidden behind what another computes. To cut a model into
    two chunks by batch, its schedule has an axis for them:

    ```mlir
    dist.mesh @m ["chunk" = 2, "tp" = 2]
    dist.schedule @tp on @m {
      dist.shard input "x" [{"chunk"}, {}, {} ]
      …
    ```
    and `--dist-spmd=turns=chunk --dist-unroll-axis=axis=chunk` makes of it a program
    for `["tp" = 2]`, whose arguments and results hold all chunks. What does not
    depend on the chunk is done once.

    Along the axis there may be all_gather, all_slice and axis_index, which need no
    communication then: a gather is a concatenation, which costs nothing where the
    parts are computed in their places. What is made of gathered values stands where it
    stood, between turns, and shares no kernel with them (`dist.fence`), so that
    kernels are those of the program without turns. Anything else is an error: what
    reduces over chunks would sum in another order than without them. Of sums
    `--dist-whole-sums`, which `turns=chunk` asks for, leaves none there.
  }];
  let dependentDialects = ["::mlir::dist::DistDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"axis", "axis", "std::string", "\"chunk\"", "The axis">
  ];
}

def DistSplitBatch : Pass<"dist-split-batch", "::mlir::ModuleOp"> {
  let summary = "The batch in turns: level 0 or 1 to 1";
  let description = [{
    The mesh gets an axis for turns, and inputs whose dimension 0 is that of the
    first one, the batch, are cut along it, within what devices have of it. Placed,
    partitioned and unrolled (`--dist-unroll-axis`), each device does its part of the
    batch in so many turns, of which one computes while what another sends travels.

    ```mlir
    dist.mesh @m ["tp" = 2]                       // before
    dist.mesh @m ["turn" = 2, "tp" = 2]           // after
    func.func @main(%x: tensor<4x256xi64> {dist.input = "x",
                      dist.sharding = #dist.sharding<@m, [{"turn", ?}, {?} ]>}, …
    ```
  }];
  let dependentDialects = ["::mlir::dist::DistDialect"];
  let options = [
    Option<"turns", "turns", "int64_t", "2", "How many">,
    Option<"axis", "axis", "std::string", "\"turn\"", "The axis's name">
  ];
}

def DistBucketReductions : Pass<"dist-bucket-reductions", "::mlir::ModuleOp"> {
  let summary = "Small reductions that are ready near one another are one call: level 3";
  let description = [{
    all_reduces of a block over the same axes, of the same kind and type, are done
    as one of their concatenation, where the last of them stands, if nothing
    between them needs their results: gradients of biases and norms, say. What is
    joined is small: by the machine's figures a call more must cost more than
    copying its data there and back, and a bucket is full where it takes four
    times what the smallest call does.

    Members' elements are added in the order of the ranks, whatever is beside them:
    so no bit changes. Calls of modules that `dist.overlap` speaks of stay as they
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
           "What it runs on: a name or a file, as of dist-report">,
    Option<"link", "link", "std::string", "",
           "As of --dist-schedule-overlap">,
    Option<"report", "report", "bool", "false",
           "Say of each block how many were joined, as a remark">
  ];
}

def DistChunkCollectives : Pass<"dist-chunk-collectives", "::mlir::ModuleOp"> {
  let summary = "Collectives in chunks, with the products beside them: level 3";
  let description = [{
    Collectives of modules that a schedule wants in chunks (`dist.overlap "h.*"
    chunks 2`) are done in parts of a dimension that they leave as it is: of those
    with most products beside them, the outermost. So are the ops that make what is
    sent and that nothing else reads, back to a product, and those that read what
    comes, up to a product (Wang et al. 2023, "Overlap Communication with Dependent
    Computation via Decomposition in Large Deep Learning Models").
    `--dist-schedule-overlap` then computes one part while another travels.

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
    No sum is taken in another order, as far as a library's products of fewer rows
    are the rows of its products of more (docs/overlap.md). A module without such a
    collective is an error, at the directive.
  }];
  let dependentDialects = ["::mlir::dist::DistDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def DistRotateLoops : Pass<"dist-rotate-loops", "::mlir::ModuleOp"> {
  let summary = "Loops send a turn ahead what hangs on nothing they carry: level 3";
  let description = [{
    A turn's first collectives have nothing to travel beside where what is computed
    needs them. Those that hang on nothing that the loop carries (the parameters of
    layer i, stored in parts) are sent in the turn before, those of the first turn
    before the loop; the last turn comes behind it. As many are sent as before.

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
    and `--dist-schedule-overlap` has `%n` travel beside the product. For how many of
    a turn's collectives that is done, the first, twice as many, and so on to all, is
    simulated with the orders of that pass; a loop stays as it is unless all its turns
    are faster by the margin and a turn needs no more memory than allowed, what is
    kept from turn to turn and copied included. Loops of unknown counts stay as they
    are.
  }];
  let dependentDialects = ["::mlir::dist::DistDialect",
                           "::mlir::arith::ArithDialect"];
  let options = [
    Option<"machineName", "machine", "std::string", "",
           "What it runs on: a name or a file, as of dist-report">,
    Option<"link", "link", "std::string", "",
           "As of --dist-schedule-overlap">,
    Option<"margin", "margin", "double", "0.02",
           "By how much a loop must be faster">,
    Option<"memory", "memory", "double", "1.1",
           "How many times the memory of a turn as given may be needed">,
    Option<"report", "report", "bool", "false",
           "Say of each loop what was foreseen and done, as a remark">
  ];
}

def DistScheduleOverlap : Pass<"dist-schedule-overlap", "::mlir::ModuleOp"> {
  let summary = "Collectives run beside computation: level 3 to 4";
  let description = [{
    Orders the ops of each block so that collectives start as soon as their
    operand is there, and computation that does not need them goes on meanwhile.
    What then runs beside computation gets `dist.stream`. Nothing is computed
    otherwise than before.

    Orders are found by list scheduling: collectives start as soon as their operand
    is there, with at most so many started and not yet used; of the ops whose
    operands are there, computed is the next one in the order given, or what is
    the least computation before a collective, so that links get work soon, or
    what starts the longest path to the end. Each order is
    simulated on a machine (docs/machines.md) with one link an axis of the mesh, and
    the program stays as it is unless one is faster by the margin and needs no
    more memory than allowed.

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
           "What it runs on: a name or a file, as of dist-report">,
    Option<"link", "link", "std::string", "",
           "In place of the machine's links one along each axis of the mesh, as in {latency=20us,bandwidth=1GB/s}">,
    Option<"margin", "margin", "double", "0.02",
           "By how much an order must be faster">,
    Option<"memory", "memory", "double", "1.1",
           "How many times the memory of the order given may be needed">,
    Option<"report", "report", "bool", "false",
           "Say of each block what was foreseen and done, as a remark">
  ];
}

#endif // DIST_PASSES_OVERLAP_PASSES_TD
