//===- ModuleBorder.h - What goes into a module and out ---------*- C++ -*-===//
//
// The activations at the border of a module of the model, which directives
// speak of as its inputs and outputs.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_DIRECTIVES_MODULEBORDER_H
#define DIST_PASSES_SCHEDULE_DIRECTIVES_MODULEBORDER_H

#include "passes/schedule/directives/ScheduleApplication.h"

namespace mlir::dist {

/// Whether the op commutes with a sum pending on the flagged operands.
bool commutesWithSum(Operation *op, ArrayRef<OpOperand *> flagged);

/// The ops of one module, those of modules within it among them, and the
/// tensors that they take from elsewhere and give elsewhere. Parameters,
/// constants and what is made of them alone are neither.
class ModuleBorder {
public:
  /// What the ops of a module read that comes from elsewhere.
  using Reads = llvm::MapVector<Value, SmallVector<OpOperand *, 2>>;

  ModuleBorder(ScheduleApplication &application, unsigned scope)
      : ModuleBorder(application.getScopes(), application.getOrigins(), scope) {
  }
  ModuleBorder(const ScopeIndex &scopes, Origins &origins, unsigned scope)
      : scopes(scopes), origins(origins), ops(scopes.getOps(scope)),
        path(scopes.getPath(scope)) {}

  /// Whether `op` came from the module or one within it.
  bool contains(Operation *op);

  /// What the module reads that comes from elsewhere, in the program order of
  /// its readers: where weights are applied to some of it, that; else all of
  /// it.
  Reads findInputs();
  /// Those of all activations that the module reads whose dimension `dim` it
  /// reads in windows; where none is, those that it adds up along it, as
  /// attention does with its keys; where none is either, what weights are
  /// applied to, of which others may do so.
  Reads findHaloInputs(int64_t dim);
  /// Values that the module's ops make and that are read elsewhere, in program
  /// order.
  SmallVector<Value> findOutputs();
  /// Where one of them is read elsewhere.
  SmallVector<OpOperand *> findOutsideUses(Value output);

private:
  bool isWithin(StringAttr scope);
  bool isOutside(Value value);
  /// The position of an op that reads something, and which operand of it that
  /// is.
  using ReadPlace = std::pair<unsigned, unsigned>;
  ReadPlace getReadPlace(OpOperand &use);
  Reads findReads();
  /// What weights are applied to, and all that is no parameter.
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
