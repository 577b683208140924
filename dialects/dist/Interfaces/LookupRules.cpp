//===- LookupRules.cpp - Rows by their indices ----------------------------===//
//
// A lookup in a sharded table gives partial sums: zero if the row is on another
// device. Lookups of single elements (ONNX's GatherElements) have tuples as
// indices. All components of a tuple except one are just the position in the
// result. Along these, the table may be sharded like the result.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Interfaces/Lookups.h"
#include "dialects/dist/Interfaces/Reductions.h"
#include "dialects/dist/Interfaces/RuleModels.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// Tuples of indices
//===----------------------------------------------------------------------===//

/// The value as the program has it: where it is on devices changes nothing.
static Value skipPlacement(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<ReshardOp, ShardingConstraintOp, SyncOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The only one of `dims` whose size is not 1, if there is just one.
static std::optional<int64_t> getOnlyLong(ArrayRef<int64_t> dims,
                                          ArrayRef<int64_t> shape) {
  std::optional<int64_t> found;
  for (int64_t dim : dims) {
    if (shape[dim] == 1)
      continue;
    if (found)
      return std::nullopt;
    found = dim;
  }
  return found;
}

/// The dimension of a loop's result that its body yields the index along.
static std::optional<int64_t> getNumberedDim(linalg::GenericOp generic) {
  if (generic.getNumResults() != 1 || !generic.getInputs().empty())
    return std::nullopt;
  auto yield = cast<linalg::YieldOp>(generic.getBody()->getTerminator());
  Value number = yield.getOperand(0);
  while (auto cast = number.getDefiningOp<arith::IndexCastOp>())
    number = cast.getIn();
  auto index = number.getDefiningOp<linalg::IndexOp>();
  if (!index)
    return std::nullopt;
  auto loop = getAffineDimExpr(index.getDim(), generic.getContext());
  AffineMap map = generic.getIndexingMapsArray().back();
  // If it is written only in places, the rest is something else.
  if (!map.isProjectedPermutation())
    return std::nullopt;
  for (auto [dim, expr] : llvm::enumerate(map.getResults()))
    if (expr == loop)
      return dim;
  return std::nullopt;
}

std::optional<int64_t> mlir::dist::getIndexedDim(Value value) {
  value = skipPlacement(value);
  if (auto generic = value.getDefiningOp<linalg::GenericOp>())
    return getNumberedDim(generic);
  if (auto expand = value.getDefiningOp<tensor::ExpandShapeOp>()) {
    std::optional<int64_t> dim = getIndexedDim(expand.getSrc());
    if (!dim)
      return std::nullopt;
    return getOnlyLong(expand.getReassociationIndices()[*dim],
                       expand.getResultType().getShape());
  }
  if (auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>()) {
    std::optional<int64_t> dim = getIndexedDim(collapse.getSrc());
    if (!dim)
      return std::nullopt;
    for (auto [number, group] :
         llvm::enumerate(collapse.getReassociationIndices()))
      if (llvm::is_contained(group, *dim))
        return getOnlyLong(group, collapse.getSrcType().getShape()) == *dim
                   ? std::optional<int64_t>(number)
                   : std::nullopt;
  }
  return std::nullopt;
}

/// For each component of the tuples that the last dimension of `tuples` holds
/// the other dimension, if any, whose index it is at every place. As the
/// program says it: through concatenations, reshapes by dimensions of size 1
/// and reshards. Empty where the number of components is not known.
static SmallVector<std::optional<int64_t>> getTupleDims(Value tuples) {
  int64_t last = cast<RankedTensorType>(tuples.getType()).getRank() - 1;
  SmallVector<std::optional<int64_t>> dims;
  // One of them, whose components are `value`.
  auto add = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.isDynamicDim(last))
      return false;
    std::optional<int64_t> dim;
    if (type.getDimSize(last) == 1)
      dim = getIndexedDim(value);
    if (dim == last)
      dim = std::nullopt;
    dims.append(type.getDimSize(last), dim);
    return true;
  };
  tuples = skipPlacement(tuples);
  auto concat = tuples.getDefiningOp<tensor::ConcatOp>();
  if (concat && static_cast<int64_t>(concat.getDim()) == last) {
    if (!llvm::all_of(concat.getInputs(), add))
      dims.clear();
  } else if (!add(tuples)) {
    dims.clear();
  }
  return dims;
}

/// For each of the table's dimensions in `named` (those that tuples of
/// `indices` index): the dimension of the indices, if any, whose index is that
/// component of the tuples. Then the same part of table and indices is enough.
static llvm::SmallDenseMap<int64_t, int64_t, 4>
getTies(TypedValue<RankedTensorType> indices, RankedTensorType table,
        ArrayRef<int64_t> named) {
  llvm::SmallDenseMap<int64_t, int64_t, 4> ties;
  llvm::SmallDenseSet<int64_t, 4> tied;
  for (auto [dim, batch] : llvm::zip(named, getTupleDims(indices)))
    if (batch && !table.isDynamicDim(dim) &&
        table.getDimSize(dim) == indices.getType().getDimSize(*batch) &&
        tied.insert(*batch).second)
      ties[dim] = *batch;
  return ties;
}

//===----------------------------------------------------------------------===//
// Rows of a device
//===----------------------------------------------------------------------===//

/// The first `count` of `loops` loops.
static AffineMap getMajorDims(Builder &b, int64_t loops, int64_t count) {
  SmallVector<AffineExpr> dims;
  for (int64_t dim = 0; dim < count; ++dim)
    dims.push_back(b.getAffineDimExpr(dim));
  return AffineMap::get(loops, 0, dims, b.getContext());
}

namespace {
/// Numbers of rows and whether a device has them.
struct LocalRows {
  Value numbers, areHere;
};
} // namespace

/// The rows that `numbers` index along `dims` of a table of the type `table`,
/// placed as `tableDims`, of which a device has the part `rows`. Returns
/// indices in that part, 0 for rows of other devices, and for each whether it
/// is in the part.
static LocalRows localize(OpBuilder &b, Location loc, const MeshLayout &layout,
                          Value numbers, Value rows, ArrayRef<int64_t> dims,
                          RankedTensorType table,
                          ArrayRef<DimShardingAttr> tableDims, StringRef what) {
  auto indices = cast<RankedTensorType>(numbers.getType());
  int64_t rank = indices.getRank();
  Type element = indices.getElementType();
  // The rows of a device, where their number is not known.
  SmallVector<Value> tableSizes(table.getRank());
  for (int64_t dim : dims)
    if (table.isDynamicDim(dim))
      tableSizes[dim] = tensor::DimOp::create(b, loc, rows, dim);
  auto toIndex = [&](Value number) {
    return number.getType().isIndex()
               ? number
               : arith::IndexCastOp::create(b, loc, b.getIndexType(), number)
                     .getResult();
  };
  // Of one value for each gathered dimension that of the number in question.
  auto choose = [&](ArrayRef<Value> values) {
    Value which = linalg::IndexOp::create(b, loc, rank - 1);
    Value chosen = values.front();
    for (size_t position = 1; position < values.size(); ++position) {
      Value isThis = arith::CmpIOp::create(
          b, loc, arith::CmpIPredicate::eq, which,
          arith::ConstantIndexOp::create(b, loc, position));
      chosen =
          arith::SelectOp::create(b, loc, isThis, values[position], chosen);
    }
    return chosen;
  };
  // An index outside of the table is an error, as on one device.
  auto checkRange = [&](Value number) {
    SmallVector<Value> ends;
    SmallVector<int64_t> sizes;
    for (int64_t dim : dims) {
      sizes.push_back(table.getDimSize(dim));
      ends.push_back(getWholeSize(b, loc, layout, tableDims[dim], sizes.back(),
                                  tableSizes[dim]));
    }
    Value isInRange = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                            toIndex(number), choose(ends));
    cf::AssertOp::create(b, loc, isInRange, describeOutOfRange(what, sizes));
  };
  // Yields the local row number and whether it is this device's.
  auto locate = [&](Value number) -> std::pair<Value, Value> {
    number = toIndex(number);
    SmallVector<Value> numbers, areHere;
    for (int64_t dim : dims) {
      auto [mine, here] =
          getLocalIndex(b, loc, layout, tableDims[dim], table.getDimSize(dim),
                        number, tableSizes[dim]);
      numbers.push_back(mine);
      areHere.push_back(here);
    }
    return {choose(numbers), choose(areHere)};
  };
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  AffineMap identity = b.getMultiDimIdentityMap(rank);
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, numbers);
  Value empty = tensor::EmptyOp::create(b, loc, sizes, element);
  auto local =
      linalg::GenericOp::create(b, loc, indices, numbers, empty,
                                ArrayRef<AffineMap>{identity, identity}, loops);
  {
    OpBuilder::InsertionGuard guard(b);
    Block *body =
        b.createBlock(&local.getRegion(), {}, {element, element}, {loc, loc});
    checkRange(body->getArgument(0));
    auto [number, isHere] = locate(body->getArgument(0));
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    Value safe = arith::SelectOp::create(b, loc, isHere, number, zero);
    if (!element.isIndex())
      safe = arith::IndexCastOp::create(b, loc, element, safe);
    linalg::YieldOp::create(b, loc, safe);
  }

  // A lookup over several dimensions is here only if all its numbers are.
  auto maskType =
      RankedTensorType::get(indices.getShape().drop_back(), b.getI1Type());
  Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  empty = tensor::EmptyOp::create(b, loc, ArrayRef(sizes).drop_back(),
                                  b.getI1Type());
  Value maskInit = linalg::FillOp::create(b, loc, yes, empty).getResult(0);
  loops.back() = utils::IteratorType::reduction;
  AffineMap rowMap = getMajorDims(b, rank, rank - 1);
  auto mask =
      linalg::GenericOp::create(b, loc, maskType, numbers, maskInit,
                                ArrayRef<AffineMap>{identity, rowMap}, loops);
  {
    OpBuilder::InsertionGuard guard(b);
    Block *body = b.createBlock(&mask.getRegion(), {}, {element, b.getI1Type()},
                                {loc, loc});
    auto [number, isHere] = locate(body->getArgument(0));
    Value all = arith::AndIOp::create(b, loc, isHere, body->getArgument(1));
    linalg::YieldOp::create(b, loc, all);
  }
  return {local.getResult(0), mask.getResult(0)};
}

/// `rows`, whose first dimensions are those of `areHere`, with zeros for rows
/// of other devices.
static Value maskRows(OpBuilder &b, Location loc, Value rows, Value areHere) {
  auto type = cast<RankedTensorType>(rows.getType());
  int64_t batch = cast<RankedTensorType>(areHere.getType()).getRank();
  return mapElements(
      b, loc, {rows, areHere}, type.getElementType(),
      [](OpBuilder &b, Location loc, ValueRange args) -> Value {
        Value nothing = arith::ConstantOp::create(
            b, loc, getNeutral(b, args[0].getType(), ReductionKind::Sum));
        return arith::SelectOp::create(b, loc, args[1], args[0], nothing);
      },
      /*scope=*/nullptr,
      {b.getMultiDimIdentityMap(type.getRank()),
       getMajorDims(b, type.getRank(), batch)});
}

namespace {
struct GatherModel
    : ShardingRuleOpInterface::ExternalModel<GatherModel, tensor::GatherOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto gather = cast<tensor::GatherOp>(op);
    RankedTensorType source = gather.getSourceType();
    RankedTensorType indices = gather.getIndicesType();
    RankedTensorType result = gather.getResultType();
    ArrayRef<int64_t> gatherDims = gather.getGatherDims();
    ShardingRule rule;
    rule.masksPadding = true; // rows that are padding are looked up by nobody
    rule.operands.resize(2);
    rule.results.resize(1);
    rule.operands[0].dims.resize(source.getRank());
    rule.operands[1].dims.resize(indices.getRank());
    rule.results[0].dims.resize(result.getRank());
    int64_t batch = indices.getRank() - 1;
    for (int64_t dim = 0; dim < batch; ++dim) {
      int64_t size = indices.getDimSize(dim);
      unsigned factor = rule.addFactor(size);
      rule.operands[1].dims[dim].push_back(factor);
      rule.results[0].dims[dim].push_back(factor);
    }
    bool keepsDims = result.getRank() == batch + source.getRank();
    bool isBool = source.getElementType().isInteger(1);
    bool isNumber = source.getElementType().isIntOrIndexOrFloat();
    llvm::SmallDenseMap<int64_t, int64_t, 4> ties;
    if (isNumber)
      ties = getTies(gather.getIndices(), source, gatherDims);
    int64_t resultDim = batch;
    for (int64_t dim = 0; dim < source.getRank(); ++dim) {
      int64_t size = source.getDimSize(dim);
      if (auto tie = ties.find(dim); tie != ties.end()) {
        rule.operands[0].dims[dim] = rule.operands[1].dims[tie->second];
        resultDim += keepsDims;
        continue;
      }
      if (llvm::is_contained(gatherDims, dim)) {
        // Rows of other elements (complex numbers) have no sum.
        rule.operands[0].dims[dim].push_back(rule.addFactor(
            size, isNumber ? FactorKind::Reduction : FactorKind::Replicated,
            isBool ? ReductionKind::Or : ReductionKind::Sum));
        resultDim += keepsDims;
        continue;
      }
      unsigned factor = rule.addFactor(size);
      rule.operands[0].dims[dim].push_back(factor);
      rule.results[0].dims[resultDim++].push_back(factor);
    }
    return rule;
  }
  PartialResult getPartialResult(Operation *, ArrayRef<bool> partial,
                                 ReductionKind) const {
    // Rows of a pending table are pending rows.
    return partial[0] && !partial[1] ? PartialResult::Partial
                                     : PartialResult::Illegal;
  }

  LogicalResult makeLocal(Operation *op, OpBuilder &b,
                          const LocalView &view) const {
    auto gather = cast<tensor::GatherOp>(op);
    const MeshLayout &layout = view.layout;
    ArrayRef<int64_t> gatherDims = gather.getGatherDims();
    auto table = cast<RankedTensorType>(view.operandTypes[0]);
    ArrayRef<DimShardingAttr> tableDims = view.operands[0].getDims();
    ArrayRef<DimShardingAttr> indexDims = view.operands[1].getDims();
    auto wholeIndices = cast<RankedTensorType>(view.operandTypes[1]);
    bool sharded = llvm::any_of(gatherDims, [&](int64_t dim) {
      return tableDims[dim] != layout.none();
    });
    if (failed(setLocalResultTypes(op, view)))
      return failure();
    // Padding is in range.
    Location loc = op->getLoc();
    b.setInsertionPoint(op);
    gather.getIndicesMutable().assign(
        fillPadding(b, loc, layout, gather.getIndices(), view.operands[1],
                    wholeIndices.getShape(),
                    llvm::to_vector(llvm::seq<int64_t>(0, indexDims.size()))));
    if (!sharded)
      return success();

    LocalRows rows =
        localize(b, loc, layout, gather.getIndices(), gather.getSource(),
                 gatherDims, table, tableDims, "the gather");
    gather.getIndicesMutable().assign(rows.numbers);

    // Zeros for elements of other devices.
    b.setInsertionPointAfter(op);
    Value masked = maskRows(b, loc, gather.getResult(), rows.areHere);
    gather.getResult().replaceUsesWithIf(masked, [&](OpOperand &use) {
      return use.getOwner() != masked.getDefiningOp() &&
             !isa<tensor::DimOp>(use.getOwner());
    });
    return success();
  }
};

/// Each device adds the rows that it has to those that it owns. Sharded updates
/// leave a sum pending; rows of others are added as zeros.
struct ScatterAddModel
    : ShardingRuleOpInterface::ExternalModel<ScatterAddModel, ScatterAddOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto scatter = cast<ScatterAddOp>(op);
    RankedTensorType source = scatter.getSource().getType();
    RankedTensorType dest = scatter.getDest().getType();
    RankedTensorType indices = scatter.getIndices().getType();
    int64_t batch = indices.getRank() - 1;
    bool keepsDims = source.getRank() == batch + dest.getRank();
    ShardingRule rule;
    rule.masksPadding = true;
    rule.inits = {1};
    rule.operands.resize(3);
    rule.operands[0].dims.resize(source.getRank());
    rule.operands[1].dims.resize(dest.getRank());
    rule.operands[2].dims.resize(indices.getRank());
    auto ties = getTies(scatter.getIndices(), dest, scatter.getDims());
    llvm::SmallDenseSet<int64_t, 4> tied;
    for (auto [dim, batchDim] : ties)
      tied.insert(batchDim);
    for (int64_t dim = 0; dim < batch; ++dim) {
      unsigned factor = rule.addFactor(
          indices.getDimSize(dim),
          tied.contains(dim) ? FactorKind::Parallel : FactorKind::Reduction);
      rule.operands[0].dims[dim].push_back(factor);
      rule.operands[2].dims[dim].push_back(factor);
    }
    int64_t sourceDim = batch;
    for (int64_t dim = 0; dim < dest.getRank(); ++dim) {
      bool isNamed = llvm::is_contained(scatter.getDims(), dim);
      auto tie = ties.find(dim);
      unsigned factor = tie != ties.end()
                            ? rule.operands[2].dims[tie->second][0]
                            : rule.addFactor(dest.getDimSize(dim));
      rule.operands[1].dims[dim].push_back(factor);
      if (!isNamed)
        rule.operands[0].dims[sourceDim].push_back(factor);
      sourceDim += !isNamed || keepsDims;
    }
    rule.results.push_back(rule.operands[1]);
    return rule;
  }
  PartialResult getPartialResult(Operation *, ArrayRef<bool> partial,
                                 ReductionKind kind) const {
    return kind == ReductionKind::Sum && partial[0] && !partial[2]
               ? PartialResult::Partial
               : PartialResult::Illegal;
  }

  LogicalResult makeLocal(Operation *op, OpBuilder &b,
                          const LocalView &view) const {
    auto scatter = cast<ScatterAddOp>(op);
    auto table = cast<RankedTensorType>(view.operandTypes[1]);
    ArrayRef<DimShardingAttr> tableDims = view.operands[1].getDims();
    if (failed(setLocalResultTypes(op, view)))
      return failure();
    // Padding adds zeros, to some existing row.
    Location loc = op->getLoc();
    b.setInsertionPoint(op);
    auto getWhole = [&](unsigned operand) {
      return cast<RankedTensorType>(view.operandTypes[operand]).getShape();
    };
    SmallVector<int64_t> batch = llvm::to_vector(
        llvm::seq<int64_t>(0, scatter.getIndices().getType().getRank() - 1));
    scatter.getSourceMutable().assign(
        fillPadding(b, loc, view.layout, scatter.getSource(), view.operands[0],
                    getWhole(0), batch));
    scatter.getIndicesMutable().assign(
        fillPadding(b, loc, view.layout, scatter.getIndices(), view.operands[2],
                    getWhole(2), batch));
    if (llvm::all_of(scatter.getDims(), [&](int64_t dim) {
          return tableDims[dim] == view.layout.none();
        }))
      return success();
    LocalRows rows =
        localize(b, loc, view.layout, scatter.getIndices(), scatter.getDest(),
                 scatter.getDims(), table, tableDims, "the scatter");
    scatter.getIndicesMutable().assign(rows.numbers);
    scatter.getSourceMutable().assign(
        maskRows(b, loc, scatter.getSource(), rows.areHere));
    return success();
  }
};
} // namespace

void mlir::dist::attachGradientModels(MLIRContext *context) {
  ScatterAddOp::attachInterface<ScatterAddModel>(*context);
}

void mlir::dist::attachLookupModels(MLIRContext *context) {
  tensor::GatherOp::attachInterface<GatherModel>(*context);
}
