//===- DimOrders.h - Ops that work in any order of dimensions ---*- C++ -*-===//
//
// A carrier is an op that does the same whatever order its tensors are stored
// in, if all are stored in orders that go together: collectives, slices,
// concatenations, reshapes, elementwise ops on tensors. Ops of linalg are none:
// each of their operands may be stored in an order of its own.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_LAYOUT_DIMORDERS_H
#define DIST_PASSES_LAYOUT_DIMORDERS_H

#include "dialects/dist/IR/Packing.h"
#include <optional>

namespace mlir::dist {

/// Tensors of `op` whose orders must go together; none if it is no carrier.
SmallVector<Value> getCarried(Operation *op);

/// The order of `to` that goes together with the `order` of `from`, if there is
/// one; both are carried by `op`.
std::optional<DimOrder> carry(Operation *op, Value from,
                              ArrayRef<int64_t> order, Value to);

/// The type of a tensor that is stored in `order`.
RankedTensorType reorder(RankedTensorType type, ArrayRef<int64_t> order);

/// Rewrites the attributes of a carrier; `orderOf` has the orders of all that
/// it carries. Types are set by who calls.
void reorderCarrier(Operation *op,
                    llvm::function_ref<ArrayRef<int64_t>(Value)> orderOf);

} // namespace mlir::dist

#endif // DIST_PASSES_LAYOUT_DIMORDERS_H
