//===- PlanMemory.cpp - Every buffer gets its place in one arena ----------===//
//
// --dist-plan-memory: from when to when each allocation is in use, its
// place (MemoryPlan.h), and views of the arena instead of allocations.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Program.h"
#include "lowering/buffers/MemoryPlan.h"
#include "lowering/buffers/Passes.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTPLANMEMORY
#include "lowering/buffers/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

static constexpr int64_t kAlignment = 64;

static int64_t sizeInBytes(MemRefType type) {
  return type.getNumElements() * rt::getElementBytes(type.getElementType());
}

namespace {

class Lives {
public:
  explicit Lives(func::FuncOp function) {
    int64_t now = 0;
    function.walk<WalkOrder::PreOrder>(
        [&](Operation *op) { begin[op] = now++; });
  }

  /// When `alloc` is in use: from the first to the last op that touches it or
  /// an alias, and through the whole of a loop that touches it from outside.
  FailureOr<Life> of(memref::AllocOp alloc) {
    Life life{INT64_MAX, -1, sizeInBytes(alloc.getType())};
    DenseSet<Value> seen;
    SmallVector<Value> pending = {alloc.getResult()};
    auto follow = [&](Value value) {
      if (isa<MemRefType>(value.getType()) && seen.insert(value).second)
        pending.push_back(value);
    };
    auto followAll = [&](Operation *op) {
      for (Value result : op->getResults())
        follow(result);
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (Value argument : block.getArguments())
            follow(argument);
    };
    while (!pending.empty()) {
      for (Operation *user : pending.pop_back_val().getUsers()) {
        touch(life, alloc, user);
        if (!user->hasTrait<OpTrait::IsTerminator>()) {
          followAll(user);
          continue;
        }
        // What leaves its region is one of the results of what surrounds it.
        Operation *parent = user->getParentOp();
        if (isa<LoopLikeOpInterface>(parent) && parent->isAncestor(alloc)) {
          alloc.emitOpError("of ")
              << alloc.getType()
              << " is handed from one iteration of a loop to the next, which "
                 "must be computed in place";
          return failure();
        }
        touch(life, alloc, parent);
        followAll(parent);
      }
    }
    return life;
  }

private:
  int64_t endOf(Operation *op) {
    int64_t last = begin.lookup(op);
    while (op->getNumRegions() > 0) {
      Operation *inner = nullptr;
      for (Region &region : op->getRegions())
        if (!region.empty() && !region.back().empty())
          inner = &region.back().back();
      if (!inner)
        break;
      op = inner;
      last = std::max(last, begin.lookup(op));
    }
    return last;
  }

  void touch(Life &life, memref::AllocOp alloc, Operation *user) {
    // The outermost op that contains the user but not the allocation.
    Operation *outer = alloc->getBlock()->findAncestorOpInBlock(*user);
    if (!outer)
      outer = user;
    life.start = std::min(life.start, begin.lookup(outer));
    life.end = std::max(life.end, endOf(outer));
  }

  DenseMap<Operation *, int64_t> begin;
};

struct PlanMemory : dist::impl::DistPlanMemoryBase<PlanMemory> {
  using DistPlanMemoryBase::DistPlanMemoryBase;

  LogicalResult plan(func::FuncOp function) {
    SmallVector<memref::AllocOp> allocs;
    WalkResult walked = function.walk([&](memref::AllocOp alloc) {
      if (!alloc.getType().hasStaticShape()) {
        alloc.emitOpError("of dynamic size ")
            << alloc.getType() << "; only static shapes can be lowered";
        return WalkResult::interrupt();
      }
      allocs.push_back(alloc);
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return failure();
    Lives lives(function);
    SmallVector<Life> intervals;
    llvm::erase_if(allocs, [](memref::AllocOp alloc) {
      if (!alloc->use_empty())
        return false;
      alloc.erase();
      return true;
    });
    for (memref::AllocOp alloc : allocs) {
      if (!sharing) {
        intervals.push_back({0, 1, sizeInBytes(alloc.getType())});
        continue;
      }
      FailureOr<Life> life = lives.of(alloc);
      if (failed(life))
        return failure();
      intervals.push_back(*life);
    }
    MemoryPlan plan = planMemory(intervals, kAlignment);

    OpBuilder builder(&getContext());
    Location loc = function.getLoc();
    auto arenaType = MemRefType::get({plan.bytes}, builder.getI8Type());
    Type pointer = LLVM::LLVMPointerType::get(&getContext());
    unsigned last = function.getNumArguments();
    // The rank in front; the arena and the status words at the end.
    if (failed(
            function.insertArgument(last, arenaType, DictionaryAttr(), loc)) ||
        failed(function.insertArgument(last + 1, pointer, DictionaryAttr(),
                                       loc)) ||
        failed(function.insertArgument(0, pointer, DictionaryAttr(), loc)))
      return failure();
    Value arena = function.getArgument(last + 1);
    Value status = function.getArgument(last + 2);
    function.walk([&](rt::StatusOp op) {
      op.replaceAllUsesWith(status);
      op.erase();
    });
    for (auto [alloc, offset] : llvm::zip_equal(allocs, plan.offsets)) {
      builder.setInsertionPoint(alloc);
      Value start =
          arith::ConstantIndexOp::create(builder, alloc.getLoc(), offset);
      Value view = memref::ViewOp::create(
          builder, alloc.getLoc(), alloc.getType(), arena, start, ValueRange());
      alloc.replaceAllUsesWith(view);
      alloc.erase();
    }
    ModuleOp module = getOperation();
    module->setAttr(kArenaBytesAttr, builder.getI64IntegerAttr(plan.bytes));
    module->setAttr(kLiveBytesAttr, builder.getI64IntegerAttr(plan.liveBytes));
    return success();
  }

  void runOnOperation() override {
    FailureOr<FunctionOpInterface> entry = findEntryFunction(getOperation());
    if (failed(entry))
      return signalPassFailure();
    if (auto function = dyn_cast<func::FuncOp>(entry->getOperation()))
      if (failed(plan(function)))
        return signalPassFailure();
  }
};

} // namespace
