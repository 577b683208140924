//===- WindowLowering.h - What a device's iterations read -------*- C++ -*-===//
//
// Brings to a device what its iterations of an op read of an operand in
// windows, so that the op's maps are right in the local operand. Along each
// dimension the devices form a line of blocks; where neighbours have all that
// is missing one dist.halo_exchange brings it, dimension by dimension, so that
// corners come along. Else the dimension is gathered, and the cause says why.
// What iterations write in windows of a result goes the same way back.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_HALOS_WINDOWLOWERING_H
#define DIST_PASSES_HALOS_WINDOWLOWERING_H

#include "dialects/dist/Interfaces/ShardingRule.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "passes/halos/SyncedHalos.h"
#include "passes/spmd/reshard/ReshardPlan.h"
#include "passes/spmd/reshard/WholeValues.h"

namespace mlir::dist {

/// How one dimension is read: the window, whose offset counts from the first
/// element of the source, and the number of iterations in all. Unsharded
/// dimensions are only padded.
struct WindowRead {
  Window window;
  int64_t iterations;
  /// What a tensor.pad in between adds.
  int64_t low = 0, high = 0;

  bool operator==(const WindowRead &other) const {
    auto numbers = [](const WindowRead &read) {
      const Window &window = read.window;
      return std::make_tuple(window.dim, window.stride, window.extent,
                             window.offset, read.iterations, read.low,
                             read.high);
    };
    return numbers(*this) == numbers(other);
  }
};

/// The device's part of a tensor that is read.
struct WindowSource {
  Value local;
  RankedTensorType whole;
  ShardingAttr sharding;
  /// What syncs have brought of it; null where none has.
  const SyncedHalo *synced = nullptr;
};

/// What the device reads of `source`. Elements in front of the first one of the
/// whole dimension, and after its last, are `fill`, or anything where that is
/// null. The cause of what is sent begins with `why`.
FailureOr<Value> readWindows(OpBuilder &builder, Location loc,
                             const MeshLayout &layout, ReshardPlanner &planner,
                             WindowSource source, ArrayRef<WindowRead> reads,
                             Value fill, const Twine &why, Attribute scope);

/// The adjoint: of `part`, what the device's iterations have added up beginning
/// with `start`, to the device's part of a tensor of type `whole` placed as
/// `sharding`, with what others have added up of its rows. What `reads` says is
/// as readWindows has it; what would be filled in there is dropped.
FailureOr<Value> addWindows(OpBuilder &builder, Location loc,
                            const MeshLayout &layout, ReshardPlanner &planner,
                            Value part, TypedAttr start, RankedTensorType whole,
                            ShardingAttr sharding, ArrayRef<WindowRead> reads,
                            const Twine &why, Attribute scope);

/// The number of elements that a device's iterations read, or write.
int64_t getReach(const MeshLayout &layout, DimShardingAttr dim,
                 const WindowRead &read);

/// Who asked for what an op's windows take, and what that is: "brings ...".
std::string describeWindows(Operation *op, const Twine &what);

/// The windows of ops that become local one after the other. What several of
/// them read of a value alike, or from the same element on, is brought once.
class LocalWindows {
public:
  LocalWindows(const MeshLayout &layout, ReshardPlanner &planner,
               OpBuilder &builder, WholeValues &wholes, SyncedHalos &synced)
      : layout(layout), planner(planner), builder(builder), wholes(wholes),
        synced(synced) {}

  /// The rule of an op some of whose operands are local already.
  ShardingRule getWholeRule(Operation *op);
  /// Brings what the op reads in windows of sharded operands.
  LogicalResult bring(Operation *op, const LocalView &view,
                      const ShardingRule &rule);
  /// Ops that read in windows fill in what a pad adds; for all others its rows
  /// move on. Whether it was seen to.
  FailureOr<bool> visitPad(tensor::PadOp pad, const LocalView &view,
                           const ShardingRule &rule);
  /// Gives an op that writes windows of sharded results zeros to add to, as
  /// many as its iterations reach: before it is made local.
  void makeRoom(DestinationStyleOpInterface op, const LocalView &view,
                const ShardingRule &rule);
  /// What the op has added up goes home, and takes its results' place; after
  /// it was made local.
  LogicalResult sendHome(DestinationStyleOpInterface op, const LocalView &view,
                         const ShardingRule &rule);
  /// What is left by a slice whose rows were not sent home; null if it has them
  /// all to itself.
  Value takeCropped(Operation *slice) { return cropped.lookup(slice); }

private:
  LogicalResult sendHome(OpResult result, Value init, const LocalView &view,
                         const ShardingRule &rule);
  Window getWidest(OpOperand &operand, const Window &window,
                   const ShardingRule &rule);

  const MeshLayout &layout;
  ReshardPlanner &planner;
  OpBuilder &builder;
  WholeValues &wholes;
  SyncedHalos &synced;
  /// Pads of sharded dimensions whose users fill in what they add, not local
  /// yet: what they pad.
  llvm::DenseMap<Operation *, Whole> openPads;
  /// What windows of a value have been brought before: to which block, with
  /// what filled in, and where it is. Ops that read alike share it.
  struct Brought {
    Block *block;
    Attribute fill;
    SmallVector<WindowRead> reads;
    Value ready;
  };
  llvm::DenseMap<Value, SmallVector<Brought, 1>> brought;
  /// Ops with room for what they write in windows: what they add to in truth.
  llvm::DenseMap<Operation *, SmallVector<Value, 1>> roomy;
  /// What slices leave of such results, by slice.
  llvm::DenseMap<Operation *, Value> cropped;
  /// The windows that ops of a block read of a value, with the iterations of
  /// each, before the first of them was made local.
  struct Reads {
    Block *block;
    SmallVector<std::pair<Window, int64_t>> windows;
  };
  llvm::DenseMap<Value, Reads> allReads;
};

} // namespace mlir::dist

#endif // DIST_PASSES_HALOS_WINDOWLOWERING_H
