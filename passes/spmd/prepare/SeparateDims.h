//===- SeparateDims.h - Merged dimensions taken apart -----------*- C++ -*-===//
//
// What --dist-separate-dims and its patterns share: which merged dimensions are
// being taken apart.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_PREPARE_SEPARATEDIMS_H
#define DIST_PASSES_SPMD_PREPARE_SEPARATEDIMS_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::dist {

/// Follows what is rewritten: new ops take the scope of the op that they are
/// in place of, and are backward as it is. Knows the collapses whose readers
/// are still to be rewritten, and the expansions of their other operands.
class Separation : public RewriterBase::Listener {
public:
  void add(tensor::CollapseShapeOp collapse) { collapses.insert(collapse); }
  bool contains(tensor::CollapseShapeOp collapse) const {
    return collapses.contains(collapse);
  }

  /// Whether `operand` of a linalg op, or of an expansion, may be replaced by
  /// what its dimensions are made of.
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

/// Whether of what `dist` writes on ops `op` has no more than every op may
/// have, and all sizes are known.
bool isPlain(Operation *op);

/// Reshapes of other dimensions than those that were merged, as a batch of 1
/// that comes and goes, are made before these are merged; what takes merged
/// dimensions apart as they were is none.
void populateSeparateReshapes(RewritePatternSet &patterns,
                              Separation &separation);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_PREPARE_SEPARATEDIMS_H
