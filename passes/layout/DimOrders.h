//===- DimOrders.h - Ops that work in any order of dimensions ---*- C++ -*-===//
//
// A carrier is an op that works in any order of dimensions, if the orders of
// its tensors are compatible: collectives, slices, concatenations, reshapes,
// elementwise ops on tensors. Linalg ops are not carriers: each of their
// operands may have an order of its own.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_LAYOUT_DIMORDERS_H
#define DIST_PASSES_LAYOUT_DIMORDERS_H

#include "dialects/dist/Utils/Packing.h"
#include <optional>

namespace mlir::dist {

/// Tensors of `op` whose orders must be compatible; empty if it is not a
/// carrier.
SmallVector<Value> getCarried(Operation *op);

/// The order of `to` that is compatible with the `order` of `from`, if there is
/// one. Both are tensors of `op`.
std::optional<DimOrder> carry(Operation *op, Value from,
                              ArrayRef<int64_t> order, Value to);

/// The type of a tensor that is stored in `order`.
RankedTensorType reorder(RankedTensorType type, ArrayRef<int64_t> order);

/// Rewrites the attributes of a carrier; `orderOf` gives the orders of its
/// tensors. The caller sets types.
void reorderCarrier(Operation *op,
                    llvm::function_ref<ArrayRef<int64_t>(Value)> orderOf);

} // namespace mlir::dist

#endif // DIST_PASSES_LAYOUT_DIMORDERS_H
