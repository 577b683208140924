//===- Subsets.h - Slices that are taken and put back -----------*- C++ -*-===//
//
// Which values are computed in a slice of another tensor, and which op inserts
// them where they were taken from.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUFFERS_SUBSETS_H
#define DIST_LOWERING_BUFFERS_SUBSETS_H

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Interfaces/SubsetOpInterface.h"

namespace mlir::dist {

/// To be filled with one call for each op, in program order.
class SubsetTrace {
public:
  void trace(Operation *op, const bufferization::AnalysisState &state);

  /// The extraction of the slice that `insertion` puts back into the same
  /// tensor; null if there is no such extraction.
  Value getExtractionPutBack(SubsetInsertionOpInterface insertion) const;

  /// The op that inserts the slice of `inner`, or a slice around it, into
  /// `container`, from which it was taken; or null.
  Operation *findInsertion(Value inner, Value container) const;

  /// Whether `value` is in a slice of a tensor that is disjoint from the slice
  /// that is written through `operand`.
  bool areDisjoint(Value value, OpOperand &operand,
                   function_ref<bool(Value, Value)> areEquivalent) const;

private:
  /// The extraction of the slice that a value was computed in, if any.
  DenseMap<Value, SubsetExtractionOpInterface> origins;
  /// The op that inserts a value where the extraction took it from.
  DenseMap<Operation *, Operation *> insertions;
};

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_SUBSETS_H
