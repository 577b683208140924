//===- WindowLowering.h - Communication for windows -------------*- C++ -*-===//
//
// Brings a device the elements that its iterations of an op read in windows of
// an operand, so that the op's maps are right for the local operand. Along each
// dimension the devices form a line of blocks. If neighbours have all missing
// rows, one dist.halo_exchange brings them, dimension by dimension, so that
// corners are included. Otherwise the dimension is gathered, and the cause says
// why. Sums that iterations write in windows of a result are sent back in the
// same way.
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
/// element of the source, and the number of iterations in all. Dimensions that
/// are not sharded are only padded.
struct WindowRead {
  Window window;
  int64_t iterations;
  /// The padding of a tensor.pad in between.
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
  /// Rows that syncs have brought; null if there are no such syncs.
  const SyncedHalo *synced = nullptr;
};

/// The elements of `source` that the device reads. Elements before the first
/// one of the whole dimension, and after its last, are `fill`, or anything if
/// that is null. Causes of collectives begin with `why`.
FailureOr<Value> readWindows(OpBuilder &builder, Location loc,
                             const MeshLayout &layout, ReshardPlanner &planner,
                             WindowSource source, ArrayRef<WindowRead> reads,
                             Value fill, const Twine &why, Attribute scope);

/// The adjoint. `part` is the sums of the device's iterations, which began with
/// `start`. Returns the device's part of a tensor of type `whole`, placed as
/// `sharding`, with the sums of other devices for its rows. `reads` is as for
/// readWindows; rows that would be filled in there are dropped.
FailureOr<Value> addWindows(OpBuilder &builder, Location loc,
                            const MeshLayout &layout, ReshardPlanner &planner,
                            Value part, TypedAttr start, RankedTensorType whole,
                            ShardingAttr sharding, ArrayRef<WindowRead> reads,
                            const Twine &why, Attribute scope);

/// The number of elements that a device's iterations read, or write.
int64_t getReach(const MeshLayout &layout, DimShardingAttr dim,
                 const WindowRead &read);

/// The cause of the collectives for an op's windows: "brings ...".
std::string describeWindows(Operation *op, const Twine &what);

/// The windows of ops that become local one after the other. If several ops
/// read the same elements of a value, or from the same element on, these are
/// brought once.
class LocalWindows {
public:
  LocalWindows(const MeshLayout &layout, ReshardPlanner &planner,
               OpBuilder &builder, WholeValues &wholes, SyncedHalos &synced)
      : layout(layout), planner(planner), builder(builder), wholes(wholes),
        synced(synced) {}

  /// The rule of an op, of which some operands are local already.
  ShardingRule getWholeRule(Operation *op);
  /// Brings the elements that the op reads in windows of sharded operands.
  LogicalResult bring(Operation *op, const LocalView &view,
                      const ShardingRule &rule);
  /// Ops that read in windows fill in a pad's rows; for other ops these rows
  /// are moved. Returns whether the pad was handled.
  FailureOr<bool> visitPad(tensor::PadOp pad, const LocalView &view,
                           const ShardingRule &rule);
  /// Before the op is made local: gives an op that writes windows of sharded
  /// results zeros to add to, as many as its iterations reach.
  void makeRoom(DestinationStyleOpInterface op, const LocalView &view,
                const ShardingRule &rule);
  /// After the op was made local: sends its sums to the owners, and replaces
  /// its results by the sums.
  LogicalResult sendHome(DestinationStyleOpInterface op, const LocalView &view,
                         const ShardingRule &rule);
  /// The result of a slice whose rows were not sent to owners; null if it has
  /// all rows to itself.
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
  /// Pads of sharded dimensions whose users fill in their rows, not local yet,
  /// with their operands.
  llvm::DenseMap<Operation *, Whole> openPads;
  /// The windows of a value that were brought before: to which block, with
  /// which fill, and the result. Ops that read the same share it.
  struct Brought {
    Block *block;
    Attribute fill;
    SmallVector<WindowRead> reads;
    Value ready;
  };
  llvm::DenseMap<Value, SmallVector<Brought, 1>> brought;
  /// Ops with enlarged destinations for windows: their original destinations.
  llvm::DenseMap<Operation *, SmallVector<Value, 1>> roomy;
  /// The results of slices of such results, by slice.
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
