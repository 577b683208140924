//===- RuleModels.h - Interface models of upstream dialects -----*- C++ -*-===//
//
// Used by registerShardingRules, and what the models share.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_INTERFACES_RULEMODELS_H
#define DIST_DIALECTS_DIST_INTERFACES_RULEMODELS_H

#include "dialects/dist/Interfaces/ShardingRule.h"

namespace mlir::dist {

void registerLinalgRules(DialectRegistry &registry);
void registerTensorRules(DialectRegistry &registry);
void registerElementwiseRules(DialectRegistry &registry);
/// Parts of registerTensorRules.
void attachSliceModels(MLIRContext *context);
void attachLookupModels(MLIRContext *context);
/// Part of registerLinalgRules.
void attachPackModels(MLIRContext *context);

/// What becomes of pending reductions in ops that only move data, which commute
/// with every one.
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

/// The dependence of the results of a scalar op, or of an elementwise one on
/// tensors, given its operands'. `kind` is the pending reduction.
Dependence propagateDependence(Operation *op, ArrayRef<Dependence> operands,
                               ReductionKind kind);

/// Operands of a scalar op, or of an elementwise one on tensors, whose values
/// can end the program (divisors that are zero, indices out of bounds,
/// conditions that must hold, loops that do not end): what
/// padding holds must not get there. `visit` gets a number that does no harm as
/// well.
void forEachUnsafeOperand(Operation *op,
                          function_ref<void(OpOperand &, int64_t safe)> visit);

/// Gives such operands of the ops in `body` a harmless number where `inside`
/// does not hold.
void guardUnsafeOperands(OpBuilder &builder, Block &body, Value inside);

/// The combiner that a binary op is, if any.
std::optional<ReductionKind> getCombiner(Operation *op);

/// Where an element of a device's part lies in the whole dimension.
struct GlobalIndex {
  /// Index into the whole dimension.
  Value index;
  /// Whether it is an element and not padding; null where there is no padding.
  Value inBounds;
};

/// Computes where element `local` of a dimension of `size` elements sharded as
/// `dim` lies. Coordinates come from dist.axis_index. Where the size is not
/// known, `localSize` is that of the device's part.
GlobalIndex getGlobalIndex(OpBuilder &builder, Location loc,
                           const MeshLayout &layout, DimShardingAttr dim,
                           int64_t size, Value local, Value localSize = {});

/// Where element `global` of the whole dimension lies in the device's part, and
/// whether it does; the inverse of getGlobalIndex. An index outside of the
/// dimension lies nowhere.
struct LocalIndex {
  Value index;
  Value isHere;
};
LocalIndex getLocalIndex(OpBuilder &builder, Location loc,
                         const MeshLayout &layout, DimShardingAttr dim,
                         int64_t size, Value global, Value localSize = {});

/// `tensor`, a device's part of a tensor placed as `sharding`, with `number`
/// where it is padding along the dimensions `dims`.
Value fillPadding(OpBuilder &builder, Location loc, const MeshLayout &layout,
                  Value tensor, ShardingAttr sharding,
                  ArrayRef<int64_t> globalShape, ArrayRef<int64_t> dims,
                  int64_t number = 0);

/// The size of a device's part of a dimension whose whole size is `size`, which
/// its devices divide.
Value divideSize(OpBuilder &builder, Location loc, const MeshLayout &layout,
                 DimShardingAttr dim, Value size);

/// Divides `sizes`, one for each dimension of `whole` whose size is not known,
/// among the devices that share the dimension: the sizes of a device's part.
void divideSizes(OpBuilder &builder, Location loc, const MeshLayout &layout,
                 RankedTensorType whole, ShardingAttr sharding,
                 MutableOperandRange sizes);

/// A scalar constant.
Value createNumber(OpBuilder &builder, Location loc, Type type, int64_t number);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_INTERFACES_RULEMODELS_H
