//===- Passes.td - Collectives in flight -------------------*- tablegen -*-===//

#ifndef DIST_LOWERING_STREAMS_PASSES_TD
#define DIST_LOWERING_STREAMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistVerifySchedule : Pass<"dist-verify-schedule", "::mlir::ModuleOp"> {
  let summary = "What is in flight is left alone: levels 4 and 5";
  let description = [{
    Of each collective between its start and its wait:
    - all collectives of a communicator that are started run on one stream, and
      none on it runs without a stream meanwhile, so that all members of a group
      make its calls in one order;
    - of buffers: nothing writes where the operand lies, and nothing reads or
      writes where the result will. Once memory is planned, places are bytes of
      the arena; so this holds of the plan, too.

    What cannot be shown is an error at the op, with the start as a note. Changes
    nothing. Runs in the lowering after memory is planned.
  }];
}

#endif // DIST_LOWERING_STREAMS_PASSES_TD
