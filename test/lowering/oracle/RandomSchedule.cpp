//===- RandomSchedule.cpp - Any legal order of a program ------------------===//

#include "test/lowering/oracle/RandomSchedule.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Overlap.h"
#include "dialects/dist/Utils/Streams.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "test/generator/Choices.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

namespace {
class RandomScheduler {
public:
  explicit RandomScheduler(uint64_t seed) : choices(seed) {}

  unsigned schedule(Block &block);

private:
  void reorder(Block &block);
  unsigned start(Block &block);

  Choices choices;
  DenseMap<Attribute, int32_t> streams;
};
} // namespace

/// Whether the op is not to change places with others like it: all ranks call
/// in one order, but that is any.
static bool isOrdered(Operation *op) {
  bool hasCalls = false;
  op->walk(
      [&](Operation *inner) { hasCalls |= inner != op && getCommAxes(inner); });
  return hasCalls || !isMemoryEffectFree(op);
}

void RandomScheduler::reorder(Block &block) {
  SmallVector<Operation *> ops;
  DenseMap<Operation *, unsigned> missing;
  DenseMap<Operation *, SmallVector<Operation *>> users;
  Operation *lastOrdered = nullptr;
  for (Operation &op : block.without_terminator()) {
    ops.push_back(&op);
    llvm::SmallSetVector<Operation *, 4> needs;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *source = operand.getDefiningOp();
            source && source != &op && source->getBlock() == &block)
          needs.insert(source);
    });
    if (isOrdered(&op)) {
      if (lastOrdered)
        needs.insert(lastOrdered);
      lastOrdered = &op;
    }
    missing[&op] = needs.size();
    for (Operation *need : needs)
      users[need].push_back(&op);
  }
  SmallVector<Operation *> ready;
  for (Operation *op : ops)
    if (missing[op] == 0)
      ready.push_back(op);
  // Sometimes the next one in order, so that flights are short and long.
  unsigned percent = choices.pick({10u, 50u, 90u});
  while (!ready.empty()) {
    unsigned number = choices.chance(percent) ? choices.below(ready.size()) : 0;
    Operation *op = ready[number];
    ready.erase(ready.begin() + number);
    op->moveBefore(block.getTerminator());
    for (Operation *user : users[op])
      if (--missing[user] == 0)
        ready.push_back(user);
  }
}

/// From the last to the first: a collective may run on a stream where no call
/// on its communicator is done where it stands before its result is used.
unsigned RandomScheduler::start(Block &block) {
  DenseMap<Attribute, Operation *> nextCall;
  unsigned started = 0;
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops)) {
    Attribute comm = getCommAxes(op);
    if (!comm) {
      op->walk([&](Operation *inner) {
        if (Attribute within = getCommAxes(inner))
          nextCall[within] = op;
      });
      continue;
    }
    Operation *end = findFirstUser(op->getResult(0));
    Operation *next = nextCall.lookup(comm);
    // What is done where it stands may be what waits for it.
    bool isLegal = end && (!next || end == next || end->isBeforeInBlock(next));
    if (!isLegal || !choices.chance(75)) {
      nextCall[comm] = op;
      continue;
    }
    int32_t &stream = streams[comm];
    if (stream == 0)
      stream = 1 + choices.below(kMaxStream);
    op->setAttr(kStreamAttr,
                Builder(op->getContext()).getI32IntegerAttr(stream));
    ++started;
  }
  return started;
}

unsigned RandomScheduler::schedule(Block &block) {
  reorder(block);
  return start(block);
}

unsigned mlir::dist::test::scheduleAtRandom(ModuleOp module, uint64_t seed) {
  llvm::SetVector<Block *> blocks;
  module.walk([&](Operation *op) {
    if (getCommAxes(op))
      blocks.insert(op->getBlock());
  });
  RandomScheduler scheduler(seed);
  unsigned started = 0;
  for (Block *block : blocks)
    started += scheduler.schedule(*block);
  return started;
}

void mlir::dist::test::removeStreams(ModuleOp module) {
  module.walk([](Operation *op) {
    if (!op->removeAttr(kStreamAttr))
      return;
    Operation *user = findFirstUser(op->getResult(0));
    if (user && !user->hasTrait<OpTrait::IsTerminator>()) {
      OpBuilder builder(user);
      FenceOp::create(builder, op->getLoc());
    }
  });
}
