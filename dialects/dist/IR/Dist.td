//===- Dist.td - The dialect, as its reference lists it ----*- tablegen -*-===//

#ifndef DIST_IR_DIST_TD
#define DIST_IR_DIST_TD

include "dialects/dist/IR/DistCollectives.td"
include "dialects/dist/IR/DistOps.td"
include "dialects/dist/IR/DistSchedule.td"

#endif // DIST_IR_DIST_TD
