//===- Attention.h - Attention and its adjoint ------------------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_IR_ATTENTION_H
#define DIST_DIALECTS_DIST_IR_ATTENTION_H

#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

namespace mlir::dist {
/// Of an attention or its adjoint: the size of each dimension of its maps,
/// kDynamic where it is not known.
SmallVector<int64_t> getAttentionDimSizes(Operation *op);
/// f64 where queries are, f32 else.
FloatType getAttentionScoreType(Operation *op);

/// On a mesh, until rings are made: modules in which keys and values go round
/// (dist.ring), by their paths: {axes = [...], by = loc(...)}, and with
/// `seen = array<i1: ...>`, a row for each device's block of queries, which
/// blocks of keys these may look at.
inline constexpr llvm::StringLiteral kRingsAttr = "dist.rings";
} // namespace mlir::dist

#include "dialects/dist/IR/AttentionLikeOpInterface.h.inc"

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistAttention.h.inc"

#endif // DIST_DIALECTS_DIST_IR_ATTENTION_H
