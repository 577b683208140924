//===- Origins.h - Origins of the tensors that ops read ---------*- C++ -*-===//
//
// Parameters reach their readers through reshapes, transposes and casts. This
// distinguishes them from activations and constants.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_NAMES_ORIGINS_H
#define DIST_PASSES_SCHEDULE_NAMES_ORIGINS_H

#include "dialects/dist/Interfaces/ShardingRule.h"
#include "passes/schedule/names/ScopeIndex.h"

namespace mlir::dist {

/// The origin of a tensor, through ops with a single tensor operand.
struct Origin {
  enum Kind { Parameter, Constant, Computed } kind = Computed;
  /// The parameter, or any other value, that the chain of ops begins with.
  Value root;
};

/// A contraction of activations with a parameter.
struct FeatureContraction {
  Operation *op;
  ShardingRule rule;
  OpOperand *parameter;
  OpOperand *activation;
};

/// The tensors that `op` reads: operands that are ranked tensors and not
/// destinations.
SmallVector<OpOperand *, 4> getDataOperands(Operation *op);

/// Whether a dimension of the tensor holds `factor`.
bool holdsFactor(const TensorRule &tensor, unsigned factor);

/// Origins of values, cached. The ops that directives add (constraints, syncs
/// and reshapes) do not change them.
class Origins {
public:
  Origin get(Value tensor);
  /// The operands between `tensor` and its origin, from the tensor on.
  static SmallVector<OpOperand *, 4> getChain(Value tensor);

  /// The parameter that `tensor` comes from, if it comes from one.
  std::optional<NamedTensor> findParameter(Value tensor);
  /// The first parameter that `op` reads, if any.
  std::optional<NamedTensor> findParameter(Operation *op);
  /// `op` as a contraction with a parameter, if it is one.
  std::optional<FeatureContraction> findFeatureContraction(Operation *op);

private:
  llvm::DenseMap<Value, Origin> known;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_NAMES_ORIGINS_H
