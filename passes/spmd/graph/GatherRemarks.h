//===- GatherRemarks.h - Says where halos would do, and do not --*- C++ -*-===//
//
// Windows, attention near each query and crops need rows of neighbours alone.
// Where placement gathers a whole dimension for them a remark says so: how much
// each device sends, why, and what helps. Nothing is said where a schedule asks
// for it (a value is whole then before the op reads it), nor where an exchange
// would send no less.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_GRAPH_GATHERREMARKS_H
#define DIST_PASSES_SPMD_GRAPH_GATHERREMARKS_H

#include "dialects/dist/Interfaces/ShardingRule.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::dist {

class GatherRemarks {
public:
  explicit GatherRemarks(const MeshLayout &layout) : layout(layout) {}

  /// The operand is placed as `now` and brought to `wanted` for its op. Several
  /// ops that one of the model became say it once.
  void visit(OpOperand &operand, ShardingAttr now, ShardingAttr wanted,
             const ShardingRule &rule);

private:
  const MeshLayout &layout;
  llvm::DenseSet<std::pair<Value, Location>> said;
};

/// Says that `bytes` are sent by each device to gather dimension `dim` of what
/// an op reads.
void remarkGather(Location loc, const Twine &reader, int64_t dim, int64_t bytes,
                  const Twine &why);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_GATHERREMARKS_H
