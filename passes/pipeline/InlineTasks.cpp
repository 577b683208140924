//===- InlineTasks.cpp - Tasks back to the program of one device ----------===//

#include "dialects/dist/IR/Pipeline.h"
#include "dialects/dist/Utils/FunctionAttrs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/pipeline/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTINLINETASKS
#include "passes/pipeline/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// What further stages hold of a parameter, and the new values of it, go.
static void joinHolders(func::FuncOp function) {
  llvm::StringMap<unsigned> first;
  llvm::BitVector arguments(function.getNumArguments()),
      results(function.getNumResults());
  for (unsigned i = 0, end = function.getNumArguments(); i < end; ++i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, kParameterAttr);
    if (!name || !function.getArgAttr(i, kStageAttr))
      continue;
    std::string key = name.getValue().str();
    if (auto part = function.getArgAttr(i, kPartAttr))
      llvm::raw_string_ostream(key) << " " << part;
    auto [known, isNew] = first.try_emplace(key, i);
    if (isNew)
      continue;
    function.getArgument(i).replaceAllUsesWith(
        function.getArgument(known->second));
    arguments.set(i);
  }
  for (unsigned i = 0, end = function.getNumResults(); i < end; ++i)
    if (auto updates =
            function.getResultAttrOfType<IntegerAttr>(i, kUpdatesAttr);
        updates && arguments.test(updates.getInt()))
      results.set(i);
  Operation *last = function.getBody().front().getTerminator();
  for (int i = results.find_last(); i >= 0; i = results.find_prev(i))
    last->eraseOperand(i);
  (void)function.eraseResults(results);
  (void)eraseArguments(function, arguments);
  for (auto update : {updateArgAttrs, updateResultAttrs})
    update(function,
           [](unsigned, NamedAttrList &list) { list.erase(kStageAttr); });
}

namespace {
struct InlineTasks : dist::impl::DistInlineTasksBase<InlineTasks> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation().walk([&](Operation *op) {
      if (auto task = dyn_cast<TaskOp>(op)) {
        Block &body = task.getBody().front();
        auto yield = cast<TaskYieldOp>(body.getTerminator());
        SmallVector<Value> values(yield.getOperands());
        rewriter.eraseOp(yield);
        rewriter.inlineBlockBefore(&body, task);
        rewriter.replaceOp(task, values);
      } else if (auto transfer = dyn_cast<TransferOp>(op)) {
        rewriter.replaceOp(transfer, transfer.getOperand());
      }
    });
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        joinHolders(function);
    for (MeshOp mesh : getOperation().getOps<MeshOp>())
      mesh->removeAttr(kPipelineAttr);
  }
};
} // namespace
