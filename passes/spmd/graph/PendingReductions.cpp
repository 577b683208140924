//===- PendingReductions.cpp - What sharded factors leave to do -----------===//

#include "passes/spmd/graph/PendingReductions.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::dist;

Reduced mlir::dist::getReduced(const MeshLayout &layout,
                               const ShardingRule &rule,
                               ArrayRef<DimShardingAttr> factors,
                               unsigned result) {
  Reduced reduced;
  for (auto [index, sharding] : llvm::enumerate(factors)) {
    if (sharding == layout.none())
      continue;
    std::optional<ReductionKind> kind = rule.getReduction(index, result);
    if (!kind)
      continue;
    reduced.kind = *kind;
    llvm::append_range(reduced.axes, sharding.getAllAxes());
    reduced.factor = index;
  }
  return reduced;
}

bool mlir::dist::areKindsApart(const ShardingRule &rule, unsigned a,
                               unsigned b) {
  if (rule.factors[a].kind != FactorKind::Reduction ||
      rule.factors[b].kind != FactorKind::Reduction)
    return false;
  for (unsigned result = 0; result < rule.results.size(); ++result) {
    std::optional<ReductionKind> left = rule.getReduction(a, result);
    std::optional<ReductionKind> right = rule.getReduction(b, result);
    if (left && right && left != right)
      return true;
  }
  return false;
}

void mlir::dist::addPending(const MeshLayout &layout,
                            SmallVectorImpl<AxisRefAttr> &axes,
                            ArrayRef<AxisRefAttr> passed) {
  llvm::append_range(axes, passed);
  llvm::sort(axes, [](AxisRefAttr a, AxisRefAttr b) {
    return std::make_tuple(a.getName(), a.getPre()) <
           std::make_tuple(b.getName(), b.getPre());
  });
  layout.coalesce(axes);
}

TypedAttr mlir::dist::getConstantNumber(Value value) {
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    value = fill.getInputs()[0];
  TypedAttr attr;
  if (!matchPattern(value, m_Constant(&attr)))
    return {};
  if (auto elements = dyn_cast<SplatElementsAttr>(attr))
    return cast<TypedAttr>(elements.getSplatValue<Attribute>());
  return isa<FloatAttr, IntegerAttr>(attr) ? attr : TypedAttr();
}

bool mlir::dist::isNeutral(Value value, ReductionKind kind) {
  TypedAttr attr = getConstantNumber(value);
  if (auto number = dyn_cast_or_null<FloatAttr>(attr)) {
    APFloat x = number.getValue();
    switch (kind) {
    case ReductionKind::Sum:
      return x.isZero();
    case ReductionKind::Prod:
      return x.isExactlyValue(1.0);
    case ReductionKind::Max:
      return x.isInfinity() && x.isNegative();
    case ReductionKind::Min:
      return x.isInfinity() && !x.isNegative();
    default:
      return false;
    }
  }
  if (auto number = dyn_cast_or_null<IntegerAttr>(attr)) {
    APInt x = number.getValue();
    switch (kind) {
    case ReductionKind::Sum:
    case ReductionKind::Or:
      return x.isZero();
    case ReductionKind::Prod:
      return x.isOne();
    case ReductionKind::Max:
      return x.isMinSignedValue();
    case ReductionKind::Min:
      return x.isMaxSignedValue();
    case ReductionKind::And:
      return x.isAllOnes();
    }
  }
  return false;
}
