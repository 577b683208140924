//===- LimitInlining.cpp - How much calls may add -------------------------===//
//
// --dist-limit-inlining: sizes with all calls inlined, callees first.
//
//===----------------------------------------------------------------------===//

#include "lowering/buffers/LimitInlining.h"
#include "dialects/dist/IR/Dist.h"
#include "lowering/buffers/Passes.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/bounds/Bounds.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTLIMITINLINING
#include "lowering/buffers/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
/// A function and what it calls.
struct Function {
  int64_t ops = 0, inlined = 0;
  SmallVector<std::pair<CallOpInterface, Operation *>> calls;
  size_t next = 0;
};
} // namespace

static Function describe(FunctionOpInterface function,
                         SymbolTableCollection &symbols) {
  Function out;
  function->walk([&](Operation *op) {
    ++out.ops;
    auto call = dyn_cast<CallOpInterface>(op);
    Operation *callee = call ? call.resolveCallableInTable(&symbols) : nullptr;
    if (isa_and_present<FunctionOpInterface>(callee))
      out.calls.emplace_back(call, callee);
  });
  out.inlined = out.ops;
  return out;
}

static LogicalResult refuse(FunctionOpInterface function,
                            const Function &description,
                            const llvm::DenseMap<Operation *, Function> &all) {
  auto [call, callee] =
      *llvm::max_element(description.calls, [&](const auto &a, const auto &b) {
        return all.at(a.second).inlined < all.at(b.second).inlined;
      });
  int64_t times =
      llvm::count_if(description.calls, [callee = callee](const auto &one) {
        return one.second == callee;
      });
  InFlightDiagnostic error =
      function.emitOpError("'@")
      << function.getName() << "' would have " << description.inlined
      << " ops with what it calls in the place of each call, which is how "
      << "programs are compiled; at most " << kMostInlinedOps
      << " more than the module has are";
  error.attachNote(call.getLoc())
      << "here '@" << cast<FunctionOpInterface>(callee).getName() << "' of "
      << all.at(callee).inlined << " ops is called, one of " << times
      << " calls of it; let functions call others less often, or repeat them "
      << "in a loop";
  return failure();
}

LogicalResult mlir::dist::limitInlining(ModuleOp module) {
  auto entry = dyn_cast_or_null<FunctionOpInterface>(getEntryFunction(module));
  if (!entry)
    return success();
  SymbolTableCollection symbols;
  llvm::DenseMap<Operation *, Function> all;
  int64_t inModule = 0;
  SmallVector<Operation *> stack;
  auto enter = [&](Operation *op) {
    if (!all.try_emplace(op).second)
      return;
    all[op] = describe(cast<FunctionOpInterface>(op), symbols);
    inModule += all[op].ops;
    stack.push_back(op);
  };
  enter(entry);
  // Callees come off the stack before their callers. A recursive function has
  // no size; it is rejected later.
  SmallVector<Operation *> order;
  while (!stack.empty()) {
    Operation *op = stack.back();
    Function &function = all[op];
    if (function.next < function.calls.size()) {
      enter(function.calls[function.next++].second);
      continue;
    }
    stack.pop_back();
    order.push_back(op);
  }
  for (Operation *op : order) {
    Function &function = all[op];
    for (auto &[call, callee] : function.calls)
      function.inlined =
          llvm::SaturatingAdd<uint64_t>(function.inlined, all[callee].inlined);
    function.inlined = std::min(function.inlined, int64_t(1) << 60);
    if (function.inlined > inModule + kMostInlinedOps)
      return refuse(cast<FunctionOpInterface>(op), function, all);
  }
  return success();
}

namespace {
struct LimitInlining : dist::impl::DistLimitInliningBase<LimitInlining> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(limitInlining(getOperation())))
      signalPassFailure();
  }
};
} // namespace
