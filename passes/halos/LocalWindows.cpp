//===- LocalWindows.cpp - Windows of ops that become local ----------------===//

#include "dialects/dist/IR/Halo.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include "passes/halos/WindowLowering.h"
#include "passes/spmd/graph/PlacementText.h"
#include "passes/spmd/graph/Windows.h"

using namespace mlir;
using namespace mlir::dist;

ShardingRule LocalWindows::getWholeRule(Operation *op) {
  SmallVector<std::pair<Value, Type>> local;
  for (Value operand : op->getOperands())
    if (auto known = wholes.find(operand); known != wholes.end()) {
      local.push_back({operand, operand.getType()});
      operand.setType(known->second.type);
    }
  ShardingRule rule = getShardingRule(op);
  for (auto [operand, type] : llvm::reverse(local))
    operand.setType(type);
  return rule;
}

/// The padding value of a pad, if it does not depend on its body.
static Value getFill(OpBuilder &builder, tensor::PadOp pad) {
  Value fill = pad.getConstantPaddingValue();
  if (Operation *made = fill.getDefiningOp(); made && pad->isAncestor(made))
    return builder.clone(*made)->getResult(0);
  return fill;
}

std::string mlir::dist::describeWindows(Operation *op, const Twine &what) {
  auto cause = op->getAttrOfType<StringAttr>(kWindowCauseAttr);
  return (cause ? cause.str() + ": " : std::string()) + what.str();
}

/// The window, extended to the end of the widest window of the same value that
/// begins like it, so that all its readers share one exchange.
Window LocalWindows::getWidest(OpOperand &operand, const Window &window,
                               const ShardingRule &rule) {
  Block *block = operand.getOwner()->getBlock();
  auto [entry, isNew] = allReads.try_emplace(operand.get());
  Reads &reads = entry->second;
  if (isNew || reads.block != block) {
    reads = {block, {}};
    auto note = [&reads](const ShardingRule &rule, OpOperand &use) {
      const TensorRule &tensor = rule.operands[use.getOperandNumber()];
      for (const Window &other : tensor.windows)
        reads.windows.push_back(
            {other, rule.factors[tensor.dims[other.dim][0]].size});
    };
    note(rule, operand);
    for (OpOperand &use : operand.get().getUses()) {
      Operation *user = use.getOwner();
      if (user != operand.getOwner() && user->getBlock() == block &&
          isa<linalg::LinalgOp>(user) && mayReadWindows(user))
        note(getWholeRule(user), use);
    }
  }
  const TensorRule &own = rule.operands[operand.getOperandNumber()];
  int64_t iterations = rule.factors[own.dims[window.dim][0]].size;
  Window widest = window;
  for (const auto &[other, count] : reads.windows)
    if (other.dim == window.dim && other.stride == window.stride &&
        other.offset == window.offset && count == iterations)
      widest.extent = std::max(widest.extent, other.extent);
  return widest;
}

LogicalResult LocalWindows::bring(Operation *op, const LocalView &view,
                                  const ShardingRule &rule) {
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned number = operand.getOperandNumber();
    const TensorRule &tensor = rule.operands[number];
    // Windows of a result are written.
    if (auto writer = dyn_cast<DestinationStyleOpInterface>(op);
        writer && writer.isDpsInit(&operand))
      continue;
    auto pad = operand.get().getDefiningOp<tensor::PadOp>();
    auto open = pad ? openPads.find(pad) : openPads.end();
    bool isOpen = open != openPads.end();
    auto isRead = [&](const Window &window) {
      return view.operands[number].getDims()[window.dim] != layout.none();
    };
    if (!isOpen && llvm::none_of(tensor.windows, isRead))
      continue;
    WindowSource source{operand.get(),
                        cast<RankedTensorType>(view.operandTypes[number]),
                        view.operands[number]};
    Value fill;
    if (isOpen) {
      source = {pad.getSource(), open->second.type, open->second.sharding};
      fill = getFill(builder, pad);
    }
    source.synced = synced.findReshaped(builder, source.local, wholes);
    SmallVector<WindowRead> reads;
    for (int64_t dim = 0; dim < source.whole.getRank(); ++dim) {
      const Window *window = tensor.getWindow(dim);
      WindowRead read{{static_cast<unsigned>(dim)}, 0};
      if (isOpen) {
        read.low = pad.getStaticLow()[dim];
        read.high = pad.getStaticHigh()[dim];
      }
      if (window && isRead(*window)) {
        read.iterations = rule.factors[tensor.dims[dim][0]].size;
        read.window = getWidest(operand, *window, rule);
        read.window.offset -= read.low;
        reads.push_back(read);
      } else if (read.low != 0 || read.high != 0) {
        reads.push_back(read);
      }
    }
    Attribute filler;
    FailureOr<Value> ready = failure();
    bool isComparable = !fill || matchPattern(fill, m_Constant(&filler));
    SmallVector<Brought, 1> &before = brought[source.local];
    for (const Brought &other : before)
      if (isComparable && other.block == op->getBlock() &&
          other.fill == filler && other.reads == reads)
        ready = other.ready;
    if (failed(ready)) {
      Value local = source.local;
      ready = readWindows(
          builder, op->getLoc(), layout, planner, source, reads, fill,
          describeWindows(op, "brings neighbours' rows of "
                              "operand " +
                                  Twine(number) + ", which " + describeOp(op) +
                                  " reads in windows"),
          op->getAttr(kScopeAttr));
      if (failed(ready))
        return failure();
      // Starting from the same value, the next one gives no more either.
      if (isComparable && *ready != local)
        before.push_back({op->getBlock(), filler, std::move(reads), *ready});
    }
    operand.set(*ready);
    if (isOpen && pad->use_empty()) {
      openPads.erase(pad);
      allReads.erase(pad);
      pad->erase();
    }
  }
  return success();
}

FailureOr<bool> LocalWindows::visitPad(tensor::PadOp pad, const LocalView &view,
                                       const ShardingRule &rule) {
  auto isRead = [&](const Window &window) {
    return view.operands[0].getDims()[window.dim] != layout.none();
  };
  if (llvm::none_of(rule.operands[0].windows, isRead))
    return false;
  Whole whole = wholes[pad.getResult()];
  SmallVector<OpOperand *> others;
  bool isFilled = false;
  // Initial values of sums are written in windows, not read.
  auto isInit = [](OpOperand &use) {
    auto op = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
    return op && op.isDpsInit(&use);
  };
  for (OpOperand &use : pad.getResult().getUses())
    if (!isInit(use) && mayReadWindows(use.getOwner()) &&
        fillsPad(use, getWholeRule(use.getOwner()), pad, whole.sharding))
      isFilled = true;
    else
      others.push_back(&use);
  if (!others.empty()) {
    SmallVector<WindowRead> reads;
    for (int64_t dim = 0; dim < whole.type.getRank(); ++dim) {
      WindowRead read{{static_cast<unsigned>(dim)},
                      whole.type.getDimSize(dim),
                      pad.getStaticLow()[dim],
                      pad.getStaticHigh()[dim]};
      if (const Window *window = rule.operands[0].getWindow(dim))
        read.window = *window;
      if (read.low != 0 || read.high != 0)
        reads.push_back(read);
    }
    FailureOr<Value> padded = readWindows(
        builder, pad.getLoc(), layout, planner,
        {pad.getSource(), cast<RankedTensorType>(view.operandTypes[0]),
         view.operands[0],
         synced.findReshaped(builder, pad.getSource(), wholes)},
        reads, getFill(builder, pad),
        describeWindows(pad, "moves rows on for " + describeOp(pad)),
        pad->getAttr(kScopeAttr));
    if (failed(padded))
      return failure();
    wholes[*padded] = whole;
    for (OpOperand *use : others)
      use->set(*padded);
  }
  if (isFilled)
    openPads[pad] = {cast<RankedTensorType>(view.operandTypes[0]),
                     view.operands[0]};
  else
    pad->erase();
  return true;
}
