//===- RuleCache.cpp - Sharding rules shared by ops that are alike --------===//

#include "passes/spmd/graph/RuleCache.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/OperationSupport.h"
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

namespace {
/// Hashes bodies: what OperationEquivalence takes for equal has equal hashes.
class BodyHasher {
public:
  void add(Region &region) {
    for (Block &block : region) {
      for (Value argument : block.getArguments()) {
        define(argument);
        mix(argument.getType());
      }
      for (Operation &op : block)
        add(op);
    }
  }
  llvm::hash_code get() const { return hash; }

private:
  template <typename T> void mix(const T &value) {
    hash = llvm::hash_combine(hash, value);
  }
  void define(Value value) { numbers.try_emplace(value, numbers.size()); }
  llvm::hash_code read(Value value) const {
    auto known = numbers.find(value);
    return known == numbers.end() ? llvm::hash_value(value.getAsOpaquePointer())
                                  : llvm::hash_value(known->second);
  }
  void add(Operation &op) {
    mix(op.getName());
    mix(op.hashProperties());
    mix(op.getRawDictionaryAttrs());
    if (op.hasTrait<OpTrait::IsCommutative>()) {
      // In any order.
      size_t sum = 0;
      for (Value operand : op.getOperands())
        sum += static_cast<size_t>(llvm::hash_combine(read(operand)));
      mix(sum);
    } else {
      for (Value operand : op.getOperands())
        mix(read(operand));
    }
    for (Value result : op.getResults()) {
      define(result);
      mix(result.getType());
    }
    for (Region &region : op.getRegions())
      add(region);
  }

  llvm::SmallDenseMap<Value, unsigned, 16> numbers;
  llvm::hash_code hash = llvm::hash_code(0);
};
} // namespace

/// Whether a rule may look at the definitions of the op's indices.
static bool readsIndices(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), [](Type type) {
    return getElementTypeOrSelf(type).isIndex();
  });
}

/// Of all that lookAlike compares, lest programs whose ops all differ in one of
/// it share one bucket.
static llvm::hash_code getHash(Operation *op) {
  llvm::hash_code hash =
      llvm::hash_combine(op->getName(), op->hashProperties(),
                         llvm::hash_combine_range(op->getOperandTypes().begin(),
                                                  op->getOperandTypes().end()),
                         llvm::hash_combine_range(op->getResultTypes().begin(),
                                                  op->getResultTypes().end()));
  for (NamedAttribute attr : getOwnAttributes(op))
    hash = llvm::hash_combine(hash, attr);
  if (op->getNumRegions() != 0) {
    BodyHasher body;
    for (Region &region : op->getRegions())
      body.add(region);
    hash = llvm::hash_combine(hash, body.get());
  }
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
