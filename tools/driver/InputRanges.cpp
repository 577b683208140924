//===- InputRanges.cpp - What integer inputs index ------------------------===//

#include "tools/driver/InputRanges.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/EntryAttrs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "passes/sizes/BindSizes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"
#include <set>

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Integers from `low` to `high`; the ends of int64_t stand for no bound.
struct Interval {
  int64_t low = INT64_MIN, high = INT64_MAX;

  bool isEmpty() const { return low > high; }
  Interval operator&(Interval other) const {
    return {std::max(low, other.low), std::min(high, other.high)};
  }
  /// The smallest interval that holds both.
  Interval operator|(Interval other) const {
    if (isEmpty() || other.isEmpty())
      return isEmpty() ? other : *this;
    return {std::min(low, other.low), std::max(high, other.high)};
  }
  /// Of x + offset, given that of the sum is this.
  Interval minus(int64_t offset) const {
    auto move = [&](int64_t bound) {
      int64_t moved;
      if (bound == INT64_MIN || bound == INT64_MAX ||
          llvm::SubOverflow(bound, offset, moved))
        return bound;
      return moved;
    };
    return {move(low), move(high)};
  }
  /// Of x, given that of c * x is this; c is at least 1.
  Interval dividedBy(int64_t c) const {
    return {low == INT64_MIN ? INT64_MIN : llvm::divideCeilSigned(low, c),
            high == INT64_MAX ? INT64_MAX : llvm::divideFloorSigned(high, c)};
  }
  /// Of x of at least 0, given that of x / c, rounded down, is this.
  Interval times(int64_t c) const {
    auto scale = [&](int64_t bound, int64_t offset) {
      int64_t product;
      if (bound == INT64_MAX || llvm::MulOverflow(bound, c, product) ||
          llvm::AddOverflow(product, offset, product))
        return INT64_MAX;
      return product;
    };
    return {scale(low, 0), scale(high, c - 1)};
  }
  Interval negated() const {
    auto turn = [](int64_t bound) {
      return bound == INT64_MIN   ? INT64_MAX
             : bound == INT64_MAX ? INT64_MIN
                                  : -bound;
    };
    return {turn(high), turn(low)};
  }
};

/// What is asked of a value.
struct Wanted {
  /// Values that reach something, which is worth doing.
  Interval worth;
  /// Values beyond which the program fails; those that a clamp, a remainder or
  /// a selection takes care of do not.
  Interval legal;
  /// The place along the innermost dimension that this is asked of, and that
  /// dimension's size; 0 of 0 for all places.
  int64_t column = 0, columns = 0;

  Wanted with(Interval newWorth, Interval newLegal) const {
    return {newWorth, newLegal, column, columns};
  }
  Wanted ofAll() const { return {worth, legal}; }
  auto key() const {
    return std::make_tuple(worth.low, worth.high, legal.low, legal.high, column,
                           columns);
  }
};

/// What was found of an argument.
struct Found {
  Interval worth{1, 0}, legal;
  void add(const Wanted &wanted) {
    worth = worth | wanted.worth;
    legal = legal & wanted.legal;
  }
};
struct FoundColumns {
  Found all;
  std::map<int64_t, Found> columns;
};

/// Follows indices back to the arguments that they come from.
class IndexTracer {
public:
  explicit IndexTracer(ModuleOp module) : module(module) {
    module.walk(
        [&](func::CallOp call) { calls[call.getCallee()].push_back(call); });
  }

  /// Looks at all that `op` indexes.
  void visit(Operation *op);

  /// Of the arguments of the entry function what `visit` has found.
  const llvm::DenseMap<Value, FoundColumns> &getFound() const { return found; }

private:
  void trace(Value value, const Wanted &wanted);
  void traceIndex(Value value, int64_t size, int64_t column = 0,
                  int64_t columns = 0);
  void traceTuples(Value indices, ArrayRef<int64_t> sizes);
  void traceArgument(BlockArgument argument, const Wanted &wanted);
  void traceOp(OpResult result, const Wanted &wanted);
  bool traceSelect(arith::SelectOp op, const Wanted &wanted);
  void visitComparison(arith::CmpIOp compare, Value value, Value with);

  ModuleOp module;
  llvm::StringMap<SmallVector<func::CallOp>> calls;
  llvm::DenseMap<Value, FoundColumns> found;
  std::map<void *, std::set<decltype(Wanted().key())>> visited;
  /// What loops carry and is being traced: its further turns say nothing more.
  llvm::DenseSet<Value> active;
};
} // namespace

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Whether `op` makes its results of its operands' elements, as they are.
static bool movesElements(Operation *op) {
  return isa_and_nonnull<tensor::TensorDialect, DistDialect>(op->getDialect());
}

/// The operand whose elements an argument of a linalg op's body takes.
static OpOperand *findElements(BlockArgument argument) {
  auto op = dyn_cast<linalg::LinalgOp>(argument.getOwner()->getParentOp());
  return op ? op.getMatchingOpOperand(argument) : nullptr;
}

/// The one integer that all elements of `value` are, if it is known.
static std::optional<int64_t> findConstant(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.getSExtValue();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    OpOperand *elements = findElements(argument);
    return elements ? findConstant(elements->get()) : std::nullopt;
  }
  Operation *op = value.getDefiningOp();
  if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
    Value yielded = structured.getBlock()->getTerminator()->getOperand(
        cast<OpResult>(value).getResultNumber());
    return findConstant(yielded);
  }
  bool isCast =
      isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp,
          tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
          tensor::ExtractSliceOp, tensor::SplatOp, tensor::ExtractOp>(op);
  return isCast ? findConstant(op->getOperand(0)) : std::nullopt;
}

static Value skipCasts(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
             arith::ExtUIOp, arith::TruncIOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// How many values `value` runs through if it is a loop's own number, or a
/// tensor of such.
static std::optional<int64_t> findCount(Value value) {
  value = skipCasts(value);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    OpOperand *elements = findElements(argument);
    return elements ? findCount(elements->get()) : std::nullopt;
  }
  Operation *op = value.getDefiningOp();
  if (auto number = dyn_cast<linalg::IndexOp>(op)) {
    auto loops = op->getParentOfType<linalg::LinalgOp>();
    int64_t count = loops.getStaticLoopRanges()[number.getDim()];
    return ShapedType::isDynamic(count) ? std::nullopt
                                        : std::optional<int64_t>(count);
  }
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return findCount(structured.getBlock()->getTerminator()->getOperand(
        cast<OpResult>(value).getResultNumber()));
  DenseIntElementsAttr constant;
  if (isa<RankedTensorType>(value.getType()) &&
      matchPattern(value, m_Constant(&constant)) && !constant.isSplat()) {
    // 0, 1, 2, …
    int64_t next = 0;
    for (const APInt &number : constant.getValues<APInt>())
      if (number.getSExtValue() != next++)
        return std::nullopt;
    return next;
  }
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(op))
    return findCount(op->getOperand(0));
  return std::nullopt;
}

/// The integers of a signless type that is read as signed, or as unsigned.
static Interval getHeld(Type type, bool isUnsigned) {
  type = getElementTypeOrSelf(type);
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  if (isUnsigned)
    return {0, width < 64 ? int64_t(llvm::maxUIntN(width)) : INT64_MAX};
  return width < 64 ? Interval{llvm::minIntN(width), llvm::maxIntN(width)}
                    : Interval();
}

/// What x must be for `op`, x with a constant, to be what is wanted; nothing
/// for other ops. `x` is set.
static std::optional<Wanted> invert(Operation *op, const Wanted &wanted,
                                    Value &x) {
  if (isa<math::AbsIOp>(op)) {
    x = op->getOperand(0);
    return wanted.with(wanted.worth, wanted.legal | wanted.legal.negated());
  }
  if (op->getNumOperands() == 1) {
    x = op->getOperand(0);
    if (skipCasts(op->getResult(0)) == op->getResult(0))
      return std::nullopt;
    // A truncation keeps what fits.
    Interval held =
        isa<arith::TruncIOp>(op)
            ? getHeld(op->getResult(0).getType(), /*isUnsigned=*/false)
            : getHeld(x.getType(),
                      isa<arith::ExtUIOp, arith::IndexCastUIOp>(op));
    return wanted.with(wanted.worth & held, wanted.legal & held);
  }
  if (op->getNumOperands() != 2)
    return std::nullopt;
  x = op->getOperand(0);
  std::optional<int64_t> c = findConstant(op->getOperand(1));
  bool isLeft = !c;
  if (isLeft) {
    x = op->getOperand(1);
    c = findConstant(op->getOperand(0));
  }
  if (!c)
    return std::nullopt;
  auto both = [&](auto invertOne) {
    return wanted.with(invertOne(wanted.worth), invertOne(wanted.legal));
  };
  if (isa<arith::AddIOp>(op))
    return both([&](Interval of) { return of.minus(*c); });
  if (isa<arith::SubIOp>(op))
    return both([&](Interval of) {
      return isLeft ? of.minus(*c).negated() : of.minus(-*c);
    });
  if (isa<arith::MulIOp>(op) && *c > 0)
    return both([&](Interval of) { return of.dividedBy(*c); });
  const Interval &worth = wanted.worth, &legal = wanted.legal;
  // Beyond a legal constant any number does.
  if (isa<arith::MaxSIOp, arith::MaxUIOp>(op))
    return wanted.with(worth & Interval{*c, INT64_MAX},
                       {*c >= legal.low ? INT64_MIN : legal.low, legal.high});
  if (isa<arith::MinSIOp, arith::MinUIOp>(op))
    return wanted.with(worth & Interval{INT64_MIN, *c},
                       {legal.low, *c <= legal.high ? INT64_MAX : legal.high});
  if (isLeft || *c <= 0)
    return std::nullopt;
  if (isa<arith::ShLIOp, arith::ShRUIOp, arith::ShRSIOp>(op)) {
    if (*c >= 62)
      return std::nullopt;
    return both([&](Interval of) {
      bool isUp = isa<arith::ShLIOp>(op);
      return isUp ? of.dividedBy(int64_t(1) << *c)
                  : (of & Interval{0, INT64_MAX}).times(int64_t(1) << *c);
    });
  }
  if (isa<arith::AndIOp>(op)) {
    Interval every{0, *c}, natural{0, INT64_MAX};
    bool isEvery = legal.low <= 0 && legal.high >= *c;
    return wanted.with(worth & every, isEvery ? natural : legal & every);
  }
  // Dividends of at least 0 reach every quotient and remainder that there is.
  Interval natural{0, INT64_MAX};
  if (isa<arith::RemSIOp, arith::RemUIOp>(op)) {
    Interval every{0, *c - 1};
    bool isEvery = legal.low <= 0 && legal.high >= every.high;
    return wanted.with(worth & every, isEvery ? natural : legal & every);
  }
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op))
    return both([&](Interval of) { return (of & natural).times(*c); });
  if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op))
    return both([&](Interval of) {
      return (of & natural).minus(1).times(*c).minus(-1) & natural;
    });
  return std::nullopt;
}

/// Whether places along the innermost dimension stay what they are between an
/// operand of a linalg op and its results.
static bool keepsColumns(linalg::LinalgOp op, OpOperand *operand) {
  auto getLast = [&](AffineMap map) {
    return map.getNumResults() == 0 ? AffineExpr()
                                    : map.getResult(map.getNumResults() - 1);
  };
  AffineExpr last = getLast(op.getMatchingIndexingMap(operand));
  return isa_and_nonnull<AffineDimExpr>(last) &&
         llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
           return getLast(op.getMatchingIndexingMap(&init)) == last;
         });
}

//===----------------------------------------------------------------------===//
// Tracing
//===----------------------------------------------------------------------===//

void IndexTracer::trace(Value value, const Wanted &wanted) {
  if (!getElementTypeOrSelf(value).isIntOrIndex() ||
      !visited[value.getAsOpaquePointer()].insert(wanted.key()).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value))
    traceArgument(argument, wanted);
  else
    traceOp(cast<OpResult>(value), wanted);
}

void IndexTracer::traceIndex(Value value, int64_t size, int64_t column,
                             int64_t columns) {
  if (ShapedType::isDynamic(size) || size <= 0)
    return;
  // What indexes is signed, also where files hold it as unsigned.
  Interval inside =
      Interval{0, size - 1} & getHeld(value.getType(), /*isUnsigned=*/false);
  trace(value, {inside, inside, column, columns});
}

void IndexTracer::traceArgument(BlockArgument argument, const Wanted &wanted) {
  unsigned number = argument.getArgNumber();
  Operation *parent = argument.getOwner()->getParentOp();
  if (OpOperand *elements = findElements(argument)) {
    auto op = cast<linalg::LinalgOp>(parent);
    return trace(elements->get(),
                 keepsColumns(op, elements) ? wanted : wanted.ofAll());
  }
  if (auto function = dyn_cast<func::FuncOp>(parent)) {
    if (function == getEntryFunction(module)) {
      FoundColumns &known = found[argument];
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      bool hasColumns = wanted.columns > 0 && type && type.getRank() > 0 &&
                        type.getShape().back() == wanted.columns;
      return (hasColumns ? known.columns[wanted.column] : known.all)
          .add(wanted);
    }
    for (func::CallOp call : calls[function.getName()])
      trace(call.getOperand(number), wanted);
  } else if (auto loop = dyn_cast<LoopLikeOpInterface>(parent)) {
    if (OpOperand *init = loop.getTiedLoopInit(argument)) {
      if (!active.insert(argument).second)
        return;
      trace(init->get(), wanted);
      if (OpOperand *next = loop.getTiedLoopYieldedValue(argument))
        trace(next->get(), wanted);
      active.erase(argument);
    }
  }
}

/// x < C ? f(x) : g(x), with the condition on x that each side stands under.
bool IndexTracer::traceSelect(arith::SelectOp op, const Wanted &wanted) {
  auto compare = op.getCondition().getDefiningOp<arith::CmpIOp>();
  std::optional<int64_t> c =
      compare ? findConstant(compare.getRhs()) : std::nullopt;
  if (!c || *c == INT64_MIN || *c == INT64_MAX)
    return false;
  Value x = skipCasts(compare.getLhs());
  Interval below{INT64_MIN, *c - 1}, above{*c + 1, INT64_MAX};
  Interval notBelow{*c, INT64_MAX}, notAbove{INT64_MIN, *c};
  Interval whenTrue, whenFalse;
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::slt:
    whenTrue = below, whenFalse = notBelow;
    break;
  case arith::CmpIPredicate::sle:
    whenTrue = notAbove, whenFalse = above;
    break;
  case arith::CmpIPredicate::sgt:
    whenTrue = above, whenFalse = notAbove;
    break;
  case arith::CmpIPredicate::sge:
    whenTrue = notBelow, whenFalse = below;
    break;
  default:
    return false;
  }
  const Interval none{1, 0};
  // Of x, under the condition that selects the side. What another value is
  // selected for is asked of that value, wherever it is read.
  bool isOfX = false;
  auto find = [&](Value side, Interval condition) -> Wanted {
    if (auto number = findConstant(side)) {
      Interval same{*number, *number};
      return wanted.with(none,
                         (same & wanted.legal).isEmpty() ? none : condition);
    }
    Wanted inside = wanted;
    for (Value at = side; skipCasts(at) != x;) {
      Operation *step = at.getDefiningOp();
      std::optional<Wanted> next =
          step ? invert(step, inside, at) : std::nullopt;
      if (!next) {
        trace(side, wanted.with(wanted.worth, Interval()));
        return wanted.with(none, condition);
      }
      inside = *next;
    }
    isOfX = true;
    return inside.with(inside.worth & condition, inside.legal & condition);
  };
  Wanted first = find(op.getTrueValue(), whenTrue);
  Wanted second = find(op.getFalseValue(), whenFalse);
  if (!isOfX)
    return true;
  // Of negative places that are counted from the end the others reach as much.
  Interval worth = first.worth | second.worth;
  Interval natural = worth & Interval{0, INT64_MAX};
  trace(x, wanted.with(natural.isEmpty() ? worth : natural,
                       first.legal | second.legal));
  return true;
}

/// What is asked of the source where one place along its innermost dimension is
/// taken.
static std::optional<Wanted> findColumn(Operation *op, const Wanted &wanted) {
  std::optional<int64_t> column;
  RankedTensorType source;
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    source = slice.getSourceType();
    int64_t last = source.getRank() - 1;
    if (last >= 0 && slice.getStaticSizes()[last] == 1 &&
        !ShapedType::isDynamic(slice.getStaticOffsets()[last]))
      column = slice.getStaticOffsets()[last];
  } else if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    source = extract.getTensor().getType();
    if (source.getRank() > 0)
      column = getConstantIntValue(extract.getIndices().back());
  }
  if (!column || source.isDynamicDim(source.getRank() - 1) ||
      source.getShape().back() == 1)
    return std::nullopt;
  return Wanted{wanted.worth, wanted.legal, *column, source.getShape().back()};
}

void IndexTracer::traceOp(OpResult result, const Wanted &wanted) {
  Operation *op = result.getOwner();
  unsigned number = result.getResultNumber();
  Value x;
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (traceSelect(select, wanted))
      return;
    // Which is read hangs on more than its value.
    trace(select.getTrueValue(), wanted.with(wanted.worth, Interval()));
    trace(select.getFalseValue(), wanted.with(wanted.worth, Interval()));
  } else if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
    trace(structured.getBlock()->getTerminator()->getOperand(number), wanted);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (Region &region : branch->getRegions())
      if (!region.empty())
        trace(region.front().getTerminator()->getOperand(number), wanted);
  } else if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
    if (BlockArgument carried = loop.getTiedLoopRegionIterArg(result))
      traceArgument(carried, wanted);
  } else if (auto call = dyn_cast<func::CallOp>(op)) {
    auto function = module.lookupSymbol<func::FuncOp>(call.getCallee());
    if (function && !function.isExternal())
      function.walk(
          [&](func::ReturnOp end) { trace(end.getOperand(number), wanted); });
  } else if (std::optional<Wanted> ofColumn = findColumn(op, wanted)) {
    trace(op->getOperand(0), *ofColumn);
  } else if (movesElements(op)) {
    bool isReshape =
        isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(op);
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()) &&
          getElementTypeOrSelf(operand) == getElementTypeOrSelf(result))
        trace(operand, isReshape ? wanted : wanted.ofAll());
  } else if (op->getNumResults() == 1) {
    if (std::optional<Wanted> inside = invert(op, wanted, x))
      trace(x, *inside);
  }
}

/// The last dimension of `indices` holds one index for each of `sizes`.
void IndexTracer::traceTuples(Value indices, ArrayRef<int64_t> sizes) {
  auto concat = indices.getDefiningOp<tensor::ConcatOp>();
  int64_t last = cast<RankedTensorType>(indices.getType()).getRank() - 1;
  if (concat && static_cast<int64_t>(concat.getDim()) == last &&
      concat.getInputs().size() == sizes.size()) {
    for (auto [input, size] : llvm::zip_equal(concat.getInputs(), sizes))
      traceIndex(input, size);
    return;
  }
  if (!llvm::any_of(sizes, ShapedType::isDynamic))
    for (auto [column, size] : llvm::enumerate(sizes))
      traceIndex(indices, size, column, sizes.size());
}

/// Whether the program ends where the comparison does not hold.
static bool isRequired(Operation *compare) {
  return llvm::all_of(compare->getUsers(), [](Operation *user) {
    return isa<cf::AssertOp>(user) ||
           (isa<arith::AndIOp, arith::OrIOp>(user) && isRequired(user));
  });
}

/// A place is also named by comparing with the numbers of all places, and so is
/// a length; and of a number both sides are worth reaching.
void IndexTracer::visitComparison(arith::CmpIOp compare, Value value,
                                  Value with) {
  constexpr int64_t kLargest = int64_t(1) << 31;
  bool isPlace = compare.getPredicate() == arith::CmpIPredicate::eq ||
                 compare.getPredicate() == arith::CmpIPredicate::ne;
  if (auto count = findCount(with))
    trace(value, {{0, isPlace ? *count - 1 : *count}, Interval()});
  else if (auto number = findConstant(with); number && *number > -kLargest &&
                                             *number < kLargest &&
                                             !isRequired(compare))
    trace(value, {{std::min<int64_t>(*number - 1, 0),
                   std::max<int64_t>(*number + 1, 0)},
                  Interval()});
}

void IndexTracer::visit(Operation *op) {
  auto traceInto = [&](Value indices, ShapedType type, ArrayRef<int64_t> dims) {
    traceTuples(indices, llvm::map_to_vector(dims, [&](int64_t dim) {
                  return type.getDimSize(dim);
                }));
  };
  if (auto gather = dyn_cast<tensor::GatherOp>(op)) {
    traceInto(gather.getIndices(), gather.getSourceType(),
              gather.getGatherDims());
  } else if (auto scatter = dyn_cast<tensor::ScatterOp>(op)) {
    traceInto(scatter.getIndices(), scatter.getDestType(),
              scatter.getScatterDims());
  } else if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    for (auto [index, size] : llvm::zip_equal(
             extract.getIndices(), extract.getTensor().getType().getShape()))
      traceIndex(index, size);
  } else if (auto insert = dyn_cast<tensor::InsertOp>(op)) {
    for (auto [index, size] : llvm::zip_equal(
             insert.getIndices(), insert.getDest().getType().getShape()))
      traceIndex(index, size);
  } else if (auto slice = dyn_cast<OffsetSizeAndStrideOpInterface>(op)) {
    auto insertion = dyn_cast<tensor::InsertSliceOp>(op);
    auto whole =
        dyn_cast<RankedTensorType>(insertion ? insertion.getDest().getType()
                                             : op->getOperand(0).getType());
    for (auto [dim, offset] : llvm::enumerate(slice.getMixedOffsets())) {
      std::optional<int64_t> size =
          getConstantIntValue(slice.getMixedSizes()[dim]);
      auto value = dyn_cast<Value>(offset);
      if (value && size && whole && !whole.isDynamicDim(dim))
        traceIndex(value, whole.getDimSize(dim) - *size + 1);
    }
  } else if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    visitComparison(compare, compare.getLhs(), compare.getRhs());
    visitComparison(compare, compare.getRhs(), compare.getLhs());
  }
}

IndexRanges mlir::dist::findIndexRanges(ModuleOp module) {
  IndexRanges out;
  auto entry = dyn_cast_or_null<func::FuncOp>(getEntryFunction(module));
  if (!entry)
    return out;
  IndexTracer tracer(module);
  module.walk([&](Operation *op) { tracer.visit(op); });
  for (auto [number, argument] : llvm::enumerate(entry.getArguments())) {
    auto known = tracer.getFound().find(argument);
    if (known == tracer.getFound().end() ||
        !getElementTypeOrSelf(argument).isIntOrIndex())
      continue;
    Interval held = getHeld(argument.getType(),
                            entry.getArgAttr(number, kUnsignedAttr) != nullptr);
    std::string name = getArgumentName(entry, number);
    std::vector<::dist::IntegerRange> ranges;
    // Whether the range has two ends.
    auto add = [&](const Found &of) {
      Interval legal = of.legal & held, range = of.worth & legal;
      Interval natural = range & Interval{0, INT64_MAX};
      if (!natural.isEmpty())
        range = natural;
      if (range.isEmpty() && !of.worth.isEmpty())
        out.contradictory.push_back(name);
      ranges.push_back({range.low, range.high});
      return !range.isEmpty() && range.low != INT64_MIN &&
             range.high != INT64_MAX;
    };
    bool isBounded = true;
    const auto &[all, columns] = known->second;
    if (columns.empty())
      isBounded = add(all);
    else
      for (int64_t column = 0,
                   end = cast<ShapedType>(argument.getType()).getShape().back();
           column < end && isBounded; ++column) {
        Found of = all;
        if (auto own = columns.find(column); own != columns.end()) {
          of.worth = of.worth | own->second.worth;
          of.legal = of.legal & own->second.legal;
        }
        isBounded = add(of);
      }
    if (isBounded)
      out.ranges[name] = std::move(ranges);
  }
  return out;
}
