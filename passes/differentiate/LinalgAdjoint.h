//===- LinalgAdjoint.h - The adjoint of one linalg op -----------*- C++ -*-===//

#ifndef DIST_PASSES_DIFFERENTIATE_LINALGADJOINT_H
#define DIST_PASSES_DIFFERENTIATE_LINALGADJOINT_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/differentiate/Models.h"

namespace mlir::dist {

/// Whether a tensor is the widened elements of another.
bool isWidened(Value tensor);

/// An operand of the new body: a value of the program, and how loops index it.
struct Source {
  Value value;
  AffineMap map;
};

/// The adjoint of one op.
class LinalgAdjoint {
public:
  LinalgAdjoint(linalg::LinalgOp op, OpBuilder &b, Adjoints &adjoints)
      : op(op), b(b), adjoints(adjoints), loc(op.getLoc()) {}

  LogicalResult run();

private:
  /// A block argument of the body under construction that stands for `source`.
  Value addSource(Source source) {
    sources.push_back(source);
    return block.addArgument(getElementTypeOrSelf(source.value.getType()), loc);
  }

  /// Adds to the body.
  OpBuilder atEnd() {
    OpBuilder scalar(b.getContext()); // the block has no parent to ask
    scalar.setInsertionPointToEnd(&block);
    return scalar;
  }

  /// How a result is updated from its old value and `value`.
  struct Step {
    enum Kind {
      Other,
      Sum,     ///< plus `value`, if `condition` holds
      Extreme, ///< the larger, or the smaller
      First,   ///< the same, and its first position is found as well
      Replace, ///< `value`, if `condition` holds
      Product, ///< times `value`
    } kind = Other;
    Value value, condition;
  };
  Step findStep(OpResult result, Value yielded);
  BlockArgument getOut(OpResult result) {
    return block.getArgument(op.getNumDpsInputs() + result.getResultNumber());
  }
  AffineMap getMap(OpResult result) {
    return op.getMatchingIndexingMap(
        op.getDpsInitOperand(result.getResultNumber()));
  }
  LogicalResult seedResult(OpResult result, Value yielded);
  LogicalResult seedExtreme(OpResult result, Step step);
  LogicalResult seedReplaced(OpResult result, Step step);
  void seedProduct(OpResult result, Value factor);
  LogicalResult checkRanges();
  bool readsOuts(Value value);
  Value findPlace(Value condition, OpResult result, bool isLast);
  Value createLocation(OpBuilder &b);
  /// The ops of the body that compute `value`, in order, and the sources.
  void findSlice(Value value, SmallVectorImpl<Operation *> &ops,
                 llvm::SmallBitVector &used);
  Value reduce(Value scalar, AffineMap outMap, Value like, Type element,
               function_ref<Value(OpBuilder &, Value, Value)> combine,
               TypedAttr neutral);
  Value sumUp(Value scalar, AffineMap outMap, Value like, Type element);
  Value contract(Value scalar, AffineMap outMap, Value like, Type element);
  Value getNarrow(Value tensor);
  void contribute(OpOperand &operand, Value derivative);
  LogicalResult findReads();
  LogicalResult contributeRead(tensor::ExtractOp read);
  LogicalResult checkAccumulators();

  linalg::LinalgOp op;
  OpBuilder &b;
  Adjoints &adjoints;
  Location loc;
  /// The op's body with its derivative after it, in no op.
  Block block;
  SmallVector<Source> sources;
  SmallVector<unsigned> reductionLoops;
  /// Elements of tensors that vary which the body reads at computed positions.
  SmallVector<tensor::ExtractOp> reads;
  /// Original tensors, by their widened form.
  llvm::SmallDenseMap<Operation *, Value, 2> narrowed;
  /// The number of this iteration, if it was needed.
  Value here;
  Adjoints scalars;
};

} // namespace mlir::dist

#endif // DIST_PASSES_DIFFERENTIATE_LINALGADJOINT_H
