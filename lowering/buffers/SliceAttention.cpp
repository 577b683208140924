//===- SliceAttention.cpp - Attention in parts, by slices of queries ------===//
//
// A row of weights depends on one query alone. So slices of queries are
// computed one after the other, each over all batches and keys: memory grows
// with the sequence, not with its square. Nothing is decided at run time.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Attention.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "dialects/dist/Utils/Slices.h"
#include "lowering/buffers/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTSLICEATTENTION
#include "lowering/buffers/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {

/// Replaces an attention, or an adjoint, by its parts for slices of queries.
class Slicer {
public:
  explicit Slicer(AttentionLikeOpInterface op)
      : op(op), b(op), loc(op.getLoc()), sizes(op.getDimSizes()) {}

  LogicalResult run(int64_t mostScores);

private:
  /// The results, to which those of `size` queries from `start` on are added.
  FailureOr<SmallVector<Value>> addSlice(OpFoldResult start, int64_t size,
                                         ValueRange results);
  /// The dimension of an operand that runs along queries, if any does.
  std::optional<int64_t> findQueries(unsigned operand);
  /// Counts the slice's queries from `start` on.
  void moveQueries(Region &region, OpFoldResult start);
  bool isInit(unsigned operand) {
    return cast<DestinationStyleOpInterface>(op.getOperation())
        .isDpsInit(&op->getOpOperand(operand));
  }

  AttentionLikeOpInterface op;
  OpBuilder b;
  Location loc;
  SmallVector<int64_t> sizes;
};

} // namespace

std::optional<int64_t> Slicer::findQueries(unsigned operand) {
  AffineExpr queries = b.getAffineDimExpr(op.getQueryDim());
  ArrayRef<AffineExpr> results = op.getMap(operand).getResults();
  const AffineExpr *found = llvm::find(results, queries);
  if (found == results.end())
    return std::nullopt;
  return found - results.begin();
}

void Slicer::moveQueries(Region &region, OpFoldResult start) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&region.front());
  // The last arguments are the query and the key.
  BlockArgument query = region.getArgument(region.getNumArguments() - 2);
  Value first = getValueOrCreateConstantIndexOp(b, loc, start);
  auto moved = arith::AddIOp::create(b, loc, query, first);
  query.replaceAllUsesExcept(moved, moved);
}

FailureOr<SmallVector<Value>> Slicer::addSlice(OpFoldResult start, int64_t size,
                                               ValueRange results) {
  SmallVector<Value> operands;
  SmallVector<std::optional<int64_t>> queries; // of the results
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    std::optional<int64_t> dim = findQueries(number);
    Value tensor = isInit(number) ? Value(results[queries.size()]) : operand;
    if (isInit(number))
      queries.push_back(dim);
    auto type = cast<RankedTensorType>(tensor.getType());
    if (dim)
      tensor = sliceAlong(b, loc, tensor, *dim, start, size);
    else if (isInit(number))
      tensor = tensor::EmptyOp::create(b, loc, type.getShape(),
                                       type.getElementType());
    operands.push_back(tensor);
  }
  SmallVector<Type> types;
  for (Value init : ArrayRef(operands).take_back(queries.size()))
    types.push_back(init.getType());
  auto slice =
      cast<AttentionLikeOpInterface>(mlir::clone(b, op, types, operands));
  slice.setWindow(std::nullopt); // holds where queries are counted from 0
  for (Region &region : slice->getRegions())
    moveQueries(region, start);
  auto parts = cast<linalg::AggregatedOpInterface>(slice.getOperation())
                   .decomposeOperation(b);
  if (failed(parts))
    return failure();
  slice.erase();
  SmallVector<Value> sums;
  for (auto [result, part, dim] : llvm::zip_equal(results, *parts, queries)) {
    if (!dim) {
      sums.push_back(mapElements(
          b, loc, {result, part}, getElementTypeOrSelf(part.getType()),
          [](OpBuilder &b, Location loc, ValueRange args) {
            return createSum(b, loc, args[0], args[1]);
          },
          op->getAttr(kScopeAttr)));
      continue;
    }
    SmallVector<OpFoldResult> offsets(
        cast<RankedTensorType>(result.getType()).getRank(), b.getIndexAttr(0));
    SmallVector<OpFoldResult> steps(offsets.size(), b.getIndexAttr(1));
    offsets[*dim] = start;
    sums.push_back(tensor::InsertSliceOp::create(
        b, loc, part, result, offsets, tensor::getMixedSizes(b, loc, part),
        steps));
  }
  return sums;
}

LogicalResult Slicer::run(int64_t mostScores) {
  int64_t queries = sizes[op.getQueryDim()];
  int64_t size = queries;
  if (int64_t scores = op.getNumScores(); scores > mostScores) {
    int64_t most = std::max<int64_t>(mostScores / (scores / queries), 1);
    // As many slices as it takes, of equal sizes; the rows of products in whole
    // tiles of a library.
    size = llvm::divideCeil(queries, llvm::divideCeil(queries, most));
    if (int64_t whole = llvm::alignTo(size, 32); whole <= most)
      size = whole;
  }
  SmallVector<Value> results(
      cast<DestinationStyleOpInterface>(op.getOperation()).getDpsInits());
  for (auto [result, number] : llvm::zip_equal(
           results, llvm::seq<unsigned>(op->getNumOperands() - results.size(),
                                        op->getNumOperands())))
    if (!findQueries(number) && size < queries) {
      Type element = getElementTypeOrSelf(result.getType());
      Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(element));
      result = linalg::FillOp::create(b, loc, zero, result).getResult(0);
    }
  auto take = [&](FailureOr<SmallVector<Value>> made) -> LogicalResult {
    if (failed(made))
      return op->emitOpError("has no parts");
    results = *made;
    return success();
  };
  auto end = [&] {
    op->replaceAllUsesWith(results);
    op->erase();
    return success();
  };
  if (size == queries)
    return succeeded(take(cast<linalg::AggregatedOpInterface>(op.getOperation())
                              .decomposeOperation(b)))
               ? end()
               : failure();
  int64_t whole = queries / size * size;
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  auto loop = scf::ForOp::create(b, loc, constant(0), constant(whole),
                                 constant(size), results);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    if (failed(take(
            addSlice(loop.getInductionVar(), size, loop.getRegionIterArgs()))))
      return failure();
    scf::YieldOp::create(b, loc, results);
  }
  results = loop.getResults();
  if (whole < queries &&
      failed(take(addSlice(b.getIndexAttr(whole), queries - whole, results))))
    return failure();
  return end();
}

namespace {
struct SliceAttention : dist::impl::DistSliceAttentionBase<SliceAttention> {
  using Base = dist::impl::DistSliceAttentionBase<SliceAttention>;
  using Base::Base;

  void runOnOperation() override {
    int64_t most = mostScores;
    if (most < 1) {
      getOperation().emitError("most-scores is ")
          << most << "; it is at least 1";
      return signalPassFailure();
    }
    SmallVector<AttentionLikeOpInterface> ops;
    getOperation().walk(
        [&](AttentionLikeOpInterface op) { ops.push_back(op); });
    for (AttentionLikeOpInterface op : ops)
      if (failed(Slicer(op).run(most)))
        return signalPassFailure();
  }
};
} // namespace
