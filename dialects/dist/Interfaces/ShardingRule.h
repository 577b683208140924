//===- ShardingRule.h - Factors of an op's iteration space ------*- C++ -*-===//
//
// The one rule for sharding: every op is a loop nest, each loop is a *factor*,
// and each dimension of an operand or result is a product of factors. Sharding
// a factor over a mesh axis slices every dimension it occurs in; a parallel
// factor then shards the results, a reduction factor makes them partial.
// (Shardy calls the same an OpShardingRule; GSPMD, Xu et al. 2021, section 3.)
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_INTERFACES_SHARDINGRULE_H
#define DIST_DIALECTS_DIST_INTERFACES_SHARDINGRULE_H

#include "dialects/dist/Interfaces/Placement.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include <optional>

namespace mlir::dist {

enum class FactorKind : uint8_t {
  /// Iterations are independent: sharding it shards the results.
  Parallel,
  /// Iterations are combined: sharding it makes the results partial.
  Reduction,
  /// Every device needs all of it: never sharded.
  Replicated,
};

struct Factor {
  int64_t size;
  FactorKind kind;
  /// Combiner of a reduction factor, in all results that have no dimension of
  /// the factor.
  ReductionKind reduction = ReductionKind::Sum;
  /// Where results differ: the combiner in each result, none in one that does
  /// not depend on the factor. Empty where they do not.
  SmallVector<std::optional<ReductionKind>, 0> reductions = {};
  /// Sharded only where it divides evenly: one tensor knows its size, another
  /// does not and could not be padded.
  bool evenOnly = false;
  /// Some operand is read in windows of it (TensorRule::windows): its devices
  /// form a line, in which each has one block.
  bool inBlocks = false;

  /// Whether the factor may be sharded like this, as far as sizes go.
  bool accepts(const MeshLayout &layout, DimShardingAttr sharding) const {
    return (!evenOnly || layout.isEven(sharding, size)) &&
           (!inBlocks || sharding.getSubDims().size() <= 1);
  }
};

/// A dimension of an operand that is read in windows: iteration i of its one
/// factor reads the elements from i * stride + offset on, `extent` of them;
/// those that the operand does not have it makes up itself. The
/// dimension has a size of its own, and lies in even blocks of its own on the
/// devices that the factor is sharded over. What a device's iterations read of
/// other devices' blocks is brought to it where the op is made local: the local
/// op gets an operand that begins with the first element that it reads. (The
/// halo of stencil codes; GSPMD, Xu et al. 2021, section 4.)
struct Window {
  unsigned dim;
  int64_t stride = 1, extent = 1, offset = 0;
};

/// The factors of each dimension of one operand or result, major to minor. A
/// dimension without factors has size 1 or is broadcast. Their sizes multiply
/// to the dimension's, but where it is read in windows.
struct TensorRule {
  SmallVector<SmallVector<unsigned, 1>, 4> dims;
  /// Of operands alone; by dimension.
  SmallVector<Window, 0> windows = {};

  const Window *getWindow(unsigned dim) const {
    for (const Window &window : windows)
      if (window.dim == dim)
        return &window;
    return nullptr;
  }
};

/// The factors of an op. Operands and results that are no ranked tensors have a
/// TensorRule without dimensions.
struct ShardingRule {
  SmallVector<Factor, 6> factors;
  SmallVector<TensorRule, 4> operands;
  SmallVector<TensorRule, 2> results;
  /// Operands that the results are accumulated onto: where a reduction factor
  /// is sharded they must be partial as well, lest they be counted on every
  /// device.
  SmallVector<unsigned, 2> inits;
  /// Work done rather than data moved: decides the order of propagation.
  bool isContraction = false;
  /// Whether makeLocal keeps padding out of what is combined. Where it does
  /// not, a reduction factor is sharded only where it divides evenly.
  bool masksPadding = false;

  /// Appends a factor and returns its number.
  unsigned addFactor(int64_t size, FactorKind kind = FactorKind::Parallel,
                     ReductionKind reduction = ReductionKind::Sum) {
    Factor factor{size, kind};
    factor.reduction = reduction;
    factors.push_back(std::move(factor));
    return factors.size() - 1;
  }

  /// The combiner of a factor in a result; none where sharding the factor does
  /// not make the result partial.
  std::optional<ReductionKind> getReduction(unsigned factor,
                                            unsigned result) const;

  /// The sharding of each factor of a dimension that is a product of `list`,
  /// where the dimension is sharded as `dim`; of what does not fit the major
  /// axes.
  SmallVector<DimShardingAttr, 2> splitDim(const MeshLayout &layout,
                                           ArrayRef<unsigned> list,
                                           DimShardingAttr dim) const;
  /// The sharding of such a dimension where the op's factors are sharded as
  /// `shardings`; null where there is none.
  DimShardingAttr joinDim(const MeshLayout &layout, ArrayRef<unsigned> list,
                          ArrayRef<DimShardingAttr> shardings) const;
  /// The same for all dimensions of a tensor; false where one has none.
  bool joinDims(const MeshLayout &layout, const TensorRule &tensor,
                ArrayRef<DimShardingAttr> shardings,
                SmallVectorImpl<DimShardingAttr> &out) const;

  /// The result that an operand of `inits` is accumulated into: in destination
  /// style the one it is tied to, else the i-th init belongs to the i-th
  /// result.
  unsigned getResultOfInit(Operation *op, unsigned operand) const;
};

/// Where sizes of dimensions come from, remembered, so that a chain of ops is
/// traced back once. Valid as long as the ops do not change.
class SizeOrigins {
public:
  /// A number, an index, or the dimension of a tensor.
  struct Origin {
    OpFoldResult size;
    Value tensor;
    int64_t dim = -1;
  };
  Origin get(OpFoldResult size);
  Origin get(Value tensor, int64_t dim);
  void clear() { known.clear(); }

  /// Whether `size` is surely that of dimension `dim` of `tensor`: equal
  /// numbers, or both traced back to the same origin.
  bool isSizeOf(OpFoldResult size, Value tensor, int64_t dim);

private:
  Origin trace(Origin origin);
  llvm::DenseMap<std::pair<Value, int64_t>, Origin> known;
};

/// What becomes of the results of an op whose operands flagged in `partial` are
/// partial of one kind over the same axes, the others not.
enum class PartialResult : uint8_t {
  /// The op does not commute with the reduction: reduce first.
  Illegal,
  /// The results are partial in the same way.
  Partial,
};

/// What an op needs to know of its surroundings to become local.
struct LocalView {
  const MeshLayout &layout;
  /// Placements of the operands and results; null for what is no tensor.
  ArrayRef<ShardingAttr> operands;
  ArrayRef<ShardingAttr> results;
  /// Types of the operands before they became local.
  ArrayRef<Type> operandTypes;
};

/// Gives every result of `op` the type of its local part.
LogicalResult setLocalResultTypes(Operation *op, const LocalView &view);

} // namespace mlir::dist

#include "dialects/dist/Interfaces/ShardingRuleOpInterface.h.inc"

namespace mlir::dist {

/// The op's rule: its own, that of its interface, or, for ops without one, the
/// rule in which everything is replicated (`isFallback` then says so).
ShardingRule getShardingRule(Operation *op, bool *isFallback = nullptr);
/// The same for one op of many: `sizes` keeps what was found of their sizes.
ShardingRule getShardingRule(Operation *op, SizeOrigins &sizes,
                             bool *isFallback = nullptr);

/// Registers the interface on the ops of linalg, tensor, arith, math, scf,
/// func.
void registerShardingRules(DialectRegistry &registry);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_INTERFACES_SHARDINGRULE_H
