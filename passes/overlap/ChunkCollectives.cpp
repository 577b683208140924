//===- ChunkCollectives.cpp - Collectives in chunks, with their products --===//
//
// Splits the collectives of dist.overlap "…" chunks 2 along a dimension that
// they do not touch. The ops of the block that compute the operand, or read the
// result, are split too, up to the nearest products. While one part travels,
// another one is computed (Wang et al., "Overlap communication with dependent
// computation via decomposition", 2023). No sum is split: the dimension is one
// of rows everywhere, or of blocks of columns of one product (queries, keys and
// values) that a reshape separates for the collective.
//
// For a ring, the collective becomes calls to the neighbour, with the blocks of
// the dimension that it gathers or scatters. Readers of the result compute with
// each block as it arrives. Ops that compute the operand compute each block
// before it is sent.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Program.h"
#include "dialects/dist/IR/Streams.h"
#include "dialects/dist/Interfaces/Placement.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "passes/cost/Work.h"
#include "passes/overlap/OverlapProblem.h"
#include "passes/overlap/Passes.h"
#include "passes/schedule/names/ModuleNotes.h"
#include "llvm/ADT/MapVector.h"
#include <queue>
#include <vector>

namespace mlir::dist {
#define GEN_PASS_DEF_DISTCHUNKCOLLECTIVES
#include "passes/overlap/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// The most ops that are cut on either side of a collective: each collective of
/// a long program costs no more than this.
static constexpr unsigned kMostBetween = 64;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

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

namespace {
/// An op that is done in chunks along one of its loops.
struct ChunkedOp {
  linalg::LinalgOp op;
  unsigned loop;
};

/// A collective, the dimension along which it is cut, into how many parts, and
/// the ops that are cut with it, in their order.
struct ChunkPlan {
  Operation *collective;
  int64_t dim;
  int64_t chunks;
  /// Of a ring: parts are of equal size, and number 0 is elsewhere on each
  /// device.
  bool isRing = false;
  SmallVector<ChunkedOp> producers = {}, consumers = {};
  unsigned products = 0;
  /// The op that separates the dimension of blocks from one that a product has;
  /// null if there is no such op.
  tensor::ExpandShapeOp apart = {};
};

class Chunking {
public:
  Chunking(ChunkPlan plan)
      : plan(std::move(plan)), chunks(this->plan.chunks),
        b(this->plan.collective->getContext()) {}
  void write();

private:
  int64_t getSize(int64_t whole, int64_t number) const {
    return whole * (number + 1) / chunks - whole * number / chunks;
  }
  OpFoldResult getBegin(int64_t whole, int64_t number);
  void findPlaces(bool isForward);
  void writeChunks();
  void writeGatherRing(AllGatherOp gather);
  void writeScatterRing(ReduceScatterOp scatter);
  Value passOn(Operation *collective, Value block, int64_t shift);
  void finish();
  Value getPart(Value whole, int64_t dim, int64_t number);
  void writeOp(const ChunkedOp &chunked);
  void writeApart();
  void passSlices();
  void join(Value whole);

  ChunkPlan plan;
  int64_t chunks;
  OpBuilder b;
  /// Of a ring: for each part, by its number, which block of all it is; and
  /// where these begin, by the size of all. They are made before `first`.
  Operation *first = nullptr;
  SmallVector<Value> places;
  DenseMap<int64_t, SmallVector<Value>> begins;
  /// What has been made in chunks, along which dimension.
  llvm::MapVector<Value, std::pair<int64_t, SmallVector<Value>>> made;
};
} // namespace

/// The dimension of an operand along which the loop runs; nothing if it does
/// not. Fails where it does so otherwise than element by element.
static FailureOr<std::optional<int64_t>> findLoopDim(AffineMap map,
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

/// Whether it was put together of such chunks, for the collective before.
static bool isInChunks(Value value, int64_t dim, int64_t chunks) {
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
/// nothing has to be put together for them if nothing else reads what they
/// make.
static void addBetween(ChunkPlan &plan, ChunkedOp product, int64_t chunks) {
  // By op: its loop, and whether it is made of chunks.
  llvm::MapVector<Operation *, std::pair<unsigned, bool>> found;
  auto visit = [&](auto &&visit, Value value, int64_t dim) -> bool {
    if (isInChunks(value, dim, chunks))
      return true;
    auto op = value.getDefiningOp<linalg::LinalgOp>();
    if (!op || op->getBlock() != product.op->getBlock() ||
        found.size() >= kMostBetween || op.getNumReductionLoops() > 0 ||
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
  // Users come after what they use.
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

/// The dimension that a reshape splits into blocks (its dimension `dim`) and
/// their contents (the next one); empty if it does not.
static std::optional<int64_t>
findBlocksOf(ArrayRef<ReassociationIndices> groups, int64_t dim) {
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
  while (!pending.empty() && plan.producers.size() < kMostBetween) {
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
  while (!readers.empty() && plan.consumers.size() < kMostBetween) {
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

/// What is cut with a collective along `dim`.
static ChunkPlan makePlan(Operation *collective, int64_t dim, int64_t chunks) {
  ChunkPlan plan{collective, dim, chunks};
  addProducers(plan);
  addConsumers(plan);
  return plan;
}

/// Rewrites a collective as a ring; fails if that is impossible.
static FailureOr<ChunkPlan> makeRing(Operation *collective, MeshOp mesh) {
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

/// Part `number` of a ring is block `places[number]`: from this device on
/// forward, or from the one before it backward.
void Chunking::findPlaces(bool isForward) {
  first = plan.producers.empty() ? plan.collective
                                 : plan.producers.front().op.getOperation();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(first);
  Location loc = plan.collective->getLoc();
  auto axes = plan.collective->getAttrOfType<ArrayAttr>("axes");
  auto mesh = plan.collective->getAttrOfType<FlatSymbolRefAttr>("mesh");
  Value here = AxisIndexOp::create(b, loc, axes, mesh);
  Value devices = arith::ConstantIndexOp::create(b, loc, chunks);
  for (int64_t number = 0; number < chunks; ++number) {
    Value apart = arith::ConstantIndexOp::create(
        b, loc, isForward ? number : chunks - 1 - number);
    places.push_back(arith::RemUIOp::create(
        b, loc, arith::AddIOp::create(b, loc, here, apart), devices));
  }
}

/// Where part `number` of `whole` elements begins.
OpFoldResult Chunking::getBegin(int64_t whole, int64_t number) {
  if (!plan.isRing)
    return b.getIndexAttr(whole * number / chunks);
  SmallVector<Value> &known = begins[whole];
  if (known.empty()) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(first);
    Location loc = plan.collective->getLoc();
    Value size = arith::ConstantIndexOp::create(b, loc, whole / chunks);
    for (Value place : places)
      known.push_back(arith::MulIOp::create(b, loc, place, size));
  }
  return known[number];
}

Value Chunking::getPart(Value whole, int64_t dim, int64_t number) {
  if (auto found = made.find(whole);
      found != made.end() && found->second.first == dim)
    return found->second.second[number];
  if (!plan.isRing && isInChunks(whole, dim, chunks))
    return whole.getDefiningOp<tensor::ConcatOp>().getInputs()[number];
  RankedTensorType type = typeOf(whole);
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = getSize(type.getDimSize(dim), number);
  Location loc = whole.getLoc();
  if (whole.getDefiningOp<tensor::EmptyOp>())
    return tensor::EmptyOp::create(b, loc, shape, type.getElementType());
  if (auto fill = whole.getDefiningOp<linalg::FillOp>())
    return linalg::FillOp::create(b, loc, fill.getInputs(),
                                  Value(tensor::EmptyOp::create(
                                      b, loc, shape, type.getElementType())))
        .getResult(0);
  DenseElementsAttr constant;
  if (matchPattern(whole, m_Constant(&constant)) && constant.isSplat())
    return arith::ConstantOp::create(b, loc,
                                     constant.resizeSplat(type.clone(shape)));
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
      strides(type.getRank(), b.getIndexAttr(1));
  offsets[dim] = getBegin(type.getDimSize(dim), number);
  return tensor::ExtractSliceOp::create(
      b, loc, type.clone(shape), whole, offsets,
      getAsIndexOpFoldResult(b.getContext(), shape), strides);
}

void Chunking::writeOp(const ChunkedOp &chunked) {
  linalg::LinalgOp op = chunked.op;
  b.setInsertionPoint(op);
  SmallVector<Value> parts;
  int64_t result =
      **findLoopDim(op.getIndexingMapsArray().back(), chunked.loop);
  for (int64_t number = 0; number < chunks; ++number) {
    SmallVector<Value> operands;
    for (OpOperand &operand : op->getOpOperands()) {
      auto dim =
          *findLoopDim(op.getMatchingIndexingMap(&operand), chunked.loop);
      operands.push_back(dim ? getPart(operand.get(), *dim, number)
                             : operand.get());
    }
    parts.push_back(
        clone(b, op.getOperation(), operands.back().getType(), operands)
            ->getResult(0));
  }
  made[op->getResult(0)] = {result, std::move(parts)};
}

/// The chunks of a value that is split.
void Chunking::writeApart() {
  tensor::ExpandShapeOp expand = plan.apart;
  b.setInsertionPoint(expand);
  int64_t narrow = *findBlocksOf(expand.getReassociationIndices(), plan.dim);
  SmallVector<int64_t> shape(expand.getResultType().getShape());
  shape[plan.dim] /= chunks;
  SmallVector<Value> parts;
  for (int64_t number = 0; number < chunks; ++number) {
    auto part = tensor::ExpandShapeOp::create(
        b, expand.getLoc(), expand.getResultType().clone(shape),
        getPart(expand.getSrc(), narrow, number),
        expand.getReassociationIndices());
    part->setDiscardableAttrs(expand->getDiscardableAttrDictionary());
    parts.push_back(part);
  }
  made[expand.getResult()] = {plan.dim, std::move(parts)};
}

/// Who takes slices of blocks that were merged again takes them of the chunk
/// that they are in.
void Chunking::passSlices() {
  Value whole = plan.collective->getResult(0);
  // For blocks of which each chunk has the same number.
  if (typeOf(whole).getDimSize(plan.dim) % chunks)
    return;
  ArrayRef<Value> parts = made[whole].second;
  for (Operation *user : llvm::make_early_inc_range(whole.getUsers())) {
    auto collapse = dyn_cast<tensor::CollapseShapeOp>(user);
    if (!collapse)
      continue;
    auto narrow = findBlocksOf(collapse.getReassociationIndices(), plan.dim);
    if (!narrow)
      continue;
    SmallVector<int64_t> shape(collapse.getResultType().getShape());
    int64_t size = shape[*narrow] / chunks;
    shape[*narrow] = size;
    SmallVector<Value> merged(chunks);
    for (Operation *reader :
         llvm::make_early_inc_range(collapse.getResult().getUsers())) {
      auto slice = dyn_cast<tensor::ExtractSliceOp>(reader);
      if (!slice)
        continue;
      int64_t offset = slice.getStaticOffsets()[*narrow],
              count = slice.getStaticSizes()[*narrow];
      if (ShapedType::isDynamic(offset) || ShapedType::isDynamic(count) ||
          slice.getStaticStrides()[*narrow] != 1 || count == 0 ||
          offset / size != (offset + count - 1) / size)
        continue;
      int64_t number = offset / size;
      if (!merged[number]) {
        b.setInsertionPoint(collapse);
        auto op = tensor::CollapseShapeOp::create(
            b, collapse.getLoc(), collapse.getResultType().clone(shape),
            parts[number], collapse.getReassociationIndices());
        op->setDiscardableAttrs(collapse->getDiscardableAttrDictionary());
        merged[number] = op;
      }
      SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
      offsets[*narrow] = b.getIndexAttr(offset % size);
      b.setInsertionPoint(slice);
      auto taken = tensor::ExtractSliceOp::create(
          b, slice.getLoc(), slice.getType(), merged[number], offsets,
          slice.getMixedSizes(), slice.getMixedStrides());
      taken->setDiscardableAttrs(slice->getDiscardableAttrDictionary());
      slice.replaceAllUsesWith(taken.getResult());
      slice.erase();
    }
    if (collapse->use_empty())
      collapse.erase();
  }
}

/// Whoever reads all of it gets it in one piece.
void Chunking::join(Value whole) {
  if (whole.use_empty())
    return;
  Operation *maker = whole.getDefiningOp();
  b.setInsertionPointAfter(maker);
  auto &[dim, parts] = made[whole];
  Operation *joined = nullptr;
  if (!plan.isRing) {
    joined = tensor::ConcatOp::create(b, whole.getLoc(), dim, parts);
  } else {
    RankedTensorType type = typeOf(whole);
    Value into = tensor::EmptyOp::create(b, whole.getLoc(), type.getShape(),
                                         type.getElementType());
    SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
        strides(type.getRank(), b.getIndexAttr(1));
    for (auto [number, part] : llvm::enumerate(parts)) {
      offsets[dim] = getBegin(type.getDimSize(dim), number);
      joined = tensor::InsertSliceOp::create(
          b, whole.getLoc(), part, into, offsets,
          getAsIndexOpFoldResult(b.getContext(), typeOf(part).getShape()),
          strides);
      into = joined->getResult(0);
    }
  }
  if (Attribute scope = maker->getAttr(kScopeAttr))
    joined->setAttr(kScopeAttr, scope);
  whole.replaceAllUsesWith(joined->getResult(0));
}

void Chunking::writeChunks() {
  for (const ChunkedOp &producer : plan.producers)
    writeOp(producer);
  if (plan.apart)
    writeApart();
  Operation *collective = plan.collective;
  b.setInsertionPoint(collective);
  SmallVector<Value> parts;
  for (int64_t number = 0; number < chunks; ++number) {
    Value operand = getPart(collective->getOperand(0), plan.dim, number);
    RankedTensorType type = typeOf(collective->getResult(0));
    SmallVector<int64_t> shape(type.getShape());
    shape[plan.dim] = typeOf(operand).getDimSize(plan.dim);
    parts.push_back(
        clone(b, collective, Type(type.clone(shape)), operand)->getResult(0));
  }
  made[collective->getResult(0)] = {plan.dim, std::move(parts)};
  for (const ChunkedOp &consumer : plan.consumers)
    writeOp(consumer);
  passSlices();
}

/// The neighbour's block, of what `collective` does.
Value Chunking::passOn(Operation *collective, Value block, int64_t shift) {
  auto cause = collective->getAttrOfType<StringAttr>("cause");
  auto next = SendRecvOp::create(
      b, collective->getLoc(), block.getType(), block,
      b.getI64IntegerAttr(shift), b.getUnitAttr(),
      collective->getAttrOfType<ArrayAttr>("axes"),
      collective->getAttrOfType<FlatSymbolRefAttr>("mesh"), cause);
  next->setDiscardableAttrs(collective->getDiscardableAttrDictionary());
  return next;
}

/// A device has its own block first, then that of the next one, and so on.
void Chunking::writeGatherRing(AllGatherOp gather) {
  findPlaces(/*isForward=*/true);
  b.setInsertionPoint(gather);
  SmallVector<Value> parts = {gather.getOperand()};
  while (static_cast<int64_t>(parts.size()) < chunks)
    parts.push_back(passOn(gather, parts.back(), -1));
  made[gather.getResult()] = {plan.dim, std::move(parts)};
  for (const ChunkedOp &consumer : plan.consumers)
    writeOp(consumer);
}

/// The sum of a block begins at the device behind the one that it is for, and
/// goes on to that.
void Chunking::writeScatterRing(ReduceScatterOp scatter) {
  findPlaces(/*isForward=*/false);
  for (const ChunkedOp &producer : plan.producers)
    writeOp(producer);
  b.setInsertionPoint(scatter);
  Location loc = scatter.getLoc();
  Value sum = getPart(scatter.getOperand(), plan.dim, 0);
  RankedTensorType type = typeOf(sum);
  for (int64_t number = 1; number < chunks; ++number) {
    Value others = passOn(scatter, sum, 1),
          own = getPart(scatter.getOperand(), plan.dim, number);
    Value empty =
        tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
    auto add = linalg::AddOp::create(b, loc, ValueRange{others, own}, empty);
    if (Attribute scope = scatter->getAttr(kScopeAttr))
      add->setAttr(kScopeAttr, scope);
    sum = add->getResult(0);
  }
  scatter.getResult().replaceAllUsesWith(sum);
  scatter.erase();
}

/// Concatenates values that are read whole, and erases ops that are done in
/// parts.
void Chunking::finish() {
  // The last first: each is read by later ones only.
  SmallVector<Operation *> done;
  for (auto &entry : made)
    done.push_back(entry.first.getDefiningOp());
  for (Operation *op : llvm::reverse(done)) {
    join(op->getResult(0));
    op->erase();
  }
}

void Chunking::write() {
  if (!plan.isRing)
    writeChunks();
  else if (auto gather = dyn_cast<AllGatherOp>(plan.collective))
    writeGatherRing(gather);
  else
    writeScatterRing(cast<ReduceScatterOp>(plan.collective));
  finish();
}

namespace {
struct ChunkCollectives
    : mlir::dist::impl::DistChunkCollectivesBase<ChunkCollectives> {
  void runOnOperation() override {
    FailureOr<MeshOp> mesh = findProgramMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    if (!*mesh)
      return;
    // Directives, and whether they have found something to cut.
    llvm::MapVector<Attribute, std::pair<StringRef, bool>> asked;
    if (auto modules = (*mesh)->getAttrOfType<DictionaryAttr>(kOverlapAttr))
      for (NamedAttribute module : modules)
        if (auto wish = dyn_cast<DictionaryAttr>(module.getValue()))
          asked[module.getValue()].first = getNotedModule(module.getName());
    // One device sends nothing.
    if (asked.empty() || (*mesh).getNumDevices() == 1)
      return;
    SmallVector<std::pair<Operation *, DictionaryAttr>> found;
    getOperation().walk([&](Operation *op) {
      if (DictionaryAttr wish = getChunkWish(op, *mesh); wish && isTransfer(op))
        found.push_back({op, wish});
    });
    for (auto [op, wish] : found) {
      std::optional<ChunkPlan> best;
      auto chunksAttr = wish.getAs<IntegerAttr>("chunks");
      if (!chunksAttr) {
        FailureOr<ChunkPlan> ring = makeRing(op, *mesh);
        if (succeeded(ring) && ring->products > 0) {
          asked[wish].second = true;
          Chunking(std::move(*ring)).write();
        }
        continue;
      }
      int64_t chunks = chunksAttr.getInt();
      auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
      for (int64_t dim = 0; type && dim < type.getRank(); ++dim) {
        if (!leavesApart(op, dim) || type.isDynamicDim(dim) ||
            type.getDimSize(dim) < chunks ||
            typeOf(op->getOperand(0)).getDimSize(dim) != type.getDimSize(dim))
          continue;
        ChunkPlan plan = makePlan(op, dim, chunks);
        if (plan.products > (best ? best->products : 0))
          best = std::move(plan);
      }
      if (!best)
        continue;
      asked[wish].second = true;
      Chunking(std::move(*best)).write();
    }
    // What was put together for a collective that is in chunks as well.
    getOperation().walk([](tensor::ConcatOp joined) {
      if (joined->use_empty())
        joined.erase();
    });
    bool failed = false;
    for (auto &[wish, module] : asked)
      if (!module.second) {
        auto by = cast<DictionaryAttr>(wish).getAs<LocationAttr>("by");
        emitError(by) << "dist.overlap: module \"" << module.first
                      << (cast<DictionaryAttr>(wish).get("ring")
                              ? "\" has no all_gather whose blocks, as large "
                                "on all devices, a product can read one by "
                                "one, and no reduce_scatter of a sum whose "
                                "blocks one can make so; of an all_reduce "
                                "\'chunks\' can be made"
                              : "\" has no collective that can be done in so "
                                "many chunks with a product beside it, of rows "
                                "that it leaves apart");
        failed = true;
      }
    if (failed)
      return signalPassFailure();
    // What is done is not to be done again.
    NamedAttrList left;
    for (NamedAttribute module :
         (*mesh)->getAttrOfType<DictionaryAttr>(kOverlapAttr))
      if (!asked.contains(module.getValue()))
        left.append(module);
    if (left.empty())
      (*mesh)->removeAttr(kOverlapAttr);
    else
      (*mesh)->setAttr(kOverlapAttr, left.getDictionary(&getContext()));
  }
};
} // namespace
