//===- WholeValues.h - Values before they became local ----------*- C++ -*-===//

#ifndef DIST_PASSES_SPMD_RESHARD_WHOLEVALUES_H
#define DIST_PASSES_SPMD_RESHARD_WHOLEVALUES_H

#include "dialects/dist/IR/Dist.h"

namespace mlir::dist {

/// The value of which this one is the local part.
struct Whole {
  RankedTensorType type;
  ShardingAttr sharding;
};

using WholeValues = llvm::DenseMap<Value, Whole>;

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_RESHARD_WHOLEVALUES_H
