//===- MoveCost.h - What it costs to move a tensor --------------*- C++ -*-===//

#ifndef DIST_PASSES_SPMD_GRAPH_MOVECOST_H
#define DIST_PASSES_SPMD_GRAPH_MOVECOST_H

#include "dialects/dist/Interfaces/Placement.h"

namespace mlir::dist {

/// Bytes sent, in the limit of many devices, so that choices do not depend on
/// their number where it divides the dimensions of `type`; else the padding is
/// sent, too. Gathers and scatters send the tensor of `bytes` once, reductions
/// twice, a moved axis next to nothing, and slices nothing.
int64_t getMoveCost(const MeshLayout &layout, RankedTensorType type,
                    int64_t bytes, ArrayRef<DimShardingAttr> from,
                    ArrayRef<AxisRefAttr> partial,
                    ArrayRef<DimShardingAttr> to);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_MOVECOST_H
