//===- GatherRemarks.h - Remarks on gathers for windows ---------*- C++ -*-===//
//
// Windows, attention near each query, and crops need only rows of neighbours.
// If placement gathers a whole dimension for them, a remark says so: how much
// each device sends, why, and what helps. There is no remark if a schedule asks
// for the gather (the value is then whole before the op reads it), or if an
// exchange would not send less.
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

  /// The operand is placed as `now` and brought to `wanted` for its op. If one
  /// op of the model became several, there is one remark for all of them.
  void visit(OpOperand &operand, ShardingAttr now, ShardingAttr wanted,
             const ShardingRule &rule);

private:
  const MeshLayout &layout;
  llvm::DenseSet<std::pair<Value, Location>> said;
};

/// Reports that each device sends `bytes` to gather dimension `dim` of an
/// operand. A `remedy` is one beside those that help with any gather.
void remarkGather(Location loc, const Twine &reader, int64_t dim, int64_t bytes,
                  const Twine &why, const Twine &remedy = "");

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_GATHERREMARKS_H
