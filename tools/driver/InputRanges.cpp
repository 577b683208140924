//===- InputRanges.cpp - What integer inputs index ------------------------===//

#include "tools/driver/InputRanges.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/EntryAttrs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "passes/sizes/BindSizes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"

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
  Interval negated() const {
    auto turn = [](int64_t bound) {
      return bound == INT64_MIN   ? INT64_MAX
             : bound == INT64_MAX ? INT64_MIN
                                  : -bound;
    };
    return {turn(high), turn(low)};
  }
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
  const llvm::DenseMap<Value, Interval> &getFound() const { return found; }

private:
  void trace(Value value, Interval wanted);
  void traceIndex(Value value, int64_t size) {
    if (!ShapedType::isDynamic(size) && size > 0)
      trace(value, {0, size - 1});
  }
  void traceTuples(Value indices, ArrayRef<int64_t> sizes);
  void traceArgument(BlockArgument argument, Interval wanted);
  void traceOp(OpResult result, Interval wanted);
  bool traceSelect(arith::SelectOp op, Interval wanted);
  void note(Value argument, Interval wanted);

  ModuleOp module;
  llvm::StringMap<SmallVector<func::CallOp>> calls;
  llvm::DenseMap<Value, Interval> found;
  llvm::DenseSet<std::pair<Value, std::pair<int64_t, int64_t>>> visited;
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

/// What x must be for `op`, x with a constant, to be in `wanted`, such that it
/// reaches what it can; nothing for other ops. `x` is set.
static std::optional<Interval> invert(Operation *op, Interval wanted,
                                      Value &x) {
  if (op->getNumOperands() == 1) {
    x = op->getOperand(0);
    if (skipCasts(op->getResult(0)) != op->getResult(0))
      return wanted;
    return std::nullopt;
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
  auto scale = [&](int64_t bound, int64_t by) {
    int64_t product;
    if (bound == INT64_MIN || bound == INT64_MAX ||
        llvm::MulOverflow(bound, by, product))
      return bound < 0 ? INT64_MIN : INT64_MAX;
    return product;
  };
  if (isa<arith::AddIOp>(op))
    return wanted.minus(*c);
  if (isa<arith::SubIOp>(op))
    return isLeft ? wanted.minus(*c).negated() : wanted.minus(-*c);
  if (isa<arith::MulIOp>(op) && *c > 0)
    return Interval{
        wanted.low == INT64_MIN ? INT64_MIN
                                : llvm::divideCeilSigned(wanted.low, *c),
        wanted.high == INT64_MAX ? INT64_MAX
                                 : llvm::divideFloorSigned(wanted.high, *c)};
  if (isa<arith::MaxSIOp, arith::MaxUIOp>(op))
    return wanted & Interval{*c, INT64_MAX};
  if (isa<arith::MinSIOp, arith::MinUIOp>(op))
    return wanted & Interval{INT64_MIN, *c};
  if (isLeft || *c <= 0)
    return std::nullopt;
  // Dividends of at least 0 reach every quotient and remainder that there is.
  Interval natural = wanted & Interval{0, INT64_MAX};
  if (isa<arith::RemSIOp, arith::RemUIOp>(op))
    return natural & Interval{0, *c - 1};
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op)) {
    int64_t high = scale(natural.high, *c);
    return Interval{scale(natural.low, *c),
                    high == INT64_MAX ? high : high + (*c - 1)};
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Tracing
//===----------------------------------------------------------------------===//

void IndexTracer::note(Value argument, Interval wanted) {
  auto [known, isNew] = found.try_emplace(argument, wanted);
  if (!isNew)
    known->second = known->second & wanted;
}

void IndexTracer::trace(Value value, Interval wanted) {
  if (!getElementTypeOrSelf(value).isIntOrIndex() ||
      !visited.insert({value, {wanted.low, wanted.high}}).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value))
    traceArgument(argument, wanted);
  else
    traceOp(cast<OpResult>(value), wanted);
}

void IndexTracer::traceArgument(BlockArgument argument, Interval wanted) {
  unsigned number = argument.getArgNumber();
  Operation *parent = argument.getOwner()->getParentOp();
  if (OpOperand *elements = findElements(argument))
    return trace(elements->get(), wanted);
  if (auto function = dyn_cast<func::FuncOp>(parent)) {
    if (function == getEntryFunction(module))
      return note(argument, wanted);
    for (func::CallOp call : calls[function.getName()])
      trace(call.getOperand(number), wanted);
  } else if (auto loop = dyn_cast<LoopLikeOpInterface>(parent)) {
    if (OpOperand *init = loop.getTiedLoopInit(argument)) {
      trace(init->get(), wanted);
      if (OpOperand *next = loop.getTiedLoopYieldedValue(argument))
        trace(next->get(), wanted);
    }
  }
}

/// x < C ? f(x) : g(x), with the condition on x that each side stands under.
bool IndexTracer::traceSelect(arith::SelectOp op, Interval wanted) {
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
  auto find = [&](Value side, Interval condition) -> std::optional<Interval> {
    Interval inside = wanted;
    while (skipCasts(side) != x) {
      Operation *step = side.getDefiningOp();
      std::optional<Interval> next =
          step ? invert(step, inside, side) : std::nullopt;
      if (!next)
        return std::nullopt;
      inside = *next;
    }
    return inside & condition;
  };
  std::optional<Interval> first = find(op.getTrueValue(), whenTrue);
  std::optional<Interval> second = find(op.getFalseValue(), whenFalse);
  if (!first && !second)
    return false;
  Interval none{1, 0};
  Interval all = first.value_or(none) | second.value_or(none);
  Interval natural = all & Interval{0, INT64_MAX};
  trace(x, natural.isEmpty() ? all : natural);
  return true;
}

void IndexTracer::traceOp(OpResult result, Interval wanted) {
  Operation *op = result.getOwner();
  unsigned number = result.getResultNumber();
  Value x;
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (traceSelect(select, wanted))
      return;
    trace(select.getTrueValue(), wanted);
    trace(select.getFalseValue(), wanted);
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
  } else if (movesElements(op)) {
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()) &&
          getElementTypeOrSelf(operand) == getElementTypeOrSelf(result))
        trace(operand, wanted);
  } else if (op->getNumResults() == 1) {
    if (std::optional<Interval> inside = invert(op, wanted, x))
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
  // Which is which is not known: what is in range for all.
  if (!llvm::any_of(sizes, ShapedType::isDynamic) && !sizes.empty())
    traceIndex(indices, *llvm::min_element(sizes));
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
    // A place is also named by comparing with the numbers of all places.
    if (compare.getPredicate() != arith::CmpIPredicate::eq &&
        compare.getPredicate() != arith::CmpIPredicate::ne)
      return;
    if (auto count = findCount(compare.getRhs()))
      traceIndex(compare.getLhs(), *count);
    if (auto count = findCount(compare.getLhs()))
      traceIndex(compare.getRhs(), *count);
  }
}

std::map<std::string, ::dist::IntegerRange>
mlir::dist::findIndexRanges(ModuleOp module) {
  std::map<std::string, ::dist::IntegerRange> ranges;
  auto entry = dyn_cast_or_null<func::FuncOp>(getEntryFunction(module));
  if (!entry)
    return ranges;
  IndexTracer tracer(module);
  module.walk([&](Operation *op) { tracer.visit(op); });
  for (auto [number, argument] : llvm::enumerate(entry.getArguments())) {
    auto known = tracer.getFound().find(argument);
    Type type = getElementTypeOrSelf(argument);
    if (known == tracer.getFound().end() || !type.isIntOrIndex())
      continue;
    unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    bool isUnsigned = entry.getArgAttr(number, kUnsignedAttr) != nullptr;
    Interval held{isUnsigned ? 0 : llvm::minIntN(width),
                  isUnsigned && width < 64 ? int64_t(llvm::maxUIntN(width))
                                           : llvm::maxIntN(width)};
    Interval range = known->second & held;
    Interval natural = range & Interval{0, INT64_MAX};
    if (!natural.isEmpty())
      range = natural;
    bool isBounded = known->second.low != INT64_MIN || range.low == 0;
    if (!range.isEmpty() && isBounded && known->second.high != INT64_MAX)
      ranges[getArgumentName(entry, number)] = {range.low, range.high};
  }
  return ranges;
}
