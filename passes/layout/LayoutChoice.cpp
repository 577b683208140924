//===- LayoutChoice.cpp - In which order tensors are stored ---------------===//

#include "passes/layout/LayoutChoice.h"
#include "dialects/dist/IR/Collectives.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"
#include "passes/bounds/Bounds.h"
#include "passes/layout/DimOrders.h"

using namespace mlir;
using namespace mlir::dist;

const StoredValue *StoredValues::find(Value value) const {
  auto found = numbers.find(value);
  return found == numbers.end() ? nullptr : &entries[found->second];
}

StoredValue *StoredValues::find(Value value) {
  auto found = numbers.find(value);
  return found == numbers.end() ? nullptr : &entries[found->second];
}

StoredValue &StoredValues::add(StoredValue entry) {
  numbers[entry.value] = entries.size();
  return entries.emplace_back(std::move(entry));
}

void StoredValues::rename(StoredValue &entry, Value value) {
  numbers[value] = numbers.lookup(entry.value);
  numbers.erase(entry.value);
  entry.value = value;
}

bool mlir::dist::isRemade(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto fill = dyn_cast_or_null<linalg::FillOp>(op))
    return isRemade(fill.getOutputs()[0]);
  SplatElementsAttr splat;
  return isa_and_present<tensor::EmptyOp>(op) ||
         (op && matchPattern(op, m_Constant(&splat)));
}

/// The op of linalg that `use` is an operand of, if it works on tensors.
static linalg::LinalgOp getLinalg(Operation *op) {
  auto linalgOp = dyn_cast_or_null<linalg::LinalgOp>(op);
  return linalgOp && linalgOp.hasPureTensorSemantics() ? linalgOp : nullptr;
}

bool mlir::dist::takesStored(OpOperand &use, const StoredValue &entry,
                             const StoredValues &values) {
  auto linalgOp = getLinalg(use.getOwner());
  if (!linalgOp)
    return values.carriers.contains(use.getOwner());
  // A tensor that exists in both orders is read in the old one.
  if (linalgOp.isDpsInput(&use))
    return !entry.isCopied;
  // A destination has the order of the result.
  const StoredValue *result = values.find(linalgOp.getTiedOpResult(&use));
  return result && !result->isCopied && result->order == entry.order;
}

namespace {

/// How often each value was visited. Connected chains that want different
/// orders in different places are not tried forever.
using Visits = llvm::DenseMap<Value, unsigned>;

/// One try: a collective gets an order, and the orders that depend on it
/// follow.
class Trial {
public:
  Trial(const StoredValues &settled, Visits &visits, Operation *cause,
        ArrayRef<int64_t> order)
      : settled(settled), visits(visits), cause(cause), first(order) {}

  /// Bytes that are copied less than before; 0 where the try fails.
  int64_t run();
  StoredValues values;

private:
  bool assign(Value value, ArrayRef<int64_t> order);
  /// Lets `op` work in the order that `from` is stored in, if it can.
  bool move(Operation *op, Value from);
  /// Whether the op that makes the value makes it in its order.
  bool followDefinition(Value value, ArrayRef<int64_t> order);
  bool followUse(OpOperand &use, ArrayRef<int64_t> order);
  /// Bytes that are copied where the value's order ends.
  int64_t visit(size_t number);

  const StoredValues &settled;
  Visits &visits;
  Operation *cause;
  DimOrder first;
  int64_t before = 0, after = 0;
};

/// Every collective that copies, and what depends on it.
class Choice {
public:
  explicit Choice(Operation *function) : function(function) {}
  StoredValues run();

private:
  void choose(Operation *collective);

  Operation *function;
  StoredValues settled;
  Visits visits;
};

} // namespace

bool Trial::assign(Value value, ArrayRef<int64_t> order) {
  if (const StoredValue *known = values.find(value))
    return known->order == order;
  if (settled.find(value))
    return false;
  values.add({value, DimOrder(order), false, cause});
  return true;
}

bool Trial::move(Operation *op, Value from) {
  if (values.carriers.contains(op))
    return true;
  SmallVector<Value> carried = getCarried(op);
  DimOrder order = values.find(from)->order;
  SmallVector<DimOrder> orders;
  for (Value to : carried) {
    std::optional<DimOrder> other = carry(op, from, order, to);
    const StoredValue *known = values.find(to);
    if (!other || settled.find(to) || (known && known->order != *other))
      return false;
    orders.push_back(*other);
  }
  if (carried.empty())
    return false;
  for (auto [to, other] : llvm::zip_equal(carried, orders))
    assign(to, other);
  values.carriers.insert(op);
  if (!isa<CollectiveOpInterface>(op))
    return true;
  before += getPackedBytes(op);
  after += getPackedBytes(op, values.find(op->getOperand(0))->order,
                          values.find(op->getResult(0))->order);
  return true;
}

bool Trial::followDefinition(Value value, ArrayRef<int64_t> order) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  auto linalgOp = getLinalg(op);
  if (!linalgOp)
    return move(op, value);
  Value init = linalgOp.getDpsInits()[cast<OpResult>(value).getResultNumber()];
  return isRemade(init) || assign(init, order);
}

bool Trial::followUse(OpOperand &use, ArrayRef<int64_t> order) {
  auto linalgOp = getLinalg(use.getOwner());
  if (!linalgOp)
    return move(use.getOwner(), use.get());
  return linalgOp.isDpsInput(&use) ||
         assign(linalgOp.getTiedOpResult(&use), order);
}

int64_t Trial::visit(size_t number) {
  Value value = values.entries[number].value;
  DimOrder order = values.entries[number].order;
  if (isRemade(value)) {
    values.entries[number].isCopied = true;
    return 0;
  }
  bool isMade = followDefinition(value, order);
  values.entries[number].isCopied = !isMade;
  bool allFollow = true;
  for (OpOperand &use : value.getUses())
    allFollow &= followUse(use, order);
  bool isCopied = !(isMade && allFollow) && !isIdentityPermutation(order);
  return isCopied ? getTensorBytes(value.getType()) : 0;
}

int64_t Trial::run() {
  if (!assign(cause->getOperand(0), first) ||
      !move(cause, cause->getOperand(0)))
    return 0;
  for (size_t number = 0; number < values.entries.size(); ++number) {
    if (++visits[values.entries[number].value] > kMostVisits)
      return 0;
    after += visit(number);
  }
  return std::max<int64_t>(0, before - after);
}

/// The orders in which a collective may copy less; the first one keeps the
/// innermost dimension.
static SmallVector<DimOrder> getOrders(Operation *collective) {
  SmallVector<int64_t, 2> dims;
  if (auto exchange = dyn_cast<AllToAllOp>(collective))
    dims.append(
        {int64_t(exchange.getConcatDim()), int64_t(exchange.getSplitDim())});
  else if (auto dim = collective->getAttrOfType<IntegerAttr>("dim"))
    dims.push_back(dim.getInt());
  llvm::sort(dims);
  int64_t rank =
      cast<RankedTensorType>(collective->getOperand(0).getType()).getRank();
  SmallVector<DimOrder> orders;
  for (int64_t first : dims) {
    DimOrder &order = orders.emplace_back(1, first);
    for (int64_t dim = 0; dim < rank; ++dim)
      if (dim != first)
        order.push_back(dim);
  }
  return orders;
}

void Choice::choose(Operation *collective) {
  std::optional<Trial> best;
  int64_t most = 0;
  for (const DimOrder &order : getOrders(collective)) {
    Trial trial(settled, visits, collective, order);
    int64_t saved = trial.run();
    if (saved <= most)
      continue;
    most = saved;
    best.emplace(std::move(trial));
  }
  if (!best)
    return;
  for (StoredValue &entry : best->values.entries)
    settled.add(std::move(entry));
  settled.carriers.insert_range(best->values.carriers);
}

StoredValues Choice::run() {
  function->walk([&](CollectiveOpInterface op) {
    if (getPackedBytes(op) > 0 && !settled.carriers.contains(op))
      choose(op);
  });
  return std::move(settled);
}

StoredValues mlir::dist::chooseLayouts(Operation *function) {
  return Choice(function).run();
}
