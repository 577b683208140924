//===- DeadOps.cpp - Erasing what nobody reads ----------------------------===//

#include "dialects/dist/Utils/DeadOps.h"
#include "dialects/dist/Utils/Reads.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dist;

DenseSet<Operation *>
mlir::dist::eraseDead(ArrayRef<Operation *> ops,
                      function_ref<bool(Operation *)> isDead,
                      function_ref<void(Operation *)> beforeErasing) {
  DenseSet<Operation *> erased;
  llvm::SmallSetVector<Operation *, 16> pending(ops.begin(), ops.end());
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (!isDead(op))
      continue;
    visitReads(op, [&](OpOperand &operand) {
      if (Operation *maker = operand.get().getDefiningOp())
        pending.insert(maker);
    });
    if (beforeErasing)
      beforeErasing(op);
    erased.insert(op);
    op->erase();
  }
  return erased;
}
