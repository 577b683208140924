//===- Passes.td - Collectives in flight -------------------*- tablegen -*-===//

#ifndef DIST_LOWERING_STREAMS_PASSES_TD
#define DIST_LOWERING_STREAMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistVerifySchedule : Pass<"dist-verify-schedule", "::mlir::ModuleOp"> {
  let summary = "Operands and results of running collectives are not touched: levels 4 and 5";
  let description = [{
    Checks these for each collective, between its start and its wait:

    - All started collectives of a communicator run on one stream. No collective
      of that communicator runs without a stream meanwhile. So all members of a
      group issue its calls in one order.
    - On buffers, nothing writes the operand's memory, and nothing reads or writes
      the result's. After memory is planned, memory means bytes of the arena. So
      the plan is checked, too.

    An op for which that cannot be shown is an error, with the start as a note.
    The pass changes nothing. The lowering runs it after memory is planned.
  }];
}

#endif // DIST_LOWERING_STREAMS_PASSES_TD
