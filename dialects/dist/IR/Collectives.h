//===- Collectives.h - Ops that communicate ---------------------*- C++ -*-===//
//
// Level 3: collectives on local tensors. Described in DistCollectives.td.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_IR_COLLECTIVES_H
#define DIST_DIALECTS_DIST_IR_COLLECTIVES_H

#include "dialects/dist/IR/Dist.h"

#include "dialects/dist/IR/CollectiveOpInterface.h.inc"
#define GET_OP_CLASSES
#include "dialects/dist/IR/DistCollectives.h.inc"

#endif // DIST_DIALECTS_DIST_IR_COLLECTIVES_H
