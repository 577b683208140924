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
    and `--dist-spmd --dist-unroll-axis=axis=chunk` makes of it a program for
    `["tp" = 2]`, whose arguments and results hold all chunks. What does not
    depend on the chunk is done once.

    Along the axis there may be all_gather, all_slice and axis_index, which need no
    communication then. Anything else is an error: what reduces over chunks would
    sum in another order than without them.
  }];
  let dependentDialects = ["::mlir::dist::DistDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"axis", "axis", "std::string", "\"chunk\"", "The axis">
  ];
}

def DistScheduleOverlap : Pass<"dist-schedule-overlap", "::mlir::ModuleOp"> {
  let summary = "Collectives run beside computation: level 3 to 4";
  let description = [{
    Orders the ops of each block so that collectives start as soon as their
    operand is there, and computation that does not need them goes on meanwhile.
    What then runs beside computation gets `dist.stream`. Nothing is computed
    otherwise than before.

    Orders are found by list scheduling: of the ops whose operands are there, the
    next one in the order given is computed, so that neighbours stay together; of
    the collectives, at most so many are started and not yet used. Each order is
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
