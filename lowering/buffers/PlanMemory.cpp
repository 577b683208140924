//===- PlanMemory.cpp - Every buffer gets its place in one arena ----------===//
//
// --dist-plan-memory: when each allocation is in use (LiveRanges.h), its place
// (MemoryPlan.h), and views of the arena instead of allocations.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Utils/Program.h"
#include "lowering/buffers/LiveRanges.h"
#include "lowering/buffers/MemoryPlan.h"
#include "lowering/buffers/Passes.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTPLANMEMORY
#include "lowering/buffers/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {

struct PlanMemory : dist::impl::DistPlanMemoryBase<PlanMemory> {
  using DistPlanMemoryBase::DistPlanMemoryBase;

  /// Without sharing all buffers are in use all the time, whatever the analysis
  /// says.
  LogicalResult findRanges(func::FuncOp function,
                           ArrayRef<memref::AllocOp> allocs,
                           SmallVectorImpl<LiveRange> &ranges) {
    if (!sharing) {
      for (memref::AllocOp alloc : allocs)
        ranges.push_back({0, 1, getSizeInBytes(alloc.getType())});
      return success();
    }
    BufferAliases aliases(function);
    LiveRanges liveRanges(function, aliases);
    for (memref::AllocOp alloc : allocs) {
      FailureOr<LiveRange> range = liveRanges.of(alloc);
      if (failed(range))
        return failure();
      ranges.push_back(*range);
    }
    return success();
  }

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
    llvm::erase_if(allocs, [](memref::AllocOp alloc) {
      if (!alloc->use_empty())
        return false;
      alloc.erase();
      return true;
    });
    SmallVector<LiveRange> ranges;
    if (failed(findRanges(function, allocs, ranges)))
      return failure();
    MemoryPlan plan = planMemory(ranges, alignment);

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
    if (alignment < 1) {
      getOperation().emitError("alignment ")
          << alignment << ": must be at least 1";
      return signalPassFailure();
    }
    FailureOr<FunctionOpInterface> entry = findEntryFunction(getOperation());
    if (failed(entry))
      return signalPassFailure();
    if (auto function = dyn_cast<func::FuncOp>(entry->getOperation()))
      if (failed(plan(function)))
        return signalPassFailure();
  }
};

} // namespace
