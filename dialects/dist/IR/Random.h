//===- Random.h - Random numbers and their streams --------------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_IR_RANDOM_H
#define DIST_DIALECTS_DIST_IR_RANDOM_H

#include "dialects/dist/IR/Schedule.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistRandom.h.inc"

namespace mlir::dist {

/// The entry of one operator.
DictionaryAttr getRandomStreams(int64_t number, ArrayRef<AxisRefAttr> axes,
                                ShardingAttr sharding, ArrayRef<int64_t> sizes);

/// Checks kRandomStreamsAttr.

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_RANDOM_H
