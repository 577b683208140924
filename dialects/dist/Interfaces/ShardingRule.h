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
  /// If results differ: the combiner in each result, empty for a result that
  /// does not depend on the factor. Empty if they do not differ.
  SmallVector<std::optional<ReductionKind>, 0> reductions = {};
  /// Sharded only if it divides evenly: the size is known in one tensor and
  /// unknown in another, which could not be padded.
  bool evenOnly = false;
  /// Some tensor is accessed in windows along it (TensorRule::windows): its
  /// devices form a line, in which each has one block.
  bool inBlocks = false;

  /// Whether the factor may be sharded like this, judged by its size.
  bool accepts(const MeshLayout &layout, DimShardingAttr sharding) const {
    return (!evenOnly || layout.isEven(sharding, size)) &&
           (!inBlocks || sharding.getSubDims().size() <= 1);
  }
};

/// A dimension of an operand or result that is accessed in windows. Iteration i
/// of its one factor reads, or adds to, `extent` elements from i * stride +
/// offset on. Elements that the tensor does not have are created by the op.
///
/// The dimension has a size of its own. It is cut in even blocks of its own
/// over the devices that shard the factor. A device's iterations may read
/// elements of other devices' blocks: these are exchanged when the op is made
/// local. The local op's operand begins with the first element that the op
/// reads. If a result is accessed in windows, sums for other devices' blocks
/// are sent to their owners and added there. (The halo of stencil codes; GSPMD,
/// Xu et al. 2021, section 4.)
struct Window {
  unsigned dim;
  int64_t stride = 1, extent = 1, offset = 0;
};

/// The factors of each dimension of one operand or result, major to minor. A
/// dimension without factors has size 1 or is broadcast. The sizes of the
/// factors multiply to the dimension's, unless it is accessed in windows.
struct TensorRule {
  SmallVector<SmallVector<unsigned, 1>, 4> dims;
  /// The dimensions that are accessed in windows.
  SmallVector<Window, 0> windows = {};

  const Window *getWindow(unsigned dim) const {
    for (const Window &window : windows)
      if (window.dim == dim)
        return &window;
    return nullptr;
  }
};

/// The factors of an op. Operands and results that are not ranked tensors have
/// a TensorRule without dimensions.
struct ShardingRule {
  SmallVector<Factor, 6> factors;
  SmallVector<TensorRule, 4> operands;
  SmallVector<TensorRule, 2> results;
  /// Operands that the results are accumulated onto. If a reduction factor is
  /// sharded, they must be partial as well; otherwise each device would add
  /// them.
  SmallVector<unsigned, 2> inits;
  /// Whether the op computes rather than moves data. Such ops come later in
  /// propagation.
  bool isContraction = false;
  /// Whether makeLocal keeps padding out of reductions. If it does not, a
  /// reduction factor is sharded only if it divides evenly.
  bool masksPadding = false;

  /// Appends a factor and returns its number.
  unsigned addFactor(int64_t size, FactorKind kind = FactorKind::Parallel,
                     ReductionKind reduction = ReductionKind::Sum) {
    Factor factor{size, kind};
    factor.reduction = reduction;
    factors.push_back(std::move(factor));
    return factors.size() - 1;
  }

  /// The combiner of a factor in a result; empty if sharding the factor does
  /// not make the result partial.
  std::optional<ReductionKind> getReduction(unsigned factor,
                                            unsigned result) const;

  /// The sharding of each factor of a dimension that is the product of `list`
  /// and is sharded as `dim`. Major axes are taken as far as they fit.
  SmallVector<DimShardingAttr, 2> splitDim(const MeshLayout &layout,
                                           ArrayRef<unsigned> list,
                                           DimShardingAttr dim) const;
  /// The sharding of such a dimension if the op's factors are sharded as
  /// `shardings`; null if it has no sharding.
  DimShardingAttr joinDim(const MeshLayout &layout, ArrayRef<unsigned> list,
                          ArrayRef<DimShardingAttr> shardings) const;
  /// The same for all dimensions of a tensor; false if a dimension has no
  /// sharding.
  bool joinDims(const MeshLayout &layout, const TensorRule &tensor,
                ArrayRef<DimShardingAttr> shardings,
                SmallVectorImpl<DimShardingAttr> &out) const;

  /// The result that an operand of `inits` is accumulated into: in destination
  /// style the result that it is tied to, else the i-th result for the i-th
  /// init.
  unsigned getResultOfInit(Operation *op, unsigned operand) const;
};

/// Caches the origins of dimension sizes, so that a chain of ops is traced back
/// only once. Valid as long as the ops do not change.
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

  /// Whether `size` is surely the size of dimension `dim` of `tensor`: equal
  /// numbers, or both traced back to the same origin.
  bool isSizeOf(OpFoldResult size, Value tensor, int64_t dim);

private:
  Origin trace(Origin origin);
  llvm::DenseMap<std::pair<Value, int64_t>, Origin> known;
};

/// The results of an op if the operands flagged in `partial` are partial of one
/// kind over the same axes, and the others are not.
enum class PartialResult : uint8_t {
  /// The op does not commute with the reduction: reduce first.
  Illegal,
  /// The results are partial in the same way.
  Partial,
};

/// The surroundings of an op that is made local.
struct LocalView {
  const MeshLayout &layout;
  /// Placements of the operands and results; null for values that are not
  /// tensors.
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

/// The op's rule: its own, or that of its interface. Ops without a rule get one
/// in which everything is replicated; `isFallback` is then true.
ShardingRule getShardingRule(Operation *op, bool *isFallback = nullptr);
/// The same for one op of many: `sizes` caches the origins of sizes.
ShardingRule getShardingRule(Operation *op, SizeOrigins &sizes,
                             bool *isFallback = nullptr);

/// Registers the interface on the ops of linalg, tensor, arith, math, scf,
/// func.
void registerShardingRules(DialectRegistry &registry);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_INTERFACES_SHARDINGRULE_H
