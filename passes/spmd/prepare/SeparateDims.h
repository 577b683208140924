//===- SeparateDims.h - Takes merged dimensions apart -----------*- C++ -*-===//
//
// Shared by --dist-separate-dims and its patterns: which merged dimensions are
// being taken apart.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_PREPARE_SEPARATEDIMS_H
#define DIST_PASSES_SPMD_PREPARE_SEPARATEDIMS_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::dist {

/// Tracks rewrites. New ops get the scope of the op that they replace, and are
/// backward if it is. Knows the collapses whose readers are still to be
/// rewritten, and the expansions of their other operands.
class Separation : public RewriterBase::Listener {
public:
  void add(tensor::CollapseShapeOp collapse) { collapses.insert(collapse); }
  bool contains(tensor::CollapseShapeOp collapse) const {
    return collapses.contains(collapse);
  }

  /// Whether `operand` of a linalg op, or of an expansion, may be replaced by a
  /// tensor with separate dimensions.
  bool mayExpand(OpOperand *operand) const;

  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    inserted.push_back(op);
  }
  void notifyOperationReplaced(Operation *op, ValueRange values) override;
  void notifyOperationErased(Operation *op) override {
    collapses.erase(op);
    expansions.erase(op);
    llvm::erase(inserted, op);
  }

private:
  llvm::SmallDenseSet<Operation *> collapses, expansions;
  SmallVector<Operation *> inserted;
};

/// Whether `op` has only those `dist` attributes that every op may have, and
/// all sizes are known.
bool isPlain(Operation *op);

/// Moves reshapes of other dimensions, such as a batch of 1 that comes and
/// goes, before the merge. An expansion that splits the merged dimensions as
/// they were is not moved.
void populateSeparateReshapes(RewritePatternSet &patterns,
                              Separation &separation);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_PREPARE_SEPARATEDIMS_H
