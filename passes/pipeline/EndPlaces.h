//===- EndPlaces.h - The stage of each op behind a loop ---------*- C++ -*-===//
//
// Who does what once a step, after all microbatches: completing sums, the norm
// of all gradients, the optimizer.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_PIPELINE_ENDPLACES_H
#define DIST_PASSES_PIPELINE_ENDPLACES_H

#include "passes/pipeline/StagePlaces.h"
#include <map>
#include <set>

namespace mlir::dist {

using Stages = std::set<int64_t>;

class EndPlaces {
public:
  /// `holders` has the stages whose tasks read an argument so far.
  EndPlaces(func::FuncOp function, scf::ForOp loop, const StagePlaces &body,
            const OuterReads &outer, std::vector<Stages> holders)
      : function(function), block(function.getBody().front()), loop(loop),
        body(body), outer(outer), holders(std::move(holders)) {}

  void place();

  /// The stages that compute an op, and the part of their end that it is in.
  const std::map<int64_t, int64_t> &getParts(Operation *op) const {
    static const std::map<int64_t, int64_t> none;
    auto found = parts.find(op);
    return found == parts.end() ? none : found->second;
  }
  /// The stages that hold a parameter, or a state.
  const Stages &getHolders(unsigned argument) const {
    return holders[argument];
  }
  /// The stages whose ends give a result.
  Stages getResultStages(unsigned result) const;
  /// The stages that have a value without a transfer; empty: all of them.
  Stages getHomes(Value value) const;

private:
  struct Natural {
    /// Where its operands are; empty: anywhere.
    Stages stages;
    /// Not all are in one of these.
    bool isMixed = false;
  };
  Natural getNatural(Value value) const;
  Natural findNatural(Operation *op) const;
  Stages choose(Operation *op, const Stages &wanted) const;
  bool placeOnce();
  void number();

  func::FuncOp function;
  Block &block;
  scf::ForOp loop;
  const StagePlaces &body;
  const OuterReads &outer;
  std::vector<Stages> holders;
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, Natural> naturals;
  llvm::DenseMap<Operation *, Stages> chosen;
  llvm::DenseMap<Operation *, std::map<int64_t, int64_t>> parts;
};

} // namespace mlir::dist

#endif // DIST_PASSES_PIPELINE_ENDPLACES_H
