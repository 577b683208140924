//===- CostModel.h - How long work and transfers take -----------*- C++ -*-===//

#ifndef DIST_PASSES_COST_COSTMODEL_H
#define DIST_PASSES_COST_COSTMODEL_H

#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Dist.h"
#include "passes/cost/Machine.h"
#include "passes/cost/Work.h"

#include <map>

namespace mlir::dist {

/// Estimates of seconds for the work of one rank. The machine's devices are the
/// mesh's in row-major order: rank i of the mesh is device i of the machine.
class CostModel {
public:
  CostModel(const Machine &machine, MeshOp mesh)
      : CostModel(machine, mesh ? mesh.getAxes() : ArrayRef<MeshAxisAttr>()) {}
  CostModel(const Machine &machine, ArrayRef<MeshAxisAttr> axes);

  /// The longer of the arithmetic and of moving bytes to and from memory. The
  /// minimum cost of a kernel is not included.
  double getComputeSeconds(const Work &work) const;
  double getOpSeconds() const { return machine.opSeconds; }
  double getStartSeconds() const { return machine.startSeconds; }
  double getSlowdown() const { return machine.slowdown; }
  /// Whether the machine file has a figure for products of `type`. Otherwise
  /// the slowest type's is taken.
  bool knows(Type type) const;

  /// The algorithm of a collective.
  enum class Traffic {
    /// all_gather, reduce_scatter: a ring: calls + steps + the largest
    /// quotient, over the levels, of bytes and bandwidth. A group that spans n
    /// blocks of a level crosses between them n - 1 times. The levels inside
    /// have divided the bytes that it sends there.
    Ring,
    /// all_reduce: twice that, or a tree's steps if these are fewer (NCCL,
    /// src/graph/tuning.cc, has the same formulas).
    AllReduce,
    /// all_to_all, gather_rows, reduce_rows: all messages at once; each level
    /// carries those that cross it. (The number of rows is an upper bound.)
    Exchange,
    /// permutes, send_recv, halo_exchange: one message over the outermost level
    /// that the group spans.
    Message,
    /// broadcast: all of it over each level, in steps as in a ring.
    Broadcast
  };
  /// For a collective over `axes` in which a rank sends so many bytes, as in
  /// getBytesSentPerRank. The slowest group counts.
  double getSeconds(Traffic traffic, ArrayRef<AxisRefAttr> axes,
                    double bytesSent) const;
  double getSeconds(CollectiveOpInterface collective) const;

private:
  /// How many blocks of each level below a group spans: first the devices, then
  /// each link's blocks; the largest number over the groups.
  const std::vector<double> &getSpans(ArrayRef<AxisRefAttr> axes) const;

  const Machine &machine;
  SmallVector<MeshAxisAttr> axes;
  int64_t devices = 1;
  mutable std::map<std::vector<const void *>, std::vector<double>> spans;
};

/// Emits an error if the mesh has more devices than the machine.
LogicalResult checkDevices(const Machine &machine, MeshOp mesh);

} // namespace mlir::dist

#endif // DIST_PASSES_COST_COSTMODEL_H
