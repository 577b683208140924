//===- PlacementText.h - Ops, axes, dimensions in messages ------*- C++ -*-===//

#ifndef DIST_PASSES_SPMD_GRAPH_PLACEMENTTEXT_H
#define DIST_PASSES_SPMD_GRAPH_PLACEMENTTEXT_H

#include "dialects/dist/IR/Dist.h"
#include <string>

namespace mlir::dist {

/// An op's name and scope.
std::string describeOp(Operation *op);
/// `"tp", "dp"(1)2`.
std::string printAxes(ArrayRef<AxisRefAttr> axes);
/// A dimension's sharding, written as in assembly: `{"tp"}`.
std::string printDim(DimShardingAttr dim);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_PLACEMENTTEXT_H
