//===- JointTurn.cpp - An iteration and its adjoint -----------------------===//

#include "passes/loops/JointTurn.h"
#include "dialects/dist/Utils/ByComputation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/loops/HandOver.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// factor * turn + offset, where turns are counted from 0 on.
struct Line {
  int64_t factor, offset;
  bool operator==(const Line &other) const {
    return factor == other.factor && offset == other.offset;
  }
  bool operator!=(const Line &other) const { return !(*this == other); }
};
} // namespace

/// A loop's number of iterations, if it is known.
static std::optional<int64_t> countTurns(scf::ForOp loop) {
  std::optional<APInt> turns = loop.getStaticTripCount();
  if (!turns || turns->getActiveBits() > 31 || turns->isZero() ||
      !getConstantIntValue(loop.getLowerBound()) ||
      !getConstantIntValue(loop.getStep()))
    return {};
  return turns->getZExtValue();
}

namespace {
/// Integers that depend only on the number of an iteration, and do not
/// overflow.
class Lines {
public:
  /// The two do as many turns.
  Lines(scf::ForOp forward, scf::ForOp backward)
      : last(*countTurns(forward) - 1) {
    addForward(forward);
    addBackward(backward);
  }
  /// Nothing for other values.
  std::optional<Line> get(Value value);
  bool isTurn(Value value) { return value && get(value) == Line{1, 0}; }

private:
  void addForward(scf::ForOp loop) {
    known[loop.getInductionVar()] =
        Line{*getConstantIntValue(loop.getStep()),
             *getConstantIntValue(loop.getLowerBound())};
  }
  /// By the turns of the loop that this one goes back through.
  void addBackward(scf::ForOp loop) {
    known[loop.getInductionVar()] = Line{-1, last};
  }
  std::optional<Line> compute(Value value);
  bool fits(Line line, Type type) const;
  /// Whether it is never negative.
  bool isPositive(Line line) const {
    return line.offset >= 0 && line.factor * last + line.offset >= 0;
  }

  int64_t last;
  DenseMap<Value, std::optional<Line>> known;
};
} // namespace

std::optional<Line> Lines::get(Value value) {
  auto it = known.find(value);
  if (it != known.end())
    return it->second;
  std::optional<Line> line = compute(value);
  if (line && !fits(*line, value.getType()))
    line.reset();
  return known[value] = line;
}

bool Lines::fits(Line line, Type type) const {
  constexpr int64_t kMost = int64_t(1) << 31;
  if (std::abs(line.factor) > kMost || std::abs(line.offset) > kMost)
    return false;
  unsigned bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return bits >= 64 || (llvm::isIntN(bits, line.offset) &&
                        llvm::isIntN(bits, line.factor * last + line.offset));
}

std::optional<Line> Lines::compute(Value value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return Line{0, *constant};
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp>(op)) {
    std::optional<Line> line = get(op->getOperand(0));
    return line && (isa<arith::IndexCastOp>(op) || isPositive(*line))
               ? line
               : std::nullopt;
  }
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivUIOp>(op))
    return {};
  std::optional<Line> left = get(op->getOperand(0)),
                      right = get(op->getOperand(1));
  if (!left || !right)
    return {};
  if (isa<arith::AddIOp>(op))
    return Line{left->factor + right->factor, left->offset + right->offset};
  if (isa<arith::SubIOp>(op))
    return Line{left->factor - right->factor, left->offset - right->offset};
  if (isa<arith::MulIOp>(op)) {
    if (left->factor != 0)
      std::swap(left, right);
    if (left->factor != 0)
      return {};
    return Line{left->offset * right->factor, left->offset * right->offset};
  }
  int64_t by = right->offset;
  if (right->factor != 0 || by <= 0 || !isPositive(*left) ||
      left->factor % by != 0 || left->offset % by != 0)
    return {};
  return Line{left->factor / by, left->offset / by};
}

/// The iteration whose part of `all` a slice is; null if it is not the whole
/// part of an iteration.
static Value getPlaceOfTurn(OffsetSizeAndStrideOpInterface slice,
                            RankedTensorType all) {
  if (!slice.hasUnitStride())
    return {};
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
  for (auto [dim, offset, size] :
       llvm::enumerate(offsets, slice.getMixedSizes()))
    if (getConstantIntValue(size) != (dim == 0 ? 1 : all.getDimSize(dim)) ||
        (dim > 0 && !isConstantIntValue(offset, 0)))
      return {};
  return dyn_cast<Value>(offsets.front());
}

/// Whether that is a turn's part of `all`, with the dimension of turns or
/// without.
static bool isOfTurn(Type type, RankedTensorType all, bool withTurns) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
  if (withTurns && !shape.empty() && shape.front() == 1 &&
      shape.size() == all.getShape().size())
    shape = shape.drop_front();
  return shape == all.getShape().drop_front();
}

std::optional<JointTurn::Kept>
JointTurn::findKept(scf::ForOp forward, unsigned number, scf::ForOp backward) {
  auto all = dyn_cast<RankedTensorType>(forward.getResult(number).getType());
  BlockArgument before = forward.getRegionIterArg(number);
  Value after = forward.getYieldedValues()[number];
  if (!all || all.getRank() == 0 || !before.hasOneUse() || !after.hasOneUse())
    return {};
  int64_t turns = *countTurns(forward);
  if (all.getDimSize(0) != turns)
    return {};
  Kept kept;
  kept.insert = after.getDefiningOp();
  if (auto slice = dyn_cast_or_null<tensor::InsertSliceOp>(kept.insert)) {
    kept.value = slice.getSource();
    if (slice.getDest() == before &&
        isOfTurn(kept.value.getType(), all, /*withTurns=*/false))
      kept.place = getPlaceOfTurn(slice, all);
  } else if (auto one = dyn_cast_or_null<tensor::InsertOp>(kept.insert)) {
    kept.value = one.getScalar();
    if (one.getDest() == before && all.getRank() == 1)
      kept.place = one.getIndices().front();
  }
  Lines lines(forward, backward);
  if (!lines.isTurn(kept.place))
    return {};
  for (Operation *user : forward.getResult(number).getUsers()) {
    Value place;
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(user)) {
      if (isOfTurn(slice.getType(), all, /*withTurns=*/true))
        place = getPlaceOfTurn(slice, all);
    } else if (auto one = dyn_cast<tensor::ExtractOp>(user);
               one && all.getRank() == 1) {
      place = one.getIndices().front();
    }
    if (!backward->isProperAncestor(user) || !lines.isTurn(place))
      return {};
    kept.reads.push_back(user);
  }
  return kept;
}

/// Whether all that is computed in a turn could be kept.
static bool hasKnownSizes(scf::ForOp loop) {
  auto isKnown = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return !type || type.hasStaticShape();
  };
  return llvm::all_of(loop.getRegionIterArgs(), isKnown) &&
         llvm::all_of(*loop.getBody(), [&](Operation &op) {
           return llvm::all_of(op.getResults(), isKnown);
         });
}

scf::ForOp JointTurn::findBackward(scf::ForOp forward) {
  std::optional<int64_t> turns = countTurns(forward);
  if (!turns || !hasKnownSizes(forward))
    return {};
  for (auto [number, result] : llvm::enumerate(forward.getResults()))
    for (Operation *user : result.getUsers()) {
      auto loop = dyn_cast_or_null<scf::ForOp>(
          forward->getBlock()->findAncestorOpInBlock(*user));
      if (loop && loop != user && countTurns(loop) == turns &&
          getConstantIntValue(loop.getLowerBound()) == 0 &&
          getConstantIntValue(loop.getStep()) == 1 &&
          findKept(forward, number, loop))
        return loop;
    }
  return {};
}

/// Replaces reads of the values of all iterations by the value of this
/// iteration.
static void replaceRead(Value read, Value value) {
  if (read.getType() == value.getType())
    return read.replaceAllUsesWith(value);
  // With a dimension of one turn, which most readers drop.
  for (Operation *user : llvm::make_early_inc_range(read.getUsers()))
    if (isa<tensor::CollapseShapeOp>(user) &&
        user->getResult(0).getType() == value.getType()) {
      user->getResult(0).replaceAllUsesWith(value);
      user->erase();
    }
  if (read.use_empty())
    return;
  SmallVector<ReassociationIndices> groups;
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim)
    groups.push_back({dim + 1});
  if (rank > 0)
    groups.front().insert(groups.front().begin(), 0);
  OpBuilder b(read.getDefiningOp());
  read.replaceAllUsesWith(tensor::ExpandShapeOp::create(
      b, read.getLoc(), read.getType(), value, groups));
}

JointTurn::JointTurn(scf::ForOp forward, scf::ForOp backward)
    : forward(forward), backward(backward) {
  SmallVector<Kept> kept;
  llvm::DenseSet<Operation *> inserts;
  SmallVector<Value> inits, yielded;
  for (unsigned number = 0; number < forward.getNumResults(); ++number) {
    if (std::optional<Kept> found = findKept(forward, number, backward)) {
      kept.push_back(*found);
      inserts.insert(found->insert);
      continue;
    }
    results.push_back(number);
    inits.push_back(forward.getInitArgs()[number]);
  }
  // After the ops between the two loops, which the latter may read.
  OpBuilder b(backward);
  turn = scf::ForOp::create(b, forward.getLoc(), forward.getLowerBound(),
                            forward.getUpperBound(), forward.getStep(), inits);
  turn->setDiscardableAttrs(forward->getDiscardableAttrDictionary());
  turn.setUnsignedCmp(forward.getUnsignedCmp());
  IRMapping map;
  map.map(forward.getInductionVar(), turn.getInductionVar());
  for (auto [number, argument] :
       llvm::zip_equal(results, turn.getRegionIterArgs()))
    map.map(forward.getRegionIterArg(number), argument);
  if (!getBlock().empty())
    getBlock().getTerminator()->erase();
  b.setInsertionPointToEnd(&getBlock());
  for (Operation &op : forward.getBody()->without_terminator())
    if (!inserts.contains(&op))
      b.clone(op, map);
  for (unsigned number : results)
    yielded.push_back(map.lookupOrDefault(forward.getYieldedValues()[number]));
  end = scf::YieldOp::create(b, forward.getLoc(), yielded);

  b.setInsertionPoint(backward);
  IRMapping mapBack;
  back = cast<scf::ForOp>(b.clone(*backward, mapBack));
  for (const Kept &found : kept)
    for (Operation *read : found.reads) {
      Operation *copy = mapBack.lookup(read->getResult(0)).getDefiningOp();
      replaceRead(copy->getResult(0), map.lookupOrDefault(found.value));
      copy->erase();
    }
  getBlock().getOperations().splice(getBlock().end(),
                                    back.getBody()->getOperations());
  unifyScalars();
}

/// Scalars that the adjoint computes as the turn does are the turn's.
void JointTurn::unifyScalars() {
  llvm::DenseSet<Operation *, ByComputation> known;
  Lines lines(turn, back);
  llvm::DenseMap<std::pair<int64_t, int64_t>, SmallVector<Value>> byLine;
  auto find = [&](Value value) -> SmallVector<Value> * {
    std::optional<Line> line = lines.get(value);
    return line && line->factor != 0 ? &byLine[{line->factor, line->offset}]
                                     : nullptr;
  };
  find(turn.getInductionVar())->push_back(turn.getInductionVar());
  bool isBack = false;
  for (Operation &op : llvm::make_early_inc_range(getBlock())) {
    if (&op == end)
      isBack = true;
    if (!isPure(&op) || op.getNumRegions() > 0 || op.getNumResults() != 1 ||
        isa<ShapedType>(op.getResult(0).getType()))
      continue;
    Value result = op.getResult(0), same;
    auto [it, isNew] = known.insert(&op);
    if (!isNew)
      same = (*it)->getResult(0);
    SmallVector<Value> *alike = find(result);
    if (!same && alike && isBack)
      for (Value value : *alike)
        if (value.getType() == result.getType())
          same = value;
    if (!same && alike && !isBack)
      alike->push_back(result);
    if (!same)
      continue;
    if (isNew)
      known.erase(&op);
    result.replaceAllUsesWith(same);
    op.erase();
  }
}

void JointTurn::discard() {
  turn.erase();
  back.erase();
}

void JointTurn::part() {
  Block &block = getBlock();
  back.getBody()->getOperations().splice(
      back.getBody()->end(), block.getOperations(),
      std::next(end->getIterator()), block.end());
  turn->moveBefore(forward);
  FailureOr<scf::ForOp> made = handOver(turn, back, *countTurns(turn));
  assert(succeeded(made) && "all sizes are known");
  for (auto [number, result] : llvm::zip(results, made->getResults()))
    forward.getResult(number).replaceAllUsesWith(result);
  turn.erase();
  backward.replaceAllUsesWith(back);
  llvm::SetVector<Value> inits;
  inits.insert_range(forward.getInitArgs());
  backward.erase();
  forward.erase();
  for (Value init : inits)
    if (auto empty = init.getDefiningOp<tensor::EmptyOp>();
        empty && empty->use_empty())
      empty.erase();
}
