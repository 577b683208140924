//===- ModuleBorder.h - Inputs and outputs of modules -----------*- C++ -*-===//
//
// The activations at the border of a module of the model, which directives call
// its inputs and outputs.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_DIRECTIVES_MODULEBORDER_H
#define DIST_PASSES_SCHEDULE_DIRECTIVES_MODULEBORDER_H

#include "passes/schedule/directives/ScheduleApplication.h"

namespace mlir::dist {

/// Whether the op commutes with a sum pending on the flagged operands.
bool commutesWithSum(Operation *op, ArrayRef<OpOperand *> flagged);

/// The ops of one module, including modules within it, the tensors that they
/// read from outside, and those that are read outside. Parameters and
/// constants, and values that are computed only from these, are neither.
class ModuleBorder {
public:
  /// A tensor from outside that ops of a module read.
  using Reads = llvm::MapVector<Value, SmallVector<OpOperand *, 2>>;

  ModuleBorder(ScheduleApplication &application, unsigned scope)
      : ModuleBorder(application.getScopes(), application.getOrigins(), scope) {
  }
  ModuleBorder(const ScopeIndex &scopes, Origins &origins, unsigned scope)
      : scopes(scopes), origins(origins), ops(scopes.getOps(scope)),
        path(scopes.getPath(scope)) {}

  /// Whether `op` came from the module or one within it.
  bool contains(Operation *op);

  /// The module's inputs, in the program order of their readers. If weights are
  /// applied to some of them: only these.
  Reads findInputs();
  /// The inputs that the module reads in windows along `dim`. If there are no
  /// such inputs: those that it sums along `dim`, as attention does with its
  /// keys. If there are no such inputs either: those that weights are applied
  /// to, whose results may be read in that way.
  Reads findHaloInputs(int64_t dim);
  /// The module's values that are read outside, in program order.
  SmallVector<Value> findOutputs();
  /// The first op outside that reads one of them.
  SmallVector<OpOperand *> findOutsideUses(Value output);

private:
  bool isWithin(StringAttr scope);
  bool isOutside(Value value);
  /// The position of a reader, and the number of its operand.
  using ReadPlace = std::pair<unsigned, unsigned>;
  ReadPlace getReadPlace(OpOperand &use);
  Reads findReads();
  /// The tensors that weights are applied to, and all that are not parameters.
  using Inputs = llvm::SmallSetVector<Value, 4>;
  std::pair<Inputs, Inputs> findActivations();
  Reads sortInputs(const Inputs &inputs, Reads reads);
  bool isReadInWindows(Value value, int64_t dim);
  bool isAddedUpAlong(Value value, int64_t dim);

  const ScopeIndex &scopes;
  Origins &origins;
  SmallVector<Operation *> ops;
  StringRef path;
  llvm::SmallDenseMap<StringAttr, bool, 8> known;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_DIRECTIVES_MODULEBORDER_H
