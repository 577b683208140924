//===- RandomStreams.h - Random numbers of devices' own streams -*- C++ -*-===//
//
// What dist.random_streams asked for, where placement has said which part of
// what is drawn each device has.
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
/// ops become local. Streams of an operator are those of its first op: where
/// another one (of backward) is placed otherwise, it computes which device of
/// the first one drew an element.
class RandomStreams {
public:
  explicit RandomStreams(const MeshLayout &layout) : layout(layout) {}

  /// Takes the streams of an op that is about to become local, whose rule of
  /// the whole tensors is `rule`; an error where devices would draw different
  /// numbers for the same elements.
  LogicalResult visit(linalg::LinalgOp op, const ShardingRule &rule,
                      const LocalView &view);
  /// After the op that was visited last has become local.
  void finish(OpBuilder &builder);
  /// Leaves on the mesh what the streams are, for `numberStreams`.
  void record(MeshOp mesh) const;

  /// Whether an op draws from streams.
  static bool hasStreams(Operation *op);

private:
  /// How what an operator draws lies on the devices.
  struct Drawn {
    ArrayAttr axes;
    SmallVector<int64_t> sizes;
    SmallVector<DimShardingAttr> dims;
  };
  /// One that draws by its place in the device's part: the loops that each
  /// index is made of.
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

/// Has `module`, a program of one device, draw what the devices of `mesh` draw
/// by the streams that it has recorded: each element from the stream of the
/// device that has it.
LogicalResult numberStreams(ModuleOp module, MeshOp mesh);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_PARTITION_RANDOMSTREAMS_H
