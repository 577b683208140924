//===- Attention.h - The op of attention ------------------------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_IR_ATTENTION_H
#define DIST_DIALECTS_DIST_IR_ATTENTION_H

#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistAttention.h.inc"

#endif // DIST_DIALECTS_DIST_IR_ATTENTION_H
