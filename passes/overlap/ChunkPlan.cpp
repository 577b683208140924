//===- ChunkPlan.cpp - What is cut with a collective ----------------------===//

#include "passes/overlap/ChunkPlan.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/Interfaces/Placement.h"
#include "passes/bounds/Bounds.h"
#include "passes/cost/Work.h"
#include <queue>
#include <vector>

using namespace mlir;
using namespace mlir::dist;

/// Whether what the collective does leaves elements of different places along
/// `dim` apart.
static bool leavesApart(Operation *op, int64_t dim) {
  auto is = [&](uint64_t other) { return static_cast<int64_t>(other) == dim; };
  if (isa<AllReduceOp, BroadcastOp, SendRecvOp>(op))
    return true;
  if (auto gather = dyn_cast<AllGatherOp>(op))
    return !is(gather.getDim());
  if (auto scatter = dyn_cast<ReduceScatterOp>(op))
    return !is(scatter.getDim());
  if (auto exchange = dyn_cast<AllToAllOp>(op))
    return !is(exchange.getSplitDim()) && !is(exchange.getConcatDim());
  if (auto halo = dyn_cast<HaloExchangeOp>(op))
    return !is(halo.getDim());
  return false;
}

FailureOr<std::optional<int64_t>> mlir::dist::findLoopDim(AffineMap map,
                                                          unsigned loop) {
  std::optional<int64_t> found;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    if (!expr.isFunctionOfDim(loop))
      continue;
    if (found || !isa<AffineDimExpr>(expr))
      return failure();
    found = dim;
  }
  return found;
}

/// The loop along dimension `dim` of an operand or of the result, by the number
/// of its map, if the op can be done in parts of it.
static FailureOr<unsigned> findLoop(linalg::LinalgOp op, unsigned operand,
                                    int64_t dim) {
  if (!op.hasPureTensorSemantics() || op->getNumResults() != 1 ||
      op.hasIndexSemantics() || op.hasDynamicShape())
    return failure();
  auto maps = op.getIndexingMapsArray();
  auto expr = dyn_cast<AffineDimExpr>(maps[operand].getResult(dim));
  if (!expr || op.getIteratorTypesArray()[expr.getPosition()] !=
                   utils::IteratorType::parallel)
    return failure();
  unsigned loop = expr.getPosition();
  for (AffineMap map : maps)
    if (failed(findLoopDim(map, loop)))
      return failure();
  return loop;
}

bool mlir::dist::isInChunks(Value value, int64_t dim, int64_t chunks) {
  auto joined = value.getDefiningOp<tensor::ConcatOp>();
  int64_t size = typeOf(value).getDimSize(dim);
  if (!joined || static_cast<int64_t>(joined.getDim()) != dim ||
      joined.getNumOperands() != chunks)
    return false;
  for (auto [number, part] : llvm::enumerate(joined.getInputs())) {
    int64_t from = size * number / chunks, to = size * (number + 1) / chunks;
    if (typeOf(part).getDimSize(dim) != to - from)
      return false;
  }
  return true;
}

/// The elementwise ops between chunks of the collective before and a product:
/// nothing has to be concatenated for them if nothing else reads their results.
static void addBetween(ChunkPlan &plan, ChunkedOp product, int64_t chunks) {
  // By op: its loop, and whether it depends on chunks.
  llvm::MapVector<Operation *, std::pair<unsigned, bool>> found;
  auto visit = [&](auto &&visit, Value value, int64_t dim) -> bool {
    if (isInChunks(value, dim, chunks))
      return true;
    auto op = value.getDefiningOp<linalg::LinalgOp>();
    if (!op || op->getBlock() != product.op->getBlock() ||
        found.size() >= kMostCutOps || op.getNumReductionLoops() > 0 ||
        isa<linalg::FillOp>(op))
      return false;
    FailureOr<unsigned> loop = findLoop(op, op->getNumOperands() - 1, dim);
    if (failed(loop))
      return false;
    if (auto known = found.find(op); known != found.end())
      return known->second.first == *loop && known->second.second;
    bool isOfChunks = false;
    found[op] = {*loop, false};
    for (OpOperand *operand : op.getDpsInputOperands())
      if (auto along = *findLoopDim(op.getMatchingIndexingMap(operand), *loop))
        isOfChunks |= visit(visit, operand->get(), *along);
    found[op] = {*loop, isOfChunks};
    return isOfChunks;
  };
  for (OpOperand *operand : product.op.getDpsInputOperands())
    if (auto along = *findLoopDim(product.op.getMatchingIndexingMap(operand),
                                  product.loop))
      visit(visit, operand->get(), *along);
  // Users come after their operands.
  SmallVector<Operation *> ops;
  for (auto &[op, chunked] : found)
    if (chunked.second)
      ops.push_back(op);
  llvm::sort(ops,
             [](Operation *x, Operation *y) { return y->isBeforeInBlock(x); });
  DenseSet<Operation *> kept = {product.op};
  for (Operation *op : ops)
    if (llvm::all_of(op->getUsers(),
                     [&](Operation *user) { return kept.contains(user); })) {
      kept.insert(op);
      plan.producers.push_back({cast<linalg::LinalgOp>(op), found[op].first});
    }
}

std::optional<int64_t>
mlir::dist::findBlocksOf(ArrayRef<ReassociationIndices> groups, int64_t dim) {
  for (auto [narrow, group] : llvm::enumerate(groups))
    if (group.size() == 2 && group.front() == dim)
      return narrow;
  return std::nullopt;
}

/// Adds the ops that compute the operand and are split with the collective.
static void addProducers(ChunkPlan &plan) {
  Operation *collective = plan.collective;
  int64_t dim = plan.dim;
  // Back over values that nothing else reads, up to a product.
  SmallVector<std::pair<Value, int64_t>> pending = {
      {collective->getOperand(0), dim}};
  Block *block = collective->getBlock();
  if (auto expand =
          collective->getOperand(0).getDefiningOp<tensor::ExpandShapeOp>();
      expand && !plan.isRing && expand->getBlock() == block &&
      expand->hasOneUse() &&
      expand.getResultType().getDimSize(dim) % plan.chunks == 0)
    if (auto narrow = findBlocksOf(expand.getReassociationIndices(), dim)) {
      plan.apart = expand;
      pending.front() = {expand.getSrc(), *narrow};
    }
  while (!pending.empty() && plan.producers.size() < kMostCutOps) {
    auto [value, at] = pending.pop_back_val();
    if (!plan.isRing && isInChunks(value, at, plan.chunks))
      ++plan.products;
    auto op = value.getDefiningOp<linalg::LinalgOp>();
    if (!op || op->getBlock() != block || !value.hasOneUse() ||
        isa<linalg::FillOp>(op))
      continue;
    FailureOr<unsigned> loop = findLoop(op, op->getNumOperands() - 1, at);
    if (failed(loop))
      continue;
    plan.producers.push_back({op, *loop});
    if (isSumOfProducts(op)) {
      ++plan.products;
      if (!plan.isRing)
        addBetween(plan, {op, *loop}, plan.chunks);
      continue;
    }
    for (OpOperand &operand : op->getOpOperands())
      if (auto along = *findLoopDim(op.getMatchingIndexingMap(&operand), *loop))
        pending.push_back({operand.get(), *along});
  }
  llvm::sort(plan.producers, [](const ChunkedOp &x, const ChunkedOp &y) {
    return x.op->isBeforeInBlock(y.op);
  });
}

/// Adds the ops that read the result and are split with the collective.
static void addConsumers(ChunkPlan &plan) {
  Operation *collective = plan.collective;
  int64_t dim = plan.dim;
  Block *block = collective->getBlock();
  // Forward in the block's order, up to products. Ops that need more than the
  // values before the first of them belong to later ones.
  llvm::MapVector<Value, int64_t> cut;
  auto isAfter = [](Operation *x, Operation *y) {
    return y->isBeforeInBlock(x);
  };
  std::priority_queue<Operation *, std::vector<Operation *>, decltype(isAfter)>
      readers(isAfter);
  DenseSet<Operation *> seen;
  auto addCut = [&](Value value, int64_t at) {
    cut[value] = at;
    for (Operation *user : value.getUsers())
      if (user->getBlock() == block && seen.insert(user).second)
        readers.push(user);
  };
  addCut(collective->getResult(0), dim);
  Operation *product = nullptr;
  auto isThere = [&](Value value) {
    Operation *maker = value.getDefiningOp();
    return !product || !maker || maker->getBlock() != block ||
           maker->isBeforeInBlock(product) ||
           isa<tensor::EmptyOp, linalg::FillOp>(maker) ||
           maker->hasTrait<OpTrait::ConstantLike>();
  };
  while (!readers.empty() && plan.consumers.size() < kMostCutOps) {
    auto op = dyn_cast<linalg::LinalgOp>(readers.top());
    readers.pop();
    if (!op)
      continue;
    FailureOr<unsigned> loop = failure();
    for (OpOperand &operand : op->getOpOperands())
      if (auto found = cut.find(operand.get());
          found != cut.end() && failed(loop))
        loop = findLoop(op, operand.getOperandNumber(), found->second);
    if (failed(loop))
      continue;
    // All of its operands that are in chunks are so along this loop.
    bool isSame = llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
      auto found = cut.find(operand.get());
      if (found == cut.end())
        return isThere(operand.get());
      auto along = *findLoopDim(op.getMatchingIndexingMap(&operand), *loop);
      return along && *along == found->second;
    });
    auto along = *findLoopDim(op.getIndexingMapsArray().back(), *loop);
    if (!isSame || !along)
      continue;
    plan.consumers.push_back({op, *loop});
    if (!isSumOfProducts(op)) {
      addCut(op->getResult(0), *along);
      continue;
    }
    ++plan.products;
    if (!product)
      product = op;
  }
}

/// The ops that are split with a collective along `dim`.
static ChunkPlan makePlan(Operation *collective, int64_t dim, int64_t chunks) {
  ChunkPlan plan{collective, dim, chunks};
  addProducers(plan);
  addConsumers(plan);
  return plan;
}

std::optional<ChunkPlan> mlir::dist::findChunks(Operation *collective,
                                                int64_t chunks) {
  std::optional<ChunkPlan> best;
  auto type = dyn_cast<RankedTensorType>(collective->getResult(0).getType());
  for (int64_t dim = 0; type && dim < type.getRank(); ++dim) {
    if (!leavesApart(collective, dim) || type.isDynamicDim(dim) ||
        type.getDimSize(dim) < chunks ||
        typeOf(collective->getOperand(0)).getDimSize(dim) !=
            type.getDimSize(dim))
      continue;
    ChunkPlan plan = makePlan(collective, dim, chunks);
    if (plan.products > (best ? best->products : 0))
      best = std::move(plan);
  }
  return best;
}

FailureOr<ChunkPlan> mlir::dist::findRing(Operation *collective, MeshOp mesh) {
  auto isWhole = [](RankedTensorType whole, RankedTensorType part, int64_t dim,
                    int64_t devices) {
    return whole.hasStaticShape() && part.hasStaticShape() && devices > 1 &&
           whole.getDimSize(dim) == devices * part.getDimSize(dim);
  };
  auto getDevices = [&](ArrayAttr axes) {
    return MeshLayout(mesh).size(getAxisRefs(axes));
  };
  if (auto gather = dyn_cast<AllGatherOp>(collective)) {
    ChunkPlan plan{collective, static_cast<int64_t>(gather.getDim()),
                   getDevices(gather.getAxes()), /*isRing=*/true};
    if (!isWhole(gather.getResult().getType(), gather.getOperand().getType(),
                 plan.dim, plan.chunks))
      return failure();
    addConsumers(plan);
    return plan;
  }
  auto scatter = dyn_cast<ReduceScatterOp>(collective);
  if (!scatter || scatter.getReduction() != ReductionKind::Sum)
    return failure();
  ChunkPlan plan{collective, static_cast<int64_t>(scatter.getDim()),
                 getDevices(scatter.getAxes()), /*isRing=*/true};
  if (!isWhole(scatter.getOperand().getType(), scatter.getResult().getType(),
               plan.dim, plan.chunks))
    return failure();
  addProducers(plan);
  return plan;
}
