//===- TiedRows.h - Dimensions that ops tie together ------------*- C++ -*-===//
//
// Dimensions that ops tie to each other are sharded alike. If an op needs such
// a dimension in blocks of rows, as windows do, then tied values that are not
// in blocks are gathered there. The bytes of that are compared with those of
// moving rows over the borders of blocks.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_PREPARE_TIEDROWS_H
#define DIST_PASSES_SPMD_PREPARE_TIEDROWS_H

#include "passes/spmd/graph/Placements.h"
#include "llvm/ADT/IntEqClasses.h"

namespace mlir::dist {

/// Dimensions that ops tie to each other, and the cost of values that are not
/// in blocks of rows where an op needs blocks.
class TiedRows {
public:
  TiedRows(const PlacementGraph &graph, const Placements &placements,
           const MeshLayout &layout);

  struct Needs {
    /// Bytes of the smallest value that must be in blocks; all bytes if there
    /// is no such value.
    int64_t whole = INT64_MAX;
    struct Read {
      int64_t rowBytes, size, iterations;
      Window window;
    };
    SmallVector<Read, 0> reads;

    /// Bytes that a device sends for the windows, if blocks are contiguous.
    int64_t getHaloBytes(const MeshLayout &layout, DimShardingAttr dim) const;
  };
  /// The dimensions tied to one of a value.
  unsigned getTie(unsigned value, unsigned dim) const {
    return ties[first[value] + dim];
  }
  const Needs &getNeeds(unsigned tie) const { return needs[tie]; }

  /// States that dimensions would be in blocks if others were.
  void addStep(unsigned from, unsigned to) { steps.push_back({from, to}); }
  /// The blocks of each tie: those of its placement, else those of dimensions
  /// that ops read in windows to compute it, or that steps lead from.
  SmallVector<DimShardingAttr, 0> inferBlocks(const Placements &placements,
                                              const MeshLayout &layout) const;

private:
  void tie();
  void addSteps(const PlacementGraph::Node &node);
  void read(Value value, const Window &window, int64_t iterations);

  const PlacementGraph &graph;
  SmallVector<unsigned, 0> first;
  llvm::IntEqClasses ties;
  std::vector<Needs> needs;
  SmallVector<std::pair<unsigned, unsigned>, 0> steps;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_PREPARE_TIEDROWS_H
