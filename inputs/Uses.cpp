//===- Uses.cpp - What a program does with an integer input ---------------===//

#include "inputs/Uses.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Gradients.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;

/// Conditions that are made of more values are not looked into.
static constexpr size_t kMostValues = 256;
/// An input that becomes one value in more ways is not followed further.
static constexpr size_t kMostForms = 16;
/// Larger constants are limits of a type rather than values to reach.
static constexpr double kLargest = int64_t(1) << 31;

namespace {
/// A value that is `factor * x + y`: x is an element of an input, y anything in
/// `offset`.
struct Form {
  double factor = 1;
  Interval offset = {0, 0};
  /// Whether the program replaces values that are too small, or too large.
  bool isLowFree = false, isHighFree = false;
  /// The elements that x is one of.
  Part part = {};
  /// Whether the value has the input's shape, element by element.
  bool isWhole = true;
  /// The column that it has become, if it is one of index tuples.
  std::optional<int64_t> column = {};

  bool operator==(const Form &other) const = default;
  Form plus(Interval other) const {
    Form sum = *this;
    sum.offset = offset + other;
    return sum;
  }
  Form times(double c) const {
    Form product = *this;
    product.factor *= c;
    product.offset = offset * c;
    if (c < 0)
      std::swap(product.isLowFree, product.isHighFree);
    return product;
  }
  Form freed(bool low, bool high) const {
    Form freed = *this;
    freed.isLowFree |= low;
    freed.isHighFree |= high;
    return freed;
  }
  Form moved() const {
    Form moved = *this;
    moved.isWhole = false;
    moved.column.reset();
    return moved;
  }
  /// The x with a value of at least `low` and at most `high`.
  Interval solve(double low, double high) const {
    Interval x = Interval{low, high} * (1 / factor);
    return {std::ceil(x.low - 1e-9), std::floor(x.high + 1e-9)};
  }
};

class Follower {
public:
  explicit Follower(BlockArgument argument) : argument(argument) {
    reach(argument, {});
  }
  std::map<Part, Uses> follow();

private:
  void reach(Value value, const Form &form);
  void visit(OpOperand &use, const Form &form);
  bool visitIndex(OpOperand &use, const Form &form);
  void compare(const Form &form, Interval with, bool isOrder);
  void visitComparison(arith::CmpIOp op, unsigned number, const Form &form);
  void move(OpOperand &use, Form form);
  std::optional<Form> compute(OpOperand &use, const Form &form);
  bool isGuard(Value condition);
  Uses &require(const Form &form, Interval values);

  BlockArgument argument;
  llvm::DenseMap<Value, SmallVector<Form, 1>> forms;
  SmallVector<std::pair<Value, Form>> open;
  std::map<Part, Uses> uses;
};
} // namespace

/// The size of a value's integers.
static double getBits(Value value) {
  Type type = getElementTypeOrSelf(value);
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

static bool isNumberCast(Operation *op) {
  return isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
             arith::ExtUIOp, arith::TruncIOp, arith::SIToFPOp,
             arith::UIToFPOp>(op);
}

/// What all elements of a constant, a bool or a number of iterations lie in.
static std::optional<Interval> findBounds(Value value) {
  if (getElementTypeOrSelf(value).isInteger(1))
    return Interval{0, 1};
  Interval all = Interval::none();
  auto add = [&](const APInt &number) {
    double real = number.getSExtValue();
    all = all | Interval{real, real};
  };
  APInt integer;
  DenseIntElementsAttr integers;
  if (matchPattern(value, m_ConstantInt(&integer)))
    add(integer);
  else if (matchPattern(value, m_Constant(&integers)))
    llvm::for_each(integers.getValues<APInt>(), add);
  if (!all.isEmpty())
    return all;
  if (auto element = dyn_cast<BlockArgument>(value)) {
    auto loops =
        dyn_cast<linalg::LinalgOp>(element.getOwner()->getParentOp());
    OpOperand *operand = loops ? loops.getMatchingOpOperand(element) : nullptr;
    return operand && loops.isDpsInput(operand) ? findBounds(operand->get())
                                                : std::nullopt;
  }
  Operation *op = value.getDefiningOp();
  if (auto number = dyn_cast<linalg::IndexOp>(op)) {
    auto loops = op->getParentOfType<linalg::LinalgOp>();
    int64_t size = loops.getStaticLoopRanges()[number.getDim()];
    return ShapedType::isDynamic(size)
               ? std::nullopt
               : std::optional(Interval{0, static_cast<double>(size - 1)});
  }
  if (auto loops = dyn_cast<linalg::LinalgOp>(op))
    return findBounds(loops.getBlock()->getTerminator()->getOperand(
        cast<OpResult>(value).getResultNumber()));
  bool isMove = isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                    tensor::CastOp, tensor::ExtractSliceOp, tensor::SplatOp,
                    tensor::ExtractOp>(op);
  return isMove || isNumberCast(op) ? findBounds(op->getOperand(0))
                                    : std::nullopt;
}

static bool isOrder(arith::CmpIOp op) {
  return op.getPredicate() != arith::CmpIPredicate::eq &&
         op.getPredicate() != arith::CmpIPredicate::ne;
}

/// Whether the program ends where the comparison does not hold.
static bool isRequired(Operation *compare) {
  return !compare->use_empty() &&
         llvm::all_of(compare->getUsers(), [](Operation *user) {
           return isa<cf::AssertOp>(user) ||
                  (isa<arith::AndIOp, arith::OrIOp>(user) && isRequired(user));
         });
}

/// Whether a condition selects by the input's values: what it selects is in
/// range. Being equal to something says nothing of other values.
bool Follower::isGuard(Value condition) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (compare && !isOrder(compare))
    return false;
  llvm::SetVector<Value> reached;
  reached.insert(condition);
  for (size_t i = 0; i < reached.size() && i < kMostValues; ++i) {
    if (reached[i] == argument)
      return true;
    Operation *op = reached[i].getDefiningOp();
    if (!op)
      op = cast<BlockArgument>(reached[i]).getOwner()->getParentOp();
    reached.insert_range(op->getOperands());
    if (auto loops = dyn_cast<linalg::LinalgOp>(op))
      reached.insert_range(loops.getBlock()->getTerminator()->getOperands());
  }
  return false;
}

/// Adds that every y must give one of the values.
Uses &Follower::require(const Form &form, Interval values) {
  Uses &found = uses[form.part];
  Interval legal = form.solve(
      form.isLowFree ? -Interval::kNoBound : values.low - form.offset.low,
      form.isHighFree ? Interval::kNoBound : values.high - form.offset.high);
  // Where nothing is legal, other ops see to it that this is not read.
  if (!legal.isEmpty())
    found.legal = found.legal & legal;
  return found;
}

void Follower::reach(Value value, const Form &form) {
  SmallVector<Form, 1> &known = forms[value];
  if (known.size() == kMostForms || llvm::is_contained(known, form))
    return;
  known.push_back(form);
  open.push_back({value, form});
}

/// Takes what indexes a dimension; false for other operands.
bool Follower::visitIndex(OpOperand &use, const Form &form) {
  unsigned number = use.getOperandNumber();
  // What indexes is signed.
  double most = std::ldexp(1.0, getBits(use.get()) - 1);
  auto index = [&](int64_t size, Part part = {}) {
    if (ShapedType::isDynamic(size) || size <= 0)
      return true;
    Form element = form;
    element.part = form.part ? form.part : part;
    Interval values{0, std::min<double>(size, most) - 1};
    Uses &found = require(element, values);
    found.reached =
        found.reached | form.solve(values.low - form.offset.high,
                                   values.high - form.offset.low);
    return true;
  };
  auto tuples = [&](ShapedType table, ArrayRef<int64_t> dims) {
    int64_t last = cast<ShapedType>(use.get().getType()).getRank() - 1;
    for (auto [column, dim] : llvm::enumerate(dims))
      if (form.column.value_or(column) == static_cast<int64_t>(column))
        index(table.getDimSize(dim), form.isWhole && dims.size() > 1
                                         ? Part({last, column})
                                         : Part());
    return true;
  };
  return llvm::TypeSwitch<Operation *, bool>(use.getOwner())
      .Case([&](tensor::GatherOp op) {
        return use == op.getIndicesMutable() &&
               tuples(op.getSourceType(), op.getGatherDims());
      })
      .Case([&](tensor::ScatterOp op) {
        return use == op.getIndicesMutable() &&
               tuples(op.getDestType(), op.getScatterDims());
      })
      .Case([&](ScatterAddOp op) {
        return use == op.getIndicesMutable() &&
               tuples(op.getDest().getType(), op.getDims());
      })
      .Case([&](tensor::ExtractOp op) {
        return number > 0 &&
               index(op.getTensor().getType().getDimSize(number - 1));
      })
      .Case([&](tensor::InsertOp op) {
        return number > 1 &&
               index(op.getDest().getType().getDimSize(number - 2));
      })
      .Case<tensor::ExtractSliceOp, tensor::InsertSliceOp>([&](auto op) {
        if (number < op.getOffsetSizeAndStrideStartOperandIndex())
          return false;
        bool isInsert = isa<tensor::InsertSliceOp>(op);
        auto whole = cast<ShapedType>(op->getOperand(isInsert).getType());
        for (auto [dim, offset] : llvm::enumerate(op.getMixedOffsets()))
          if (offset == OpFoldResult(use.get()) && !whole.isDynamicDim(dim) &&
              !ShapedType::isDynamic(op.getStaticSize(dim)))
            index(whole.getDimSize(dim) - op.getStaticSize(dim) + 1);
        return true;
      })
      .Default(false);
}

/// A number of iterations names one of them, or a length. Of a constant both
/// sides are worth reaching.
void Follower::compare(const Form &form, Interval with, bool isOrder) {
  if (std::max(-with.low, with.high) > kLargest)
    return;
  bool isConstant = with.low == with.high;
  double low = std::min(with.low - (isConstant && isOrder), 0.0),
         high = std::max(with.high + (isConstant || isOrder), 0.0);
  Uses &found = uses[form.part];
  found.compared = found.compared |
                   form.solve(low - form.offset.low, high - form.offset.high);
}

void Follower::visitComparison(arith::CmpIOp op, unsigned number,
                               const Form &form) {
  using Predicate = arith::CmpIPredicate;
  Predicate predicate = op.getPredicate();
  auto is = [&](auto... which) { return ((predicate == which) || ...); };
  std::optional<Interval> other = findBounds(op->getOperand(1 - number));
  if (!other)
    return;
  if (!isRequired(op))
    return compare(form, *other, isOrder(op));
  if (!isOrder(op))
    return;
  bool isLess = is(Predicate::slt, Predicate::sle, Predicate::ult,
                   Predicate::ule) == (number == 0);
  double strict =
      is(Predicate::slt, Predicate::sgt, Predicate::ult, Predicate::ugt);
  double low = isLess ? -Interval::kNoBound : other->high + strict,
         high = isLess ? other->low - strict : Interval::kNoBound;
  require(form, {isLess && predicate >= Predicate::ult ? 0 : low, high});
}

/// Hands the form to what an operand goes into, or out of.
void Follower::move(OpOperand &use, Form form) {
  Operation *op = use.getOwner(), *parent = op->getParentOp();
  unsigned number = use.getOperandNumber();
  Form moved = form.moved();
  if (auto loops = dyn_cast<linalg::LinalgOp>(op)) {
    bool isWhole = loops.getMatchingIndexingMap(&use).isIdentity();
    return reach(loops.getMatchingBlockArgument(&use), isWhole ? form : moved);
  }
  if (auto loops = dyn_cast<linalg::LinalgOp>(parent);
      loops && op->hasTrait<OpTrait::IsTerminator>()) {
    OpOperand *result = loops.getDpsInitOperand(number);
    bool isWhole = loops.getMatchingIndexingMap(result).isIdentity();
    return reach(loops->getResult(number), isWhole ? form : moved);
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    // Of what a loop carries nothing is known.
    if (number < 2)
      reach(loop.getInductionVar(),
            number == 0 ? moved.freed(false, true)
                        : moved.plus({-1, -1}).freed(true, false));
    return;
  }
  if (op->hasTrait<OpTrait::IsTerminator>())
    return isa<scf::IfOp, tensor::PadOp, tensor::GenerateOp>(parent)
               ? reach(parent->getResult(number), moved)
               : void();
  bool isData = isa<tensor::TensorDialect, DistDialect>(op->getDialect()) &&
                op->getNumResults() == 1 &&
                getElementTypeOrSelf(use.get()) ==
                    getElementTypeOrSelf(op->getResult(0));
  if (!isData)
    return;
  // One row or column of the input.
  auto takePart = [&](ArrayRef<OpFoldResult> indices, ArrayRef<int64_t> sizes) {
    for (auto [dim, index] : llvm::enumerate(indices))
      if (std::optional<int64_t> at = getConstantIntValue(index);
          at && form.isWhole && (sizes.empty() || sizes[dim] == 1))
        moved.part = {dim, *at};
  };
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    takePart(slice.getMixedOffsets(), slice.getStaticSizes());
  else if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    takePart(getAsOpFoldResult(extract.getIndices()), {});
  else if (auto concat = dyn_cast<tensor::ConcatOp>(op)) {
    auto type = cast<RankedTensorType>(use.get().getType());
    bool isColumn = static_cast<int64_t>(concat.getDim()) + 1 == type.getRank();
    if (isColumn && llvm::all_of(concat.getInputs(), [](Value column) {
          return cast<ShapedType>(column.getType()).getShape().back() == 1;
        }))
      moved.column = number;
  } else if (use.get().getType() == op->getResult(0).getType() &&
             op->getNumOperands() == 1) {
    moved = form;
  }
  reach(op->getResult(0), moved);
}

/// What the result of arithmetic is; nothing if that is not known. Takes what
/// operands must be for there to be a result.
std::optional<Form> Follower::compute(OpOperand &use, const Form &form) {
  Operation *op = use.getOwner();
  unsigned number = use.getOperandNumber();
  if (isNumberCast(op))
    return form;
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    bool isGuarded = isGuard(select.getCondition());
    return number > 0 ? std::optional(form.freed(isGuarded, isGuarded))
                      : std::nullopt;
  }
  if (number + 1 == op->getNumOperands()) {
    if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
            arith::FloorDivSIOp, arith::CeilDivSIOp, arith::CeilDivUIOp,
            arith::DivFOp, math::LogOp, math::Log2Op, math::Log10Op,
            math::RsqrtOp>(op))
      require(form, {1, Interval::kNoBound});
    else if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op))
      require(form, {0, getBits(use.get()) - 1});
  }
  if (op->getNumOperands() != 2)
    return std::nullopt;
  std::optional<Interval> other = findBounds(op->getOperand(1 - number));
  if (isa<arith::MaxSIOp, arith::MinSIOp>(op)) {
    if (!other)
      return form;
    compare(form, *other, /*isOrder=*/true);
    return form.freed(isa<arith::MaxSIOp>(op), isa<arith::MinSIOp>(op));
  }
  if (!other)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return form.plus(*other);
  if (isa<arith::SubIOp>(op))
    return number == 0 ? form.plus(*other * -1) : form.times(-1).plus(*other);
  // Of factors of at least 0, the largest decides.
  double c = other->high;
  if (isa<arith::MulIOp>(op) && c != 0 && (other->low == 0 || other->low == c))
    return form.times(c);
  if (number > 0 || other->low != c || c <= 0)
    return std::nullopt;
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(op))
    return form.times(1 / c);
  if (isa<arith::RemSIOp, arith::RemUIOp, arith::AndIOp>(op))
    return form.freed(!isa<arith::RemSIOp>(op), true);
  return std::nullopt;
}

void Follower::visit(OpOperand &use, const Form &form) {
  Operation *op = use.getOwner();
  if (visitIndex(use, form))
    return;
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return visitComparison(compare, use.getOperandNumber(), form);
  if (std::optional<Form> result = compute(use, form))
    return reach(op->getResult(0), *result);
  move(use, form);
}

std::map<Part, Uses> Follower::follow() {
  while (!open.empty()) {
    auto [value, form] = open.pop_back_val();
    for (OpOperand &use : value.getUses())
      visit(use, form);
  }
  return std::move(uses);
}

std::map<Part, Uses> mlir::dist::findUses(BlockArgument argument) {
  return Follower(argument).follow();
}
