//===- RuleCache.cpp - Sharding rules shared by ops that are alike --------===//

#include "passes/spmd/graph/RuleCache.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/Utils/ByComputation.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace mlir::dist;

/// Whether ops of this kind keep the attributes that are their own among the
/// discardable ones: dialects may, and ops that are not registered do.
static bool keepsOwnInDictionary(Operation *op) {
  return op->getPropertiesStorageSize() == 0 &&
         !op->getRawDictionaryAttrs().empty();
}

/// Such attributes, without those of dist, which say nothing about factors.
static SmallVector<NamedAttribute, 2> getOwnAttributes(Operation *op) {
  SmallVector<NamedAttribute, 2> own;
  if (keepsOwnInDictionary(op))
    for (NamedAttribute attr : op->getRawDictionaryAttrs())
      if (!isa_and_nonnull<DistDialect>(attr.getNameDialect()))
        own.push_back(attr);
  return own;
}

/// Whether a rule may look at the definitions of the op's indices.
static bool readsIndices(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), [](Type type) {
    return getElementTypeOrSelf(type).isIndex();
  });
}

/// A hash of all that lookAlike compares. Otherwise programs whose ops all
/// differ in one of these would share one bucket.
static llvm::hash_code getHash(Operation *op) {
  llvm::hash_code hash =
      llvm::hash_combine(op->getName(), op->hashProperties(),
                         llvm::hash_combine_range(op->getOperandTypes().begin(),
                                                  op->getOperandTypes().end()),
                         llvm::hash_combine_range(op->getResultTypes().begin(),
                                                  op->getResultTypes().end()));
  for (NamedAttribute attr : getOwnAttributes(op))
    hash = llvm::hash_combine(hash, attr);
  for (Region &region : op->getRegions())
    hash = llvm::hash_combine(hash, hashRegion(region));
  if (readsIndices(op))
    hash = llvm::hash_combine(hash, op);
  return hash;
}

/// Whether two ops have the same rule because all that rules read is the same.
static bool lookAlike(Operation *a, Operation *b) {
  if (a->getName() != b->getName() || readsIndices(a) ||
      a->getOperandTypes() != b->getOperandTypes() ||
      a->getResultTypes() != b->getResultTypes() ||
      a->getNumRegions() != b->getNumRegions())
    return false;
  if (a->getPropertiesStorageSize() != b->getPropertiesStorageSize() ||
      (a->getPropertiesStorageSize() &&
       !a->getName().compareOpProperties(a->getPropertiesStorage(),
                                         b->getPropertiesStorage())))
    return false;
  if (getOwnAttributes(a) != getOwnAttributes(b))
    return false;
  for (auto [left, right] : llvm::zip_equal(a->getRegions(), b->getRegions()))
    if (!OperationEquivalence::isRegionEquivalentTo(
            &left, &right, OperationEquivalence::IgnoreLocations))
      return false;
  return true;
}

const ShardingRule *RuleCache::get(Operation *op) {
  auto &bucket = rulesByHash[static_cast<size_t>(getHash(op))];
  for (auto [other, rule] : bucket)
    if (other == op || lookAlike(op, other))
      return rule;
  bool isFallback = false;
  rules.push_back(
      std::make_unique<ShardingRule>(getShardingRule(op, sizes, &isFallback)));
  bool isStructure = op->hasTrait<OpTrait::IsTerminator>() ||
                     isa<RegionBranchOpInterface, CallOpInterface>(op) ||
                     isa_and_nonnull<DistDialect>(op->getDialect());
  if (isFallback && !isStructure)
    unruled.push_back(op);
  bucket.push_back({op, rules.back().get()});
  return rules.back().get();
}
