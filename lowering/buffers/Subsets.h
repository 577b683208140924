//===- Subsets.h - Parts of tensors, taken out and put back -----*- C++ -*-===//
//
// Which values are computed in a part of another tensor, and which op puts them
// back where they were taken from.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BUFFERS_SUBSETS_H
#define DIST_LOWERING_BUFFERS_SUBSETS_H

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Interfaces/SubsetOpInterface.h"

namespace mlir::dist {

/// Filled with one call an op, in the order of the program.
class SubsetTrace {
public:
  void trace(Operation *op, const bufferization::AnalysisState &state);

  /// What `insertion` puts back: the extraction of the same part of the same
  /// tensor that its source was computed in, or null.
  Value getExtractionPutBack(SubsetInsertionOpInterface insertion) const;

  /// The op that inserts the part `inner` lies in, or a part around it, into
  /// `container`, from which it was taken; or null.
  Operation *findInsertion(Value inner, Value container) const;

  /// Whether `value` lies in a part of a tensor that has nothing in common with
  /// the part that is written through `operand`.
  bool areDisjoint(Value value, OpOperand &operand,
                   function_ref<bool(Value, Value)> areEquivalent) const;

private:
  /// The extraction of a subset that a value was computed in, if it was.
  DenseMap<Value, SubsetExtractionOpInterface> origins;
  /// What puts a value back where the extraction took it from.
  DenseMap<Operation *, Operation *> insertions;
};

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_SUBSETS_H
