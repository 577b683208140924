//===- TiedRows.h - Dimensions that ops have in common ----------*- C++ -*-===//
//
// Dimensions that ops tie to each other are sharded alike. Where some op needs
// such a dimension in blocks of rows, as windows are read, what is not in
// blocks is gathered there: what that sends is what rows that are moved over
// the borders of blocks are weighed against.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_PREPARE_TIEDROWS_H
#define DIST_PASSES_SPMD_PREPARE_TIEDROWS_H

#include "passes/spmd/graph/Placements.h"
#include "llvm/ADT/IntEqClasses.h"

namespace mlir::dist {

/// Dimensions that ops tie to each other, so that what of a value is not in
/// blocks of rows is sent where some op needs it so.
class TiedRows {
public:
  TiedRows(const PlacementGraph &graph, const Placements &placements,
           const MeshLayout &layout);

  struct Needs {
    /// Bytes of the smallest value that has to be in blocks; all there are
    /// where none has.
    int64_t whole = INT64_MAX;
    struct Read {
      int64_t rowBytes, size, iterations;
      Window window;
    };
    SmallVector<Read, 0> reads;

    /// Bytes that a device sends for the windows, where blocks are in line.
    int64_t getHaloBytes(const MeshLayout &layout, DimShardingAttr dim) const;
  };
  /// The dimensions tied to one of a value.
  unsigned getTie(unsigned value, unsigned dim) const {
    return ties[first[value] + dim];
  }
  const Needs &getNeeds(unsigned tie) const { return needs[tie]; }

  /// Says that dimensions would be in blocks if others were.
  void addStep(unsigned from, unsigned to) { steps.push_back({from, to}); }
  /// The blocks of each tie: as placed, else as those have it that ops read in
  /// windows to make it, or that steps lead from.
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
