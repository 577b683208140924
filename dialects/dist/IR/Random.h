//===- Random.h - Random numbers and their streams --------------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_IR_RANDOM_H
#define DIST_DIALECTS_DIST_IR_RANDOM_H

#include "dialects/dist/IR/Dist.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistRandom.h.inc"

namespace mlir::dist {

/// On a mesh, after partitioning: an array with an entry for each operator that
/// draws from streams, {axes = […], number = 3, sharding = #dist.sharding<…>,
/// sizes = array<…>}. Streams are numbered by the placement, along the axes, of
/// the tensor that the operator draws.
inline constexpr llvm::StringLiteral kRandomStreamsAttr = "dist.random_streams";

/// The entry of one operator.
DictionaryAttr getRandomStreams(int64_t number, ArrayRef<AxisRefAttr> axes,
                                ShardingAttr sharding, ArrayRef<int64_t> sizes);

/// Checks kRandomStreamsAttr.
LogicalResult verifyRandomStreamsAttr(Operation *op, Attribute attr);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_RANDOM_H
