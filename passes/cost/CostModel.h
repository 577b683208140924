//===- CostModel.h - How long work and transfers take -----------*- C++ -*-===//

#ifndef DIST_PASSES_COST_COSTMODEL_H
#define DIST_PASSES_COST_COSTMODEL_H

#include "dialects/dist/IR/Dist.h"
#include "passes/cost/Machine.h"
#include "passes/cost/Work.h"

#include <map>

namespace mlir::dist {

/// Seconds for what one rank does, on a machine whose devices are the mesh's in
/// row-major order: rank i of the mesh is the machine's device i.
class CostModel {
public:
  CostModel(const Machine &machine, MeshOp mesh)
      : CostModel(machine, mesh ? mesh.getAxes() : ArrayRef<MeshAxisAttr>()) {}
  CostModel(const Machine &machine, ArrayRef<MeshAxisAttr> axes);

  /// Of the arithmetic, or of moving the bytes in and out of memory, whichever
  /// is longer; what a kernel costs at least is left out.
  double getComputeSeconds(const Work &work) const;
  double getOpSeconds() const { return machine.opSeconds; }
  double getStartSeconds() const { return machine.startSeconds; }
  double getSlowdown() const { return machine.slowdown; }
  /// Whether the machine file says how fast products of `type` are; else the
  /// slowest type's figure is taken.
  bool knows(Type type) const;

  /// How the bytes of a collective travel.
  enum class Traffic {
    /// all_gather, reduce_scatter: a ring, calls + steps + the most that any
    /// level sends over its bandwidth. A group that spans n blocks of a level
    /// crosses between them n - 1 times, and sends there what is left after the
    /// levels inside have divided it.
    Ring,
    /// all_reduce: twice that, or a tree's steps where these are fewer (NCCL,
    /// src/graph/tuning.cc, has the same formulas).
    AllReduce,
    /// all_to_all, gather_rows, reduce_rows: all messages at once; each level
    /// carries those that cross it. (Of rows the most that there can be.)
    Exchange,
    /// permutes, send_recv, halo_exchange: one message over the outermost level
    /// that the group spans.
    Message,
    /// broadcast: all of it over each level, in steps as a ring has.
    Broadcast
  };
  /// Of a collective over `axes` of which a rank sends so many bytes, as
  /// getBytesSentPerRank says, and the group that takes longest.
  double getSeconds(Traffic traffic, ArrayRef<AxisRefAttr> axes,
                    double bytesSent) const;
  double getSeconds(CollectiveOpInterface collective) const;

private:
  /// How many blocks of each level below a group touches: of the devices
  /// themselves, then of each link's blocks; the largest over the groups.
  const std::vector<double> &getSpans(ArrayRef<AxisRefAttr> axes) const;

  const Machine &machine;
  SmallVector<MeshAxisAttr> axes;
  int64_t devices = 1;
  mutable std::map<std::vector<const void *>, std::vector<double>> spans;
};

/// Emits an error where the mesh has more devices than the machine.
LogicalResult checkDevices(const Machine &machine, MeshOp mesh);

} // namespace mlir::dist

#endif // DIST_PASSES_COST_COSTMODEL_H
