//===- RuleModels.h - Interface models of upstream dialects -----*- C++ -*-===//
//
// Used by registerShardingRules, and helpers that the models share.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_INTERFACES_RULEMODELS_H
#define DIST_DIALECTS_DIST_INTERFACES_RULEMODELS_H

#include "dialects/dist/Interfaces/LocalIndex.h"
#include "dialects/dist/Interfaces/ShardingRule.h"

namespace mlir::dist {

void registerLinalgRules(DialectRegistry &registry);
void registerTensorRules(DialectRegistry &registry);
void registerElementwiseRules(DialectRegistry &registry);
void registerAttentionRules(DialectRegistry &registry);
/// Adds to `rule` a factor: the iterations of a loop, with the size of the
/// tensor that it runs over.
Value createLoopSize(OpBuilder &builder, Operation *op,
                     const ShardingRule &rule, unsigned loop);
/// Parts of registerTensorRules.
void attachSliceModels(MLIRContext *context);
void attachLookupModels(MLIRContext *context);
void attachGradientModels(MLIRContext *context);
/// Part of registerLinalgRules.
void attachPackModels(MLIRContext *context);

/// The partial results of ops that only move data, which commute with every
/// reduction.
inline PartialResult movesData(ArrayRef<bool> partial) {
  return llvm::all_of(partial, [](bool p) { return p; })
             ? PartialResult::Partial
             : PartialResult::Illegal;
}

/// How a scalar depends on values that are partial of some kind.
enum class Dependence : uint8_t {
  None,     ///< not at all
  Commutes, ///< the reduction may as well be done afterwards
  Mixed,    ///< only before
};

/// The dependence of the results of a scalar op, or of an elementwise op on
/// tensors, given that of its operands. `kind` is the pending reduction.
Dependence propagateDependence(Operation *op, ArrayRef<Dependence> operands,
                               ReductionKind kind);

/// Visits the operands of a scalar op, or of an elementwise op on tensors,
/// whose values can end the program. Examples: divisors that are zero, shifts
/// by too much, indices out of bounds, conditions that must hold, loops that do
/// not end. Padding must not get there. `visit` also gets a harmless number.
/// --dist-guard-ops checks the operands in this list.
void forEachUnsafeOperand(Operation *op,
                          function_ref<void(OpOperand &, int64_t safe)> visit);

/// Gives such operands of the ops in `body` a harmless number if `inside` is
/// false.
void guardUnsafeOperands(OpBuilder &builder, Block &body, Value inside);

/// The combiner of a binary op, if it is one.
std::optional<ReductionKind> getCombiner(Operation *op);

/// A scalar constant.
Value createNumber(OpBuilder &builder, Location loc, Type type, int64_t number);

/// `tensor`, a device's part of a tensor placed as `sharding`, with `number` in
/// the padding along the dimensions `dims`.
Value fillPadding(OpBuilder &builder, Location loc, const MeshLayout &layout,
                  Value tensor, ShardingAttr sharding,
                  ArrayRef<int64_t> globalShape, ArrayRef<int64_t> dims,
                  int64_t number = 0);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_INTERFACES_RULEMODELS_H
