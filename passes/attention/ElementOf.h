//===- ElementOf.h - The expression of one element --------------*- C++ -*-===//
//
// One element of a tensor as a scalar expression: the bodies of the elementwise
// ops that compute it, composed, down to elements of other tensors.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_ATTENTION_ELEMENTOF_H
#define DIST_PASSES_ATTENTION_ELEMENTOF_H

#include "dialects/dist/Utils/ByComputation.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::dist {

/// Elements at positions that depend on some dimensions. Equal computations of
/// the same values are one value, also if a tensor is recomputed.
class ElementsOf {
public:
  /// An element of a tensor that no elementwise op computes.
  struct Leaf {
    Value tensor;
    /// From the dimensions to its position; dimensions and zeros.
    AffineMap map;
  };

  /// With `mergesUnits`, positions along dimensions of one element do not
  /// distinguish elements.
  ElementsOf(MLIRContext *context, unsigned numDims, bool mergesUnits = false);

  /// The element of `tensor` at `map`, whose results are dimensions and zeros.
  Value get(Value tensor, AffineMap map);

  /// The value that a reduction adds to its result, or compares with it, at
  /// `loops`: `term` of its body. Null if it is not computed from scalars.
  Value getTerm(linalg::LinalgOp op, ArrayRef<AffineExpr> loops, Value term);
  /// The value that a sum adds to its result at `loops`, or 0 if a condition
  /// excludes it. Null if the op is not a sum of scalars.
  Value getAdded(linalg::LinalgOp op, ArrayRef<AffineExpr> loops);

  /// The leaf of a value that get() returned; null if it is not a leaf.
  const Leaf *getLeaf(Value scalar) const;
  const DenseMap<Value, Leaf> &getLeaves() const { return leaves; }
  /// The position of the leaf of this tensor, if there is just one.
  std::optional<AffineMap> findLeaf(Value tensor) const;
  unsigned getNumDims() const { return numDims; }
  /// The index of a dimension, which elements may depend on.
  Value getIndex(unsigned dim) { return block.getArgument(dim); }
  /// The ops that were looked through.
  ArrayRef<Operation *> getOps() const { return ops; }

private:
  Value build(Value tensor, AffineMap map);
  Value buildElementwise(linalg::LinalgOp op, unsigned result, AffineMap map);
  /// The op, which was just created; or an existing op that computes the same,
  /// which replaces it.
  Operation *unify(Operation *op);
  IRMapping cloneBody(linalg::LinalgOp op, ArrayRef<AffineExpr> loops,
                      ArrayRef<Operation *> except = {});

  unsigned numDims;
  bool mergesUnits;
  Block block;
  OpBuilder b;
  DenseMap<std::pair<Value, AffineMap>, Value> known;
  DenseMap<Value, Leaf> leaves;
  /// For each leaf, a key that equal leaves share.
  DenseMap<Value, size_t> sketches;
  SmallVector<Operation *> ops;
  DenseSet<Operation *, ByComputation> scalarOps;
};

/// A value without the barriers of recomputation (--dist-recompute), and
/// without placement preferences (dist.follow).
Value stripBarriers(Value value);
/// Whether a use only states the placement of another value.
bool isLeader(OpOperand &use);

/// Whether the scalars that an element of the tensor is made of may be results
/// of `OpTy`: a look at the ops, before their expression is made.
template <typename OpTy> bool mayBeMadeOf(Value tensor) {
  return mayBeMadeOf(tensor, [](Operation *op) { return isa<OpTy>(op); });
}
bool mayBeMadeOf(Value tensor, function_ref<bool(Operation *)> isWanted);

/// Whether two values are one, or equal computations of the same values, since
/// backward may recompute values of forward. False if more than a few ops must
/// be compared.
bool isSame(Value a, Value b);

/// The map of an element's position before a reshape that only adds or drops
/// dimensions of size 1, from its position after it; null for other reshapes.
AffineMap mapThroughUnitReshape(Operation *reshape, AffineMap map);

} // namespace mlir::dist

#endif // DIST_PASSES_ATTENTION_ELEMENTOF_H
