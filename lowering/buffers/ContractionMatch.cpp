//===- ContractionMatch.cpp - Contractions among linalg ops ---------------===//

#include "lowering/buffers/ContractionMatch.h"

using namespace mlir;
using namespace mlir::dist;

FailureOr<SmallVector<LoopKind>>
mlir::dist::matchContraction(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      op->getNumRegions() != 1 || !isMultiplyAdd(*op.getBlock()))
    return failure();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<LoopKind> kinds;
  for (const AffineMap &map : maps)
    if (!map.isProjectedPermutation())
      return failure();
  for (unsigned loop = 0, end = op.getNumLoops(); loop < end; ++loop) {
    bool a = maps[0].isFunctionOfDim(loop), b = maps[1].isFunctionOfDim(loop),
         c = maps[2].isFunctionOfDim(loop);
    if (a && b && c)
      kinds.push_back(LoopKind::Batch);
    else if (a && c)
      kinds.push_back(LoopKind::M);
    else if (b && c)
      kinds.push_back(LoopKind::N);
    else if (a && b)
      kinds.push_back(LoopKind::K);
    else
      return failure();
  }
  // Without a sum it is an elementwise product, and fuses better as such.
  if (!llvm::is_contained(kinds, LoopKind::K))
    return failure();
  return kinds;
}
