//===- RandomStreams.h - Random numbers of devices' own streams -*- C++ -*-===//
//
// Carries out dist.random_streams after placement has decided which part of the
// drawn tensor each device has.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_PARTITION_RANDOMSTREAMS_H
#define DIST_PASSES_SPMD_PARTITION_RANDOMSTREAMS_H

#include "dialects/dist/IR/Random.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dist {

/// Numbers the elements that operators draw from streams, in the order in which
/// ops become local. The streams of an operator are those of its first op. If a
/// later op (of backward) is placed otherwise, it computes which device of the
/// first op drew an element.
class RandomStreams {
public:
  explicit RandomStreams(const MeshLayout &layout) : layout(layout) {}

  /// Registers the streams of an op that is about to become local. `rule` is
  /// its rule for the whole tensors. It is an error if devices would draw
  /// different numbers for the same elements.
  LogicalResult visit(linalg::LinalgOp op, const ShardingRule &rule,
                      const LocalView &view);
  /// To be called after the op that was visited last has become local.
  void finish(OpBuilder &builder);
  /// Writes the streams to the mesh, for `numberStreams`.
  void record(MeshOp mesh) const;

  /// Whether an op draws from streams.
  static bool hasStreams(Operation *op);

private:
  /// The placement of the tensor that an operator draws.
  struct Drawn {
    ArrayAttr axes;
    SmallVector<int64_t> sizes;
    SmallVector<DimShardingAttr> dims;
  };
  /// An op that draws by the position in the device's part: the loops that make
  /// up each index.
  struct Local {
    RandomWordsOp words;
    SmallVector<SmallVector<unsigned, 1>> loops;
  };

  LogicalResult visit(RandomWordsOp words, linalg::LinalgOp op,
                      const ShardingRule &rule,
                      ArrayRef<DimShardingAttr> loopShardings);
  LogicalResult checkShared(RandomWordsOp words, Operation *op,
                            const Drawn &drawn) const;

  const MeshLayout &layout;
  llvm::MapVector<int64_t, Drawn> operators;
  SmallVector<Local, 1> pending;
  SmallVector<DimShardingAttr> pendingShardings;
  SmallVector<int64_t> pendingSizes;
};

/// Makes `module`, a program of one device, draw the numbers that the devices
/// of `mesh` draw by their recorded streams: each element from the stream of
/// its owner.
LogicalResult numberStreams(ModuleOp module, MeshOp mesh);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_PARTITION_RANDOMSTREAMS_H
