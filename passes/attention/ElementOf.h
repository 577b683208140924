//===- ElementOf.h - What an element of a tensor is made of -----*- C++ -*-===//
//
// One element of a tensor as scalars: the bodies of the elementwise ops that it
// is computed by, put together, down to elements of tensors that are not.
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

/// Elements at places that hang on some dimensions. Scalars that are computed
/// alike of the same are one value, also where a tensor is computed again.
class ElementsOf {
public:
  /// An element of a tensor that nothing elementwise has made.
  struct Leaf {
    Value tensor;
    /// From the dimensions to its place; dimensions and zeros.
    AffineMap map;
  };

  /// With `mergesUnits` places along dimensions of one element do not tell
  /// elements apart.
  ElementsOf(MLIRContext *context, unsigned numDims, bool mergesUnits = false);

  /// The element of `tensor` at `map`, whose results are dimensions and zeros.
  Value get(Value tensor, AffineMap map);

  /// What a reduction adds to its result, or compares with it, at `loops`:
  /// `term` of its body. Null if that is not of scalars.
  Value getTerm(linalg::LinalgOp op, ArrayRef<AffineExpr> loops, Value term);
  /// What a sum adds to its result at `loops`, which is 0 where a condition
  /// leaves it out. Null if the op is no sum of scalars.
  Value getAdded(linalg::LinalgOp op, ArrayRef<AffineExpr> loops);

  /// The leaf that a value of get() is; null if it is none.
  const Leaf *getLeaf(Value scalar) const;
  /// Where the leaf of this tensor is, if there is just one.
  std::optional<AffineMap> findLeaf(Value tensor) const;
  unsigned getNumDims() const { return numDims; }
  /// The index of a dimension, which elements may be made of.
  Value getIndex(unsigned dim) { return block.getArgument(dim); }
  /// The ops that were looked through.
  ArrayRef<Operation *> getOps() const { return ops; }

private:
  Value build(Value tensor, AffineMap map);
  Value buildElementwise(linalg::LinalgOp op, unsigned result, AffineMap map);
  /// The op, which was just made; or one that is there and computes the same,
  /// in its place.
  Operation *unify(Operation *op);
  IRMapping cloneBody(linalg::LinalgOp op, ArrayRef<AffineExpr> loops,
                      ArrayRef<Operation *> except = {});

  unsigned numDims;
  bool mergesUnits;
  Block block;
  OpBuilder b;
  DenseMap<std::pair<Value, AffineMap>, Value> known;
  DenseMap<Value, Leaf> leaves;
  /// Of each leaf, what those that are the same have in common.
  DenseMap<Value, size_t> sketches;
  SmallVector<Operation *> ops;
  DenseSet<Operation *, ByComputation> scalarOps;
};

/// What a value is, without the barriers that computing it again stands behind
/// (--dist-recompute), and the wishes where it is to lie (dist.follow).
Value stripBarriers(Value value);
/// Whether a use only says where another value is to lie.
bool isLeader(OpOperand &use);

/// Whether two values are one, or computed alike of the same values: what
/// backward reads of forward may be computed again. Not where that takes more
/// than a few ops to tell.
bool isSame(Value a, Value b);

/// The map with the place of an element before a reshape that only adds or
/// drops dimensions of size 1, given that of it after; null for others.
AffineMap mapThroughUnitReshape(Operation *reshape, AffineMap map);

} // namespace mlir::dist

#endif // DIST_PASSES_ATTENTION_ELEMENTOF_H
