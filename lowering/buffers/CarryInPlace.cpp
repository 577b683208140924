//===- CarryInPlace.cpp - Loops hand on buffers in place ------------------===//
//
// --dist-carry-in-place. After bufferization a loop may yield a buffer that it
// allocated; the next iteration would allocate another. Here each carried value
// gets one buffer outside of the loop, and yields become copies into it.
//
//===----------------------------------------------------------------------===//

#include "lowering/buffers/Aliases.h"
#include "lowering/buffers/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTCARRYINPLACE
#include "lowering/buffers/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// A new buffer of `type`'s shape before `op`, as a value of that type.
static Value allocate(OpBuilder &builder, Location loc, MemRefType type) {
  auto plain = MemRefType::get(type.getShape(), type.getElementType());
  Value buffer = memref::AllocOp::create(builder, loc, plain);
  return plain == type ? buffer
                       : memref::CastOp::create(builder, loc, type, buffer);
}

/// Whether the buffer comes into being in the block, so that no loop carries
/// it.
static bool isMadeIn(Block *block, Value buffer) {
  auto alloc = getViewRoot(buffer).getDefiningOp<memref::AllocOp>();
  return alloc && alloc->getBlock() == block;
}

/// Copies `values` to `buffers` before the terminator. Values that may be in
/// one of the buffers are saved first.
static void copyAll(OpBuilder &builder, Operation *terminator,
                    ArrayRef<Value> values, ArrayRef<Value> buffers) {
  builder.setInsertionPoint(terminator);
  Location loc = terminator->getLoc();
  SmallVector<Value> saved;
  for (Value value : values) {
    if (!isMadeIn(terminator->getBlock(), value)) {
      auto type = cast<MemRefType>(value.getType());
      Value copy = memref::AllocOp::create(
          builder, loc,
          MemRefType::get(type.getShape(), type.getElementType()));
      memref::CopyOp::create(builder, loc, value, copy);
      value = copy;
    }
    saved.push_back(value);
  }
  for (auto [value, buffer] : llvm::zip_equal(saved, buffers))
    memref::CopyOp::create(builder, loc, value, buffer);
}

/// The buffers of the carried values, initialized with the loop's initial
/// values.
static SmallVector<Value> makeBuffers(OpBuilder &builder, Operation *loop,
                                      ArrayRef<Value> inits) {
  builder.setInsertionPoint(loop);
  SmallVector<Value> buffers;
  for (Value init : inits) {
    buffers.push_back(
        allocate(builder, loop->getLoc(), cast<MemRefType>(init.getType())));
    memref::CopyOp::create(builder, loop->getLoc(), init, buffers.back());
  }
  return buffers;
}

static bool isStaticBuffer(Value value) {
  auto type = dyn_cast<MemRefType>(value.getType());
  return type && type.hasStaticShape();
}

/// A carried buffer that is not the same one in every iteration goes beside the
/// loop.
static void carryInPlace(scf::ForOp loop) {
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  SmallVector<Value> inits, values;
  llvm::BitVector moved(loop.getNumRegionIterArgs());
  for (auto [i, value] : llvm::enumerate(yield.getOperands()))
    if (isStaticBuffer(value) && value != loop.getRegionIterArg(i)) {
      moved.set(i);
      inits.push_back(loop.getInitArgs()[i]);
      values.push_back(value);
    }
  if (moved.none())
    return;
  OpBuilder builder(loop);
  SmallVector<Value> buffers = makeBuffers(builder, loop, inits);
  copyAll(builder, yield, values, buffers);
  for (auto [i, buffer] : llvm::zip_equal(moved.set_bits(), buffers)) {
    loop.getResult(i).replaceAllUsesWith(buffer);
    loop.getRegionIterArg(i).replaceAllUsesWith(buffer);
    // The loop now yields its initial values; canonicalization drops them.
    yield.setOperand(i, loop.getRegionIterArg(i));
  }
}

/// Both halves of a while loop: the values that the first passes to the second
/// (and out of the loop), and those that the second passes back.
static void carryInPlace(scf::WhileOp loop) {
  scf::ConditionOp condition = loop.getConditionOp();
  scf::YieldOp yield = loop.getYieldOp();
  OpBuilder builder(loop);
  auto move = [&](ValueRange inits, ValueRange values, Operation *terminator,
                  unsigned firstOperand, auto replace) {
    SmallVector<Value> starts, ends;
    SmallVector<unsigned> positions;
    for (auto [i, value] : llvm::enumerate(values)) {
      if (!isStaticBuffer(value))
        continue;
      positions.push_back(i);
      ends.push_back(value);
      if (!inits.empty())
        starts.push_back(inits[i]);
    }
    if (positions.empty())
      return;
    SmallVector<Value> buffers;
    if (inits.empty()) {
      builder.setInsertionPoint(loop);
      for (Value end : ends)
        buffers.push_back(
            allocate(builder, loop.getLoc(), cast<MemRefType>(end.getType())));
    } else {
      buffers = makeBuffers(builder, loop, starts);
    }
    copyAll(builder, terminator, ends, buffers);
    for (auto [i, buffer] : llvm::zip_equal(positions, buffers)) {
      replace(i, buffer);
      terminator->setOperand(firstOperand + i, buffer);
    }
  };
  move({}, condition.getArgs(), condition, 1, [&](unsigned i, Value buffer) {
    loop.getAfterArguments()[i].replaceAllUsesWith(buffer);
    loop.getResult(i).replaceAllUsesWith(buffer);
  });
  move(loop.getInits(), yield.getOperands(), yield, 0,
       [&](unsigned i, Value buffer) {
         loop.getBeforeArguments()[i].replaceAllUsesWith(buffer);
         loop->setOperand(i, buffer);
       });
}

namespace {
struct CarryInPlace : dist::impl::DistCarryInPlaceBase<CarryInPlace> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (auto loop = dyn_cast<scf::ForOp>(op))
        carryInPlace(loop);
      else if (auto loop = dyn_cast<scf::WhileOp>(op))
        carryInPlace(loop);
    });
  }
};
} // namespace
