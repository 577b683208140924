//===- KernelUnits.cpp - Ops that may be one kernel -----------------------===//

#include "passes/overlap/KernelUnits.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/cost/StepTime.h"
#include "passes/cost/Work.h"

using namespace mlir;
using namespace mlir::dist;

/// From so many multiplications on a product of matrices is a library's.
static constexpr double kLibraryWork = 1 << 14;

/// Whether the op is a call of a library, whatever is beside it.
static bool isLibraryCall(Operation *op) {
  auto rules = dyn_cast<ShardingRuleOpInterface>(op);
  if (!rules || op->getNumOperands() < 2)
    return false;
  Type type = getElementTypeOrSelf(op->getOperand(0).getType());
  ShardingRule rule = rules.getShardingRule();
  if (!rule.isContraction || (!type.isF32() && !type.isBF16()))
    return false;
  double work = 1, rows = 1, columns = 1;
  auto indexes = [&](unsigned operand, unsigned factor) {
    return llvm::any_of(rule.operands[operand].dims, [&](const auto &dim) {
      return llvm::is_contained(dim, factor);
    });
  };
  for (auto [number, factor] : llvm::enumerate(rule.factors)) {
    if (ShapedType::isDynamic(factor.size))
      return false;
    work *= factor.size;
    bool isLeft = indexes(0, number), isRight = indexes(1, number);
    if (isLeft && !isRight)
      rows *= factor.size;
    else if (isRight && !isLeft)
      columns *= factor.size;
  }
  return work >= kLibraryWork && rows > 1 && columns > 1;
}

/// Whether no kernel has the op and a neighbour of it.
static bool isBorder(Operation *op) {
  bool hasBlocks = op->getNumRegions() > 0 && !isa<linalg::LinalgOp>(op);
  return isTransfer(op) || hasBlocks || !isMemoryEffectFree(op) ||
         isLibraryCall(op);
}

/// The source of a view; null for memory that each user has its own of.
static Value getRoot(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<tensor::EmptyOp, linalg::FillOp>(op))
      return {};
    if (!getViewSource(op) && !isa<AllSliceOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

static void visitRoots(Operation *op, llvm::function_ref<void(Value)> visit) {
  auto visitAll = [&](ValueRange values) {
    for (Value value : values)
      if (isa<TensorType>(value.getType()))
        if (Value root = getRoot(value))
          visit(root);
  };
  op->walk([&](Operation *inner) {
    visitAll(inner->getOperands());
    visitAll(inner->getResults());
  });
}

namespace {
class UnitFinder {
public:
  UnitFinder(Block &block, IsFree isFree) : block(block), isFree(isFree) {}

  std::vector<SmallVector<Operation *, 1>> find();

private:
  void cutRun();

  Block &block;
  IsFree isFree;
  /// Since the last border, in order.
  SmallVector<Operation *> run;
  std::vector<SmallVector<Operation *, 1>> units;
};
} // namespace

/// Splits the ops between two borders.
void UnitFinder::cutRun() {
  SmallVector<Operation *> computed;
  for (Operation *op : run)
    if (!isFree(op))
      computed.push_back(op);
  DenseMap<Value, unsigned> last;
  for (auto [number, op] : llvm::enumerate(computed))
    visitRoots(op, [&](Value root) { last[root] = number; });
  DenseMap<Operation *, unsigned> unitOf;
  unsigned reach = 0, unit = 0;
  for (auto [number, op] : llvm::enumerate(computed)) {
    unitOf[op] = unit;
    visitRoots(op, [&](Value root) { reach = std::max(reach, last[root]); });
    if (reach == number)
      ++unit;
    reach = std::max<unsigned>(reach, number + 1);
  }
  SmallVector<Operation *> loose;
  std::vector<SmallVector<Operation *, 1>> made(unit);
  for (Operation *op : run) {
    // A free op stays with its operands.
    if (isFree(op))
      for (Value operand : op->getOperands())
        if (auto found = unitOf.find(operand.getDefiningOp());
            found != unitOf.end())
          unitOf[op] = std::max(unitOf.lookup(op), found->second);
    if (auto found = unitOf.find(op); found != unitOf.end())
      made[found->second].push_back(op);
    else
      loose.push_back(op);
  }
  for (Operation *op : loose)
    units.push_back({op});
  llvm::append_range(units, made);
  run.clear();
}

std::vector<SmallVector<Operation *, 1>> UnitFinder::find() {
  for (Operation &op : block.without_terminator()) {
    if (!isBorder(&op)) {
      run.push_back(&op);
      continue;
    }
    cutRun();
    units.push_back({&op});
  }
  cutRun();
  return std::move(units);
}

std::vector<SmallVector<Operation *, 1>>
mlir::dist::findKernelUnits(Block &block, IsFree isFree) {
  return UnitFinder(block, isFree).find();
}
