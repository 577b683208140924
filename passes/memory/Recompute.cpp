//===- Recompute.cpp - What backward reads is kept, or computed again -----===//
//
// --dist-recompute: a minimum cut decides which values are kept. The values of
// forward that backward needs are the sinks; values that may not be repeated
// are the sources. Each value is an edge whose capacity is its bytes. (The idea
// is that of PyTorch's AOTAutograd, He and Zou 2022.)
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Utils/Program.h"
#include "dialects/dist/Utils/Reads.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/cost/Work.h"
#include "passes/memory/LoopGathers.h"
#include "passes/memory/MinCut.h"
#include "passes/memory/Passes.h"
#include "passes/memory/RecomputedOps.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTRECOMPUTE
#include "passes/memory/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
class Recomputation {
public:
  Recomputation(Block &block, Repeated repeated)
      : block(block), ops(block, repeated), builder(&*block.begin()) {}

  void run();

private:
  void findReturned();
  unsigned getNode(Value value);
  void addOps();
  bool isRepeated(Value value) const;
  Value getKept(Value value);
  void repeat(ArrayRef<OpOperand *> reads);
  void repeatOp(Operation *op);
  void eraseUnused();

  Block &block;
  RecomputedOps ops;
  OpBuilder builder;
  MinCut graph;
  unsigned source = 0, sink = 0;
  llvm::DenseMap<Value, unsigned> values;
  llvm::DenseMap<Operation *, unsigned> nodes;
  /// For ops of forward.
  llvm::DenseMap<Operation *, size_t> places;
  /// In the graph, without the edges to their operands.
  SmallVector<Operation *> pending;
  /// Values that stay anyhow, as the block returns them.
  llvm::DenseSet<Value> returned;
  /// Values that were derived from values of forward for backward.
  llvm::DenseMap<Value, Value> kept, repeatedValues;
  /// A value of backward that is there where ops are put now.
  Value after;
};
} // namespace

void Recomputation::findReturned() {
  for (Value value : block.getTerminator()->getOperands()) {
    Operation *op = value.getDefiningOp();
    while (op && getViewSource(op)) {
      value = op->getOperand(0);
      op = value.getDefiningOp();
    }
    returned.insert(value);
  }
}

unsigned Recomputation::getNode(Value value) {
  auto [entry, isNew] = values.try_emplace(value, 0);
  if (!isNew)
    return entry->second;
  unsigned number = entry->second = graph.addNode();
  Operation *op = value.getDefiningOp();
  auto [made, isNewOp] = nodes.try_emplace(op, 0);
  if (isNewOp) {
    made->second = graph.addNode();
    pending.push_back(op);
  }
  bool isView = getViewSource(op) && ops.mayRepeat(op);
  int64_t bytes =
      returned.contains(value) ? 0 : getTensorBytes(value.getType());
  graph.addEdge(made->second, number, isView ? MinCut::kUncut : bytes);
  return number;
}

/// Links ops with their operands, as far as they may be repeated.
void Recomputation::addOps() {
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    unsigned node = nodes[op];
    if (!ops.mayRepeat(op)) {
      graph.addEdge(source, node, MinCut::kUncut);
      continue;
    }
    visitReads(op, [&](OpOperand &operand) {
      if (ops.isComputed(operand.get()))
        graph.addEdge(getNode(operand.get()), node, MinCut::kUncut);
    });
  }
}

bool Recomputation::isRepeated(Value value) const {
  return ops.isComputed(value) &&
         graph.isBehindCut(nodes.lookup(value.getDefiningOp()));
}

/// A value that stays, as ops that are repeated read it.
Value Recomputation::getKept(Value value) {
  if (!isa<BlockArgument>(value) && !ops.isComputed(value))
    return value;
  if (!isa<RankedTensorType>(value.getType()))
    return value;
  Value &barrier = kept[value];
  if (!barrier)
    barrier = OptimizationBarrierOp::create(builder, value.getLoc(),
                                            value.getType(), value, after);
  return barrier;
}

void Recomputation::repeatOp(Operation *op) {
  IRMapping map;
  visitReads(op, [&](OpOperand &operand) {
    Value value = operand.get();
    map.map(value,
            isRepeated(value) ? repeatedValues.lookup(value) : getKept(value));
  });
  Operation *copy = builder.clone(*op, map);
  copy->setDiscardableAttr(kBackwardAttr, builder.getUnitAttr());
  copy->setDiscardableAttr(kRecomputedAttr, builder.getUnitAttr());
  if (auto collective = dyn_cast<CollectiveOpInterface>(copy))
    if (StringAttr cause = collective.getCauseAttr())
      copy->setAttr("cause", builder.getStringAttr("again, for gradients: " +
                                                   cause.getValue()));
  for (auto [result, again] :
       llvm::zip_equal(op->getResults(), copy->getResults()))
    repeatedValues[result] = again;
}

/// Recomputes values from kept ones: the ops needed, in forward's order.
void Recomputation::repeat(ArrayRef<OpOperand *> reads) {
  llvm::SetVector<Operation *> needed;
  auto need = [&](Value value) {
    if (isRepeated(value) && !repeatedValues.count(value))
      needed.insert(value.getDefiningOp());
  };
  for (OpOperand *read : reads)
    need(read->get());
  for (size_t i = 0; i < needed.size(); ++i)
    visitReads(needed[i], [&](OpOperand &operand) { need(operand.get()); });
  SmallVector<Operation *> order = needed.takeVector();
  llvm::sort(order, [&](Operation *a, Operation *b) {
    return places.lookup(a) < places.lookup(b);
  });
  for (Operation *op : order)
    repeatOp(op);
  for (OpOperand *read : reads)
    read->set(repeatedValues.lookup(read->get()));
}

/// Values that only backward read.
void Recomputation::eraseUnused() {
  for (Operation *op : llvm::reverse(ops.getForward()))
    if (isOpTriviallyDead(op))
      op->erase();
}

void Recomputation::run() {
  findReturned();
  source = graph.addNode();
  sink = graph.addNode();
  llvm::DenseSet<Value> needed;
  for (Operation *op : ops.getBackward())
    visitReads(op, [&](OpOperand &operand) {
      if (ops.isComputed(operand.get()) && needed.insert(operand.get()).second)
        graph.addEdge(getNode(operand.get()), sink, MinCut::kUncut);
    });
  addOps();
  graph.cut(source, sink);
  for (auto [place, op] : llvm::enumerate(ops.getForward()))
    places[op] = place;
  llvm::DenseSet<Operation *> inBackward;
  inBackward.insert_range(ops.getBackward());
  for (Operation *op : ops.getBackward()) {
    SmallVector<OpOperand *> reads;
    visitReads(op, [&](OpOperand &operand) {
      Value value = operand.get();
      if (isRepeated(value))
        reads.push_back(&operand);
      else if (isa<RankedTensorType>(value.getType()) &&
               inBackward.contains(value.getDefiningOp()))
        after = value;
    });
    if (reads.empty())
      continue;
    builder.setInsertionPoint(op);
    repeat(reads);
  }
  eraseUnused();
}

namespace {
struct Recompute : mlir::dist::impl::DistRecomputeBase<Recompute> {
  using DistRecomputeBase::DistRecomputeBase;

  FailureOr<Repeated> getRepeated() {
    if (what == "asked")
      return Repeated::Asked;
    if (what == "cheap")
      return Repeated::Cheap;
    if (what == "gathers")
      return Repeated::Gathers;
    return getOperation().emitError("--recompute=")
           << what << ": expected asked, cheap or gathers";
  }

  void runOnOperation() override {
    FailureOr<Repeated> repeated = getRepeated();
    if (failed(repeated))
      return signalPassFailure();
    SmallVector<Block *> blocks;
    getOperation().walk([&](Block *block) {
      if (llvm::any_of(*block,
                       [](Operation &op) { return op.hasAttr(kBackwardAttr); }))
        blocks.push_back(block);
    });
    if (blocks.empty())
      return;
    if (int level = getLevel(getOperation()); level == 1 || level == 2) {
      getOperation().emitError("is of level ")
          << level
          << ": what is kept is decided for the program of one device, after "
             "--dist-spmd";
      return signalPassFailure();
    }
    if (*repeated == Repeated::Gathers)
      for (Block *block : blocks)
        if (auto loop = dyn_cast<scf::ForOp>(block->getParentOp()))
          moveIntoLoop(loop);
    for (Block *block : blocks) {
      Recomputation(*block, *repeated).run();
      if (*repeated == Repeated::Gathers)
        gatherSlices(*block);
    }
  }
};
} // namespace
