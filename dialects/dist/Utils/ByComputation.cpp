//===- ByComputation.cpp - Ops by what they compute -----------------------===//

#include "dialects/dist/Utils/ByComputation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::dist;

/// Whether the op's results depend on its operands alone. It may check them.
static bool dependsOnOperands(Operation *op) {
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects =
      getEffectsRecursively(op);
  return effects && llvm::all_of(*effects, [](const auto &effect) {
           return isa<MemoryEffects::Write>(effect.getEffect());
         });
}

namespace {
class Comparison {
public:
  explicit Comparison(function_ref<Value(Value)> strip) : strip(strip) {}

  bool areSame(Value a, Value b) {
    a = strip(a);
    b = strip(b);
    if (a == b || same.contains({a, b}))
      return true;
    auto ofA = dyn_cast<OpResult>(a), ofB = dyn_cast<OpResult>(b);
    if (!ofA || !ofB || ofA.getResultNumber() != ofB.getResultNumber() ||
        ofA.getOwner()->getName() != ofB.getOwner()->getName() ||
        numOps == kMostOps || !dependsOnOperands(ofA.getOwner()))
      return false;
    ++numOps;
    DenseMap<Value, Value> inside; // of the ops' bodies
    if (!OperationEquivalence::isEquivalentTo(
            ofA.getOwner(), ofB.getOwner(),
            [&](Value x, Value y) {
              return success(inside.lookup(x) == y || areSame(x, y));
            },
            [&](Value x, Value y) { inside[x] = y; },
            ByComputation::kIgnored))
      return false;
    same.insert({a, b});
    return true;
  }

private:
  static constexpr unsigned kMostOps = 64;

  function_ref<Value(Value)> strip;
  unsigned numOps = 0;
  DenseSet<std::pair<Value, Value>> same;
};
} // namespace

bool mlir::dist::areComputedAlike(Value a, Value b,
                                  function_ref<Value(Value)> strip) {
  return Comparison(strip).areSame(a, b);
}

llvm::hash_code mlir::dist::hashRegion(Region &region) {
  // What is defined inside is known by its number.
  llvm::DenseMap<Value, unsigned> numbers;
  auto define = [&](Value value) {
    numbers.try_emplace(value, numbers.size());
  };
  auto read = [&](Value value) {
    auto known = numbers.find(value);
    return known == numbers.end() ? OperationEquivalence::directHashValue(value)
                                  : llvm::hash_value(known->second);
  };
  llvm::hash_code hash(0);
  region.walk<WalkOrder::PreOrder>([&](Block *block) {
    for (BlockArgument argument : block->getArguments()) {
      define(argument);
      hash = llvm::hash_combine(hash, argument.getType());
    }
    for (Operation &op : *block)
      llvm::for_each(op.getResults(), define);
  });
  region.walk<WalkOrder::PreOrder>([&](Operation *op) {
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(
                  op, read, OperationEquivalence::ignoreHashValue,
                  OperationEquivalence::IgnoreLocations));
  });
  return hash;
}
