//===- Overlap.h - Ops for communication beside computation -----*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_IR_OVERLAP_H
#define DIST_DIALECTS_DIST_IR_OVERLAP_H

#include "dialects/dist/IR/Schedule.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistOverlap.h.inc"

#endif // DIST_DIALECTS_DIST_IR_OVERLAP_H
