//===- LocalAttention.cpp - Attention whose sequence or heads are cut -----===//
//
// At level 3, attentions with gathered keys and values, or with heads that
// all-to-alls shard, are linalg ops and collectives. They are recognized, and
// the origin of their rows is found, row by row.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/attention/AttentionMatch.h"
#include "passes/attention/FormAttention.h"
#include "passes/bounds/Bounds.h"
#include "passes/report/Strategies.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// A dimension of a value.
using Rows = std::pair<Value, int64_t>;
/// The origins of an attention's operands, and the results derived from it.
struct Collectives {
  llvm::SetVector<AllGatherOp> gathers;
  llvm::SetVector<AllToAllOp> exchanges;

  int64_t countBytes(int64_t p) const {
    int64_t bytes = 0;
    for (AllGatherOp op : gathers)
      bytes += op.getBytesSentPerRank(p);
    for (AllToAllOp op : exchanges)
      bytes += op.getBytesSentPerRank(p);
    return bytes;
  }
  void insert(const Collectives &other) {
    gathers.insert_range(other.gathers);
    exchanges.insert_range(other.exchanges);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Where rows come from
//===----------------------------------------------------------------------===//

/// The dimension of the other side of a reshape that has the same rows.
static std::optional<int64_t>
mapThroughGroups(ArrayRef<ReassociationIndices> groups, ArrayRef<int64_t> wide,
                 int64_t dim, bool isInWide) {
  for (auto [narrow, group] : llvm::enumerate(groups)) {
    if (isInWide ? !llvm::is_contained(group, dim) : int64_t(narrow) != dim)
      continue;
    std::optional<int64_t> large;
    for (int64_t other : group) {
      if (wide[other] == 1 && group.size() > 1)
        continue;
      if (large)
        return std::nullopt;
      large = other;
    }
    if (!isInWide)
      return large;
    return large && *large != dim ? std::nullopt : std::optional(narrow);
  }
  return std::nullopt;
}

/// The rows that the op makes those of its result of.
static SmallVector<Rows> getSources(OpResult result, int64_t dim) {
  Operation *op = result.getOwner();
  auto one = [&](std::optional<int64_t> place) {
    return place ? SmallVector<Rows>{{op->getOperand(0), *place}}
                 : SmallVector<Rows>();
  };
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    SmallVector<Rows> sources;
    OpOperand *init = linalgOp.getDpsInitOperand(result.getResultNumber());
    AffineExpr loop = linalgOp.getMatchingIndexingMap(init).getResult(dim);
    for (OpOperand *input : linalgOp.getDpsInputOperands())
      for (auto [place, expr] :
           llvm::enumerate(linalgOp.getMatchingIndexingMap(input).getResults()))
        if (isa<AffineDimExpr>(expr) && expr == loop)
          sources.push_back({input->get(), place});
    return sources;
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return one(mapThroughGroups(expand.getReassociationIndices(),
                                expand.getResultType().getShape(), dim,
                                /*isInWide=*/true));
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return one(mapThroughGroups(collapse.getReassociationIndices(),
                                collapse.getSrcType().getShape(), dim,
                                /*isInWide=*/false));
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    for (int64_t place = 0, kept = 0; place < slice.getSourceType().getRank();
         ++place)
      if (!dropped[place] && kept++ == dim)
        return one(place);
  }
  bool keepsPlaces =
      isa<tensor::CastOp, OptimizationBarrierOp, CollectiveOpInterface>(op);
  if (!keepsPlaces || isa<HaloExchangeOp>(op))
    return {};
  return {{op->getOperand(result.getResultNumber()), dim}};
}

/// The collectives that have brought the rows of a value together.
static Collectives findMakers(Value value, int64_t dim) {
  Collectives found;
  llvm::SetVector<Rows> pending;
  pending.insert({value, dim});
  for (size_t i = 0; i < pending.size() && i < kMostOpsToKeys; ++i) {
    auto [rows, place] = pending[i];
    auto result = dyn_cast<OpResult>(rows);
    if (!result)
      continue;
    auto gather = dyn_cast<AllGatherOp>(result.getOwner());
    auto exchange = dyn_cast<AllToAllOp>(result.getOwner());
    if (gather && int64_t(gather.getDim()) == place)
      found.gathers.insert(gather);
    else if (exchange && int64_t(exchange.getConcatDim()) == place)
      found.exchanges.insert(exchange);
    else
      pending.insert_range(getSources(result, place));
  }
  return found;
}

/// The all-to-alls that a value goes into, elementwise ops and reshapes aside.
static Collectives findUsers(Value value) {
  Collectives found;
  llvm::SetVector<Value> pending;
  pending.insert(value);
  for (size_t i = 0; i < pending.size() && i < kMostOpsToKeys; ++i)
    for (Operation *user : pending[i].getUsers()) {
      auto linalgOp = dyn_cast<linalg::LinalgOp>(user);
      if (auto exchange = dyn_cast<AllToAllOp>(user))
        found.exchanges.insert(exchange);
      else if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user) ||
               (linalgOp && linalgOp.getNumReductionLoops() == 0))
        pending.insert_range(user->getResults());
    }
  return found;
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// The value of a scalar on the first device along the axes; itself if that
/// does not matter.
static Value atFirstDevice(OpBuilder &b, Value value,
                           ArrayRef<AxisRefAttr> axes, IRMapping &known) {
  Operation *maker = value.getDefiningOp();
  if (!maker || known.contains(value) || !value.getType().isIntOrIndex() ||
      maker->getNumRegions() > 0 || !isMemoryEffectFree(maker))
    return known.lookupOrDefault(value);
  auto index = dyn_cast<AxisIndexOp>(maker);
  if (index &&
      llvm::all_of(getAxisRefs(index.getAxes()), [&](AxisRefAttr axis) {
        return llvm::is_contained(axes, axis);
      })) {
    known.map(value, arith::ConstantIndexOp::create(b, value.getLoc(), 0));
    return known.lookup(value);
  }
  bool isOther = false;
  for (Value operand : maker->getOperands())
    isOther |= atFirstDevice(b, operand, axes, known) != operand;
  if (isOther)
    b.clone(*maker, known);
  return known.lookupOrDefault(value);
}

/// The same for `p` times as many queries: those of all devices, if those of
/// one begin at its coordinate times their number. Data is left out.
static AttentionOp makeWhole(AttentionOp op, int64_t p,
                             ArrayRef<AxisRefAttr> axes) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  IRMapping mapping;
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    std::optional<unsigned> place = op.getMap(number).getResultPosition(
        b.getAffineDimExpr(op.getQueryDim()));
    if (!place)
      continue;
    auto type = cast<RankedTensorType>(operand.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[*place] *= p;
    type = RankedTensorType::get(shape, type.getElementType());
    auto part = operand.getDefiningOp<LocalConstantOp>();
    auto value = part ? dyn_cast<TypedAttr>(part.getValue()) : TypedAttr();
    if (value && value.getType() == type)
      mapping.map(operand, arith::ConstantOp::create(b, loc, value));
    else
      mapping.map(operand, tensor::EmptyOp::create(b, loc, shape,
                                                   type.getElementType()));
  }
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(op->getRegions(), used);
  for (Value value : used)
    atFirstDevice(b, value, axes, mapping);
  auto whole = cast<AttentionOp>(b.clone(*op, mapping));
  for (auto [result, init] :
       llvm::zip_equal(whole->getResults(), whole.getInits()))
    result.setType(init.getType());
  return whole;
}

/// Sets the blocks that masks leave to each device's queries.
static void findSeen(AttentionOp op, bool isWhole, ArrayRef<AxisRefAttr> axes,
                     KeyWindows &masks, Strategies &ways) {
  Operation *before = op->getPrevNode();
  AttentionOp whole = isWhole ? op : makeWhole(op, ways.p, axes);
  llvm::append_range(ways.seen, masks.findSeenBlocks(whole, ways.p));
  if (std::optional<KeyWindow> window = masks.find(whole))
    ways.window = window;
  while (op->getPrevNode() != before)
    op->getPrevNode()->erase();
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

/// How often an op runs; loops of unknown trips count once.
static int64_t countRuns(Operation *op) {
  int64_t count = 1;
  for (; op; op = op->getParentOp())
    if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
      if (std::optional<llvm::APInt> trips = loop.getStaticTripCount())
        count *= trips->getSExtValue();
  return count;
}

/// Bytes of one key or value where it travels: before heads that share it get
/// their copies.
static int64_t getTravellingBytes(const Collectives &makers) {
  int64_t bytes = 0;
  for (AllGatherOp op : makers.gathers)
    bytes += getBytesOfRow(op.getOperand(), op.getDim());
  for (AllToAllOp op : makers.exchanges)
    bytes += getBytesOfRow(op.getOperand(), op.getConcatDim());
  return bytes;
}

/// For an attention whose queries are those of one device, or whose heads are.
static std::optional<AttentionUse> makeLocalUse(AttentionOp op, Value result,
                                                KeyWindows &masks) {
  if (llvm::is_contained(op.getDimSizes(), ShapedType::kDynamic))
    return std::nullopt;
  auto find = [&](unsigned operand, unsigned dim) {
    std::optional<unsigned> place = op.getMap(operand).getResultPosition(
        getAffineDimExpr(dim, op.getContext()));
    return findMakers(op->getOperand(operand), *place);
  };
  Collectives ofQueries = find(0, op.getQueryDim()),
              ofKeys = find(1, op.getKeyDim()),
              ofValues = find(2, op.getKeyDim());
  Collectives all = ofKeys;
  all.insert(ofValues);
  bool isOfHeads = !ofQueries.exchanges.empty();
  if (!isOfHeads && (ofKeys.gathers.empty() || ofValues.gathers.empty() ||
                     !ofQueries.gathers.empty()))
    return std::nullopt;
  AllToAllOp exchange = isOfHeads ? ofQueries.exchanges[0] : AllToAllOp();
  AllGatherOp gather = isOfHeads ? AllGatherOp() : ofKeys.gathers[0];
  ArrayAttr axes = isOfHeads ? exchange.getAxes() : gather.getAxes();
  SmallVector<AxisRefAttr> refs(getAxisRefs(axes));
  Strategies ways(op, refs, countRuns(op));
  if (ways.p < 2)
    return std::nullopt;
  ways.keyBytes = getTravellingBytes(ofKeys) + getTravellingBytes(ofValues);
  if (isOfHeads) {
    // Before, a device had all heads of some queries.
    int64_t dim = exchange.getSplitDim();
    auto sizeOf = [&](Value value) {
      return cast<RankedTensorType>(value.getType()).getDimSize(dim);
    };
    int64_t of = sizeOf(exchange.getOperand()),
            here = std::max<int64_t>(1, sizeOf(exchange.getResult()));
    ways.takeAllHeads(of, here);
    all.insert(ofQueries);
    all.insert(findUsers(result));
  }
  findSeen(op, isOfHeads, refs, masks, ways);
  ways.choose(isOfHeads ? AttentionStrategy::Heads
                        : AttentionStrategy::Gathered,
              all.countBytes(ways.p));
  return ways.list();
}

std::vector<std::pair<Operation *, AttentionUse>>
mlir::dist::findAttentionUses(ModuleOp module) {
  std::vector<std::pair<Operation *, AttentionUse>> uses;
  KeyWindows masks;
  auto look = [&](AttentionOp op, Value result) {
    if (std::optional<AttentionUse> use = makeLocalUse(op, result, masks))
      uses.push_back({op->getParentOfType<FunctionOpInterface>(), *use});
  };
  // Under windows there are ops, also where no rows are exchanged for them.
  SmallVector<AttentionOp> ops;
  module.walk([&](AttentionOp op) {
    if (!makeAttentionUse(op, /*count=*/1))
      ops.push_back(op);
  });
  for (AttentionOp op : ops)
    look(op, op->getResult(0));
  formAttentions(module, /*minScores=*/1, WithAdjoints::Yes,
                 /*withFactors=*/true,
                 [&](AttentionOp op, AttentionMatch &match) {
                   look(op, match.getLastOp()->getResult(0));
                   return failure(); // it stays as it is
                 });
  return uses;
}
