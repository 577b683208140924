//===- ByComputation.cpp - Ops by what they compute -----------------------===//

#include "dialects/dist/Utils/ByComputation.h"

using namespace mlir;
using namespace mlir::dist;

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
