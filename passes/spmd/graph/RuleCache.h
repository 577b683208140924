//===- RuleCache.h - Sharding rules shared by equal ops ---------*- C++ -*-===//
//
// A rule is made once for all ops with the same name, types, attributes and
// bodies, since rules read nothing else. Ops with operands of type index have
// rules of their own: such a rule may look at the index's definition.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SPMD_GRAPH_RULECACHE_H
#define DIST_PASSES_SPMD_GRAPH_RULECACHE_H

#include "dialects/dist/Interfaces/ShardingRule.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>

namespace mlir::dist {

class RuleCache {
public:
  /// The rule of an op, valid as long as the cache. Ops that were asked for
  /// must not be erased while others are asked for. The time is linear in the
  /// op's body, and does not depend on the number of other bodies.
  const ShardingRule *get(Operation *op);

  /// Ops that have tensors but no rule, one of each kind.
  ArrayRef<Operation *> getUnruledOps() const { return unruled; }

  /// To be called when ops change: forgets sizes, keeps rules.
  void forgetSizes() { sizes.clear(); }

private:
  llvm::DenseMap<size_t,
                 SmallVector<std::pair<Operation *, const ShardingRule *>, 1>>
      rulesByHash;
  std::vector<std::unique_ptr<ShardingRule>> rules;
  std::vector<Operation *> unruled;
  SizeOrigins sizes;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_GRAPH_RULECACHE_H
