//===- FactorChoice.h - Which factor of an op an axis shards ----*- C++ -*-===//
//
// Needs the current placements of the op's operands and the targets of its
// results. Returns the sharding of each factor, and its cause: the legal choice
// that moves the fewest bytes. Changes nothing.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_INSERT_FACTORCHOICE_H
#define DIST_PASSES_SPMD_INSERT_FACTORCHOICE_H

#include "dialects/dist/Interfaces/ExclusiveSums.h"
#include "passes/spmd/graph/PlacedValues.h"

namespace mlir::dist {

struct FactorChoice {
  SmallVector<DimShardingAttr, 8> factors;
  SmallVector<unsigned, 8> causes;

  SmallVector<AxisRefAttr, 4> getAxes() const {
    SmallVector<AxisRefAttr, 4> axes;
    for (DimShardingAttr sharding : factors)
      llvm::append_range(axes, sharding.getAllAxes());
    return axes;
  }
};

FactorChoice
chooseFactors(Operation *op, const ShardingRule &rule, const MeshLayout &layout,
              const PlacementGraph &graph, const Placements &targets,
              const PlacedValues &values, const ExclusiveSums &exclusive);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_INSERT_FACTORCHOICE_H
