//===- RuleCache.h - Sharding rules shared by ops alike ---------*- C++ -*-===//
//
// A rule is made once for all ops that have the same name, types, attributes
// and bodies, since rules read nothing else. Ops with operands of type index
// have their own: a rule may see through these what the index is.
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
  /// must not be erased while others are. Takes the time that it takes to read
  /// the op's body, however many other bodies there are.
  const ShardingRule *get(Operation *op);

  /// Ops that have tensors but no rule, one of each look.
  ArrayRef<Operation *> getUnruledOps() const { return unruled; }

  /// To be called where ops change: what is known of their sizes is forgotten,
  /// rules are kept.
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
