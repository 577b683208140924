//===- LookupRules.cpp - Elements and rows by their indices ---------------===//
//
// A sharded table makes partial sums of what is looked up, zero where the row
// is elsewhere; what rows are written to must be whole along the dimensions
// that indices name. A single element is written by the device that has its
// place; one that is read is needed everywhere, as a number, which cannot be
// pending.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Program.h"
#include "dialects/dist/Interfaces/RuleModels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dist;

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

/// The rows that `numbers` name along `dims` of a table of the type `table`,
/// placed as `tableDims`, of which a device has the part `rows`: numbers within
/// that, those of other devices 0, and for each which it is.
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
  // What is nowhere is an error, as it is on one device.
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

/// `rows`, of which the first dimensions are those of `areHere`, with zeros for
/// those that are not.
static linalg::GenericOp maskRows(OpBuilder &b, Location loc, Value rows,
                                  Value areHere) {
  auto type = cast<RankedTensorType>(rows.getType());
  AffineMap all = b.getMultiDimIdentityMap(type.getRank());
  int64_t batch = cast<RankedTensorType>(areHere.getType()).getRank();
  SmallVector<utils::IteratorType> parallel(type.getRank(),
                                            utils::IteratorType::parallel);
  Value empty = tensor::EmptyOp::create(
      b, loc, tensor::getMixedSizes(b, loc, rows), type.getElementType());
  return linalg::GenericOp::create(
      b, loc, type, ValueRange{rows, areHere}, empty,
      ArrayRef<AffineMap>{all, getMajorDims(b, type.getRank(), batch), all},
      parallel, [](OpBuilder &b, Location loc, ValueRange args) {
        Value zero =
            arith::ConstantOp::create(b, loc, b.getZeroAttr(args[0].getType()));
        Value kept = arith::SelectOp::create(b, loc, args[1], args[0], zero);
        linalg::YieldOp::create(b, loc, kept);
      });
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
    int64_t resultDim = batch;
    for (int64_t dim = 0; dim < source.getRank(); ++dim) {
      int64_t size = source.getDimSize(dim);
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

    // Zero what other devices hold.
    b.setInsertionPointAfter(op);
    auto masked = maskRows(b, loc, gather.getResult(), rows.areHere);
    gather.getResult().replaceUsesWithIf(
        masked.getResult(0), [&](OpOperand &use) {
          return use.getOwner() != masked &&
                 !isa<tensor::DimOp>(use.getOwner());
        });
    return success();
  }
};

/// Each device adds the rows that it has to those that it has: updates that are
/// shared out leave a sum pending, and rows of others are added as zeros.
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
    for (int64_t dim = 0; dim < batch; ++dim) {
      unsigned factor =
          rule.addFactor(indices.getDimSize(dim), FactorKind::Reduction);
      rule.operands[0].dims[dim].push_back(factor);
      rule.operands[2].dims[dim].push_back(factor);
    }
    int64_t sourceDim = batch;
    for (int64_t dim = 0; dim < dest.getRank(); ++dim) {
      bool isNamed = llvm::is_contained(scatter.getDims(), dim);
      unsigned factor = rule.addFactor(dest.getDimSize(dim));
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
    // What is padding adds nothing, to some row that there is.
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
        maskRows(b, loc, scatter.getSource(), rows.areHere).getResult(0));
    return success();
  }
};

/// Every update is needed everywhere, as is every place it may go to; what
/// updates are made of is sharded like what they are written to.
struct ScatterModel
    : ShardingRuleOpInterface::ExternalModel<ScatterModel, tensor::ScatterOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto scatter = cast<tensor::ScatterOp>(op);
    RankedTensorType source = scatter.getSourceType();
    RankedTensorType dest = scatter.getDestType();
    int64_t updates = scatter.getIndicesType().getRank() - 1;
    bool keepsDims = source.getRank() == updates + dest.getRank();
    ShardingRule rule;
    rule.operands.resize(3);
    rule.operands[0].dims.resize(source.getRank());
    rule.operands[1].dims.resize(dest.getRank());
    rule.operands[2].dims.resize(updates + 1);
    for (int64_t dim = 0; dim < updates; ++dim) {
      unsigned factor = rule.addFactor(scatter.getIndicesType().getDimSize(dim),
                                       FactorKind::Replicated);
      rule.operands[0].dims[dim].push_back(factor);
      rule.operands[2].dims[dim].push_back(factor);
    }
    int64_t sourceDim = updates;
    for (int64_t dim = 0; dim < dest.getRank(); ++dim) {
      int64_t size = dest.getDimSize(dim);
      bool isNamed = llvm::is_contained(scatter.getScatterDims(), dim);
      unsigned factor = rule.addFactor(size, isNamed ? FactorKind::Replicated
                                                     : FactorKind::Parallel);
      rule.operands[1].dims[dim].push_back(factor);
      if (!isNamed)
        rule.operands[0].dims[sourceDim].push_back(factor);
      sourceDim += !isNamed || keepsDims;
    }
    rule.results.push_back(rule.operands[1]);
    return rule;
  }
  PartialResult getPartialResult(Operation *, ArrayRef<bool> partial,
                                 ReductionKind) const {
    return partial[0] && partial[1] && !partial[2] ? PartialResult::Partial
                                                   : PartialResult::Illegal;
  }
};

/// Only a whole tensor has the element on every device.
struct ExtractModel
    : ShardingRuleOpInterface::ExternalModel<ExtractModel, tensor::ExtractOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule;
    rule.operands.resize(op->getNumOperands());
    rule.results.resize(1);
    for (int64_t size :
         cast<tensor::ExtractOp>(op).getTensor().getType().getShape())
      rule.operands[0].dims.push_back(
          {rule.addFactor(size, FactorKind::Replicated)});
    return rule;
  }
};

/// All devices write, those that have not the place what is there already.
struct InsertModel
    : ShardingRuleOpInterface::ExternalModel<InsertModel, tensor::InsertOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule;
    rule.operands.resize(op->getNumOperands());
    for (int64_t size :
         cast<tensor::InsertOp>(op).getDest().getType().getShape())
      rule.operands[1].dims.push_back({rule.addFactor(size)});
    rule.results.push_back(rule.operands[1]);
    return rule;
  }
  LogicalResult makeLocal(Operation *op, OpBuilder &b,
                          const LocalView &view) const {
    auto insert = cast<tensor::InsertOp>(op);
    auto whole = cast<RankedTensorType>(view.operandTypes[1]);
    ArrayRef<DimShardingAttr> dims = view.operands[1].getDims();
    if (llvm::all_equal(dims) &&
        (dims.empty() || dims.front() == view.layout.none()))
      return setLocalResultTypes(op, view);
    Location loc = op->getLoc();
    b.setInsertionPoint(op);
    Value isHere;
    SmallVector<Value> indices(insert.getIndices());
    for (auto [dim, index, sharding, size] :
         llvm::enumerate(indices, dims, whole.getShape())) {
      Value localSize;
      if (ShapedType::isDynamic(size))
        localSize = tensor::DimOp::create(b, loc, insert.getDest(), dim);
      // A place that nobody has is an error, as it is on one device.
      Value end = getWholeSize(b, loc, view.layout, sharding, size, localSize);
      Value isInRange =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, index, end);
      cf::AssertOp::create(
          b, loc, isInRange,
          describeOutOfRange("tensor.insert", whole.getShape()));
      if (sharding == view.layout.none())
        continue;
      auto [mine, here] =
          getLocalIndex(b, loc, view.layout, sharding, size, index, localSize);
      index = mine;
      isHere = isHere ? arith::AndIOp::create(b, loc, isHere, here).getResult()
                      : here;
    }
    Value there = tensor::ExtractOp::create(b, loc, insert.getDest(), indices);
    insert.getScalarMutable().assign(
        arith::SelectOp::create(b, loc, isHere, insert.getScalar(), there));
    insert.getIndicesMutable().assign(indices);
    return setLocalResultTypes(op, view);
  }
};
} // namespace

void mlir::dist::attachGradientModels(MLIRContext *context) {
  ScatterAddOp::attachInterface<ScatterAddModel>(*context);
}

void mlir::dist::attachLookupModels(MLIRContext *context) {
  tensor::GatherOp::attachInterface<GatherModel>(*context);
  tensor::ScatterOp::attachInterface<ScatterModel>(*context);
  tensor::ExtractOp::attachInterface<ExtractModel>(*context);
  tensor::InsertOp::attachInterface<InsertModel>(*context);
}
