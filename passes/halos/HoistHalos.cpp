//===- HoistHalos.cpp - Exchanges where rows are smallest -----------------===//
//
// For an attention, the exchanged values are a frontier: all that its
// neighbours' keys and values are computed from goes through it. The frontier
// starts at these and moves towards the function's arguments, always past the
// last op in it that computes row by row. The smallest frontier on that way is
// taken. It ends at values of which a dist.sync has brought the rows, and at
// slices of values that all devices have.
//
//===----------------------------------------------------------------------===//

#include "passes/halos/HoistHalos.h"
#include "dialects/dist/IR/Attention.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/Utils/DeadOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/bounds/Bounds.h"
#include "passes/cost/Work.h"
#include "passes/halos/RowOps.h"
#include "passes/halos/WholeRows.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// The exchanges of one attention's keys and values that are equal.
class KeyValueHalos {
public:
  KeyValueHalos(ArrayRef<HaloExchangeOp> exchanges, const SyncedHalos &synced)
      : exchanges(exchanges), first(exchanges.front()), synced(synced) {}

  /// Moves them if that sends less.
  void run();
  /// If all is computed from rows that syncs have brought, or from values that
  /// all devices have, takes the rows from there. Returns whether that is so.
  /// Fails after an error.
  FailureOr<bool> takePresent();

private:
  int64_t getBytes(ArrayRef<Rows> frontier) const;
  /// The smallest frontier of those that start at `starts`.
  SmallVector<Rows> findSmallest(ArrayRef<Rows> starts);
  SyncedRows *findSynced(Rows rows) const;
  bool isWhole(Rows rows) const { return static_cast<bool>(findWhole(rows)); }
  /// The value that all devices have and that the device's rows were sliced
  /// from. Without padding if the exchange has the number of rows. Null if
  /// there is no such value.
  Value findWhole(Rows rows) const;
  /// A frontier in which all rows are `present`; empty if there is no such
  /// frontier. With `keepsProducts` at most one product is computed for more
  /// rows.
  SmallVector<Rows> findPresent(function_ref<bool(Rows)> present,
                                bool keepsProducts) const;
  Rows *findLast(MutableArrayRef<Rows> frontier,
                 function_ref<bool(Rows)> mayPass) const;
  void replace(ArrayRef<Rows> frontier);
  Value widen(Rows rows);
  Value exchange(Rows rows);
  Value takeWhole(Rows rows);

  ArrayRef<HaloExchangeOp> exchanges;
  HaloExchangeOp first;
  const SyncedHalos &synced;
  llvm::SmallDenseSet<Rows> chosen;
  llvm::SmallDenseMap<Rows, Value> wide;
};
} // namespace

int64_t KeyValueHalos::getBytes(ArrayRef<Rows> frontier) const {
  int64_t sum = 0;
  for (Rows rows : frontier)
    sum += getRowBytes(rows);
  return sum;
}

/// The last of the values in the frontier that are computed row by row and that
/// `mayPass`: all its readers are behind the frontier. Null if there is no such
/// value.
Rows *KeyValueHalos::findLast(MutableArrayRef<Rows> frontier,
                              function_ref<bool(Rows)> mayPass) const {
  Rows *last = nullptr;
  for (Rows &rows : frontier) {
    Operation *op = rows.first.getDefiningOp();
    if (!op || op->getBlock() != first->getBlock() ||
        !getRowOperands(op, rows.second) || !mayPass(rows))
      continue;
    if (!last || last->first.getDefiningOp()->isBeforeInBlock(op))
      last = &rows;
  }
  return last;
}

/// Replaces a value of the frontier by the operands that it is computed from.
static void pass(SmallVectorImpl<Rows> &frontier, Rows *at,
                 llvm::SmallDenseSet<Value> &behindProduct) {
  Rows passed = *at;
  frontier.erase(at);
  Operation *op = passed.first.getDefiningOp();
  bool isBehind = behindProduct.contains(passed.first) || isSumOfProducts(op);
  RowOperands operands = *getRowOperands(op, passed.second);
  for (auto [operand, dim] : operands) {
    Rows rows{op->getOperand(operand), dim};
    if (isBehind)
      behindProduct.insert(rows.first);
    if (!llvm::is_contained(frontier, rows))
      frontier.push_back(rows);
  }
}

SmallVector<Rows> KeyValueHalos::findSmallest(ArrayRef<Rows> starts) {
  SmallVector<Rows> frontier(starts), best = frontier;
  int64_t least = getBytes(frontier);
  // If a product was passed on the way to some rows, no other product is
  // passed: only the last product is computed for more rows.
  llvm::SmallDenseSet<Value> behindProduct;
  for (unsigned step = 0; step < kMostHoistedOps && !frontier.empty(); ++step) {
    Rows *last = findLast(frontier, [&](Rows rows) {
      return !isSumOfProducts(rows.first.getDefiningOp()) ||
             !behindProduct.contains(rows.first);
    });
    if (!last)
      break;
    pass(frontier, last, behindProduct);
    if (int64_t bytes = getBytes(frontier); bytes < least) {
      least = bytes;
      best = frontier;
    }
  }
  return best;
}

Value KeyValueHalos::exchange(Rows rows) {
  if (findSynced(rows)) {
    OpBuilder b(first);
    return synced.find(rows.first)
        ->take(b, first.getLoc(), rows.second, first.getLow(), first.getHigh());
  }
  if (isWhole(rows))
    return takeWhole(rows);
  auto type = cast<RankedTensorType>(rows.first.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[rows.second] += first.getLow() + first.getHigh();
  OpBuilder b(first);
  auto op = HaloExchangeOp::create(
      b, first.getLoc(), type.clone(shape), rows.first,
      b.getI64IntegerAttr(rows.second), first.getSizeAttr(), first.getLowAttr(),
      first.getHighAttr(), first.getBoundaryAttr(), first.getAxesAttr(),
      first.getMeshAttr(), first.getCauseAttr());
  if (StringAttr cause = first.getCauseAttr())
    op.setCauseAttr(
        b.getStringAttr(cause.str() + ", made of rows that are smaller"));
  if (Attribute scope = first->getDiscardableAttr(kScopeAttr))
    op->setDiscardableAttr(kScopeAttr, scope);
  return op.getResult();
}

Value KeyValueHalos::findWhole(Rows rows) const {
  HaloExchangeOp exchange = first;
  auto [block, dim] = rows;
  if (!isSliceOfWhole(block, dim, exchange.getAxes()))
    return {};
  OpBuilder b(exchange);
  if (std::optional<uint64_t> size = exchange.getSize())
    return getWholeRows(b, block, dim, *size, exchange.getAxes());
  return block.getDefiningOp<AllSliceOp>().getOperand();
}

/// The result of the exchange for a slice of a value that all devices have.
Value KeyValueHalos::takeWhole(Rows rows) {
  auto [block, dim] = rows;
  Location loc = first.getLoc();
  OpBuilder b(first);
  auto type = cast<RankedTensorType>(block.getType());
  int64_t size = type.getDimSize(dim), low = first.getLow(),
          high = first.getHigh();
  Value whole = findWhole(rows);
  auto getSize = [dim = dim](Value value) {
    return cast<RankedTensorType>(value.getType()).getDimSize(dim);
  };
  // Rows past the end of uneven blocks are filled in, too.
  int64_t padded = getSize(block.getDefiningOp<AllSliceOp>().getOperand());
  int64_t rest = padded - getSize(whole);
  BoundaryAttr boundary = first.getBoundaryAttr();
  TypedAttr fill = boundary && boundary.getValue()
                       ? cast<TypedAttr>(boundary.getValue())
                       : b.getZeroAttr(type.getElementType());
  SmallVector<OpFoldResult> starts(type.getRank(), b.getIndexAttr(0)),
      lows = starts, highs = starts, ones(type.getRank(), b.getIndexAttr(1)),
      sizes = tensor::getMixedSizes(b, loc, block);
  lows[dim] = b.getIndexAttr(low);
  highs[dim] = b.getIndexAttr(rest + high);
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = low + padded + high;
  Value filler = arith::ConstantOp::create(b, loc, fill);
  Value pad = tensor::PadOp::create(b, loc, type.clone(shape), whole, lows,
                                    highs, filler);
  Value coordinate = AxisIndexOp::create(b, loc, b.getIndexType(),
                                         first.getAxes(), first.getMeshAttr());
  Value offset = arith::MulIOp::create(
      b, loc, coordinate, arith::ConstantIndexOp::create(b, loc, size));
  starts[dim] = offset;
  sizes[dim] = b.getIndexAttr(low + size + high);
  shape[dim] = low + size + high;
  return tensor::ExtractSliceOp::create(b, loc, type.clone(shape), pad, starts,
                                        sizes, ones);
}

Value KeyValueHalos::widen(Rows rows) {
  if (auto it = wide.find(rows); it != wide.end())
    return it->second;
  Value value;
  if (chosen.contains(rows)) {
    value = exchange(rows);
  } else {
    Operation *op = rows.first.getDefiningOp();
    SmallVector<Value> operands(op->getOperands());
    RowOperands found = *getRowOperands(op, rows.second);
    for (auto [number, place] : found)
      operands[number] = widen({op->getOperand(number), place});
    OpBuilder b(first);
    value = cloneOnRows(b, op, operands, rows.second,
                        first.getLow() + first.getHigh());
  }
  wide[rows] = value;
  return value;
}

void KeyValueHalos::run() {
  SmallVector<Rows> starts, apart;
  for (HaloExchangeOp exchange : exchanges) {
    Rows rows{exchange.getOperand(), exchange.getDim()};
    if (llvm::is_contained(starts, rows))
      continue;
    starts.push_back(rows);
    // Each by itself.
    for (Rows other : findSmallest(rows))
      if (!llvm::is_contained(apart, other))
        apart.push_back(other);
  }
  SmallVector<Rows> best = findSmallest(starts);
  if (getBytes(apart) < getBytes(best))
    best = apart;
  if (getBytes(best) < getBytes(starts))
    replace(best);
}

/// Null where no sync has brought these rows.
SyncedRows *KeyValueHalos::findSynced(Rows rows) const {
  const SyncedHalo *halo = synced.find(rows.first);
  SyncedRows *found = halo ? halo->find(rows.second) : nullptr;
  HaloExchangeOp exchange = first;
  return found && found->sync.getAxes() == exchange.getAxes() ? found : nullptr;
}

SmallVector<Rows> KeyValueHalos::findPresent(function_ref<bool(Rows)> present,
                                             bool keepsProducts) const {
  SmallVector<Rows> frontier;
  for (HaloExchangeOp exchange : exchanges)
    if (Rows rows{exchange.getOperand(), exchange.getDim()};
        !llvm::is_contained(frontier, rows))
      frontier.push_back(rows);
  llvm::SmallDenseSet<Value> behindProduct;
  for (unsigned step = 0; step < kMostHoistedOps; ++step) {
    Rows *last = findLast(frontier, [&](Rows rows) {
      return !present(rows) &&
             !(keepsProducts && isSumOfProducts(rows.first.getDefiningOp()) &&
               behindProduct.contains(rows.first));
    });
    if (!last)
      break;
    pass(frontier, last, behindProduct);
  }
  if (!llvm::all_of(frontier, present))
    frontier.clear();
  return frontier;
}

FailureOr<bool> KeyValueHalos::takePresent() {
  // Rows that a sync has brought are used however much is computed from them:
  // the user asked for it.
  SmallVector<Rows> frontier =
      findPresent([&](Rows rows) { return findSynced(rows) != nullptr; },
                  /*keepsProducts=*/false);
  if (frontier.empty())
    frontier = findPresent(
        [&](Rows rows) { return findSynced(rows) || isWhole(rows); },
        /*keepsProducts=*/true);
  if (frontier.empty())
    return false;
  for (Rows rows : frontier)
    if (SyncedRows *found = findSynced(rows);
        found &&
        failed(found->read(first.getLow(), first.getHigh(), first.getLoc())))
      return failure();
  replace(frontier);
  return true;
}

/// Exchanges the frontier, and computes the originally exchanged value from it.
void KeyValueHalos::replace(ArrayRef<Rows> frontier) {
  chosen.insert(frontier.begin(), frontier.end());
  for (HaloExchangeOp exchange : exchanges)
    exchange.getResult().replaceAllUsesWith(
        widen({exchange.getOperand(), exchange.getDim()}));
  eraseDead(llvm::to_vector_of<Operation *>(exchanges));
}

/// The attention, and perhaps its adjoint, that are the only readers of an
/// exchange's rows as keys or values, perhaps with zeros instead of padding:
/// the first of them.
static AttentionLikeOpInterface findAttention(Value rows) {
  AttentionLikeOpInterface found;
  for (OpOperand &use : rows.getUses()) {
    auto attention = dyn_cast<AttentionLikeOpInterface>(use.getOwner());
    if (!attention && isa<linalg::GenericOp>(use.getOwner()) &&
        use.getOwner()->hasOneUse())
      attention = findAttention(use.getOwner()->getResult(0));
    else if (attention && use.getOperandNumber() != 1 &&
             use.getOperandNumber() != 2)
      return {};
    if (!attention || (found && found->getBlock() != attention->getBlock()))
      return {};
    bool isOther = found && found->getName() == attention->getName();
    if (isOther && found != attention)
      return {};
    if (!found || attention->isBeforeInBlock(found))
      found = attention;
  }
  return found;
}

/// Whether they bring as many rows over the same axes, in one block.
static bool areAlike(ArrayRef<HaloExchangeOp> exchanges) {
  HaloExchangeOp first = exchanges.front();
  return llvm::all_of(exchanges, [&](HaloExchangeOp exchange) {
    return exchange.getLow() == first.getLow() &&
           exchange.getHigh() == first.getHigh() &&
           exchange.getAxes() == first.getAxes() &&
           exchange->getBlock() == first->getBlock();
  });
}

LogicalResult mlir::dist::hoistHalos(FunctionOpInterface function,
                                     const SyncedHalos &synced) {
  llvm::MapVector<Operation *, SmallVector<HaloExchangeOp, 2>> byAttention;
  function.walk([&](HaloExchangeOp exchange) {
    if (AttentionLikeOpInterface attention =
            findAttention(exchange.getResult());
        attention && attention->getBlock() == exchange->getBlock() &&
        !synced.contains(exchange))
      byAttention[attention].push_back(exchange);
  });
  for (auto &[attention, all] : byAttention) {
    // All at once if they are equal, else those whose rows are present.
    if (areAlike(all)) {
      FailureOr<bool> isTaken = KeyValueHalos(all, synced).takePresent();
      if (failed(isTaken))
        return failure();
      if (*isTaken)
        continue;
    }
    SmallVector<HaloExchangeOp, 2> others;
    for (HaloExchangeOp exchange : all) {
      FailureOr<bool> isTaken = KeyValueHalos(exchange, synced).takePresent();
      if (failed(isTaken))
        return failure();
      if (!*isTaken)
        others.push_back(exchange);
    }
    if (!others.empty() && areAlike(others))
      KeyValueHalos(others, synced).run();
  }
  return success();
}
