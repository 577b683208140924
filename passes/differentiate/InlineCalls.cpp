//===- InlineCalls.cpp - Calls become what they call ----------------------===//

#include "passes/differentiate/InlineCalls.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/bounds/Bounds.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// A call, and the one it came from; -1 for one of the function itself.
struct Call {
  func::CallOp op;
  int64_t from;
};

class Inlining {
public:
  explicit Inlining(func::FuncOp function)
      : function(function),
        symbols(function->getParentWithTrait<OpTrait::SymbolTable>()) {}
  LogicalResult run();

private:
  LogicalResult checkRecursion(size_t number, func::FuncOp callee);
  LogicalResult inlineCall(size_t number, func::FuncOp callee);

  func::FuncOp function;
  SymbolTable symbols;
  SmallVector<Call> calls;
  /// The callee of each of `calls`.
  SmallVector<func::FuncOp> callees;
  llvm::DenseMap<func::FuncOp, int64_t> sizes;
  int64_t added = 0;
};
} // namespace

LogicalResult Inlining::checkRecursion(size_t number, func::FuncOp callee) {
  bool isRecursive = callee == function;
  for (int64_t from = calls[number].from; from >= 0 && !isRecursive;
       from = calls[from].from)
    isRecursive = callees[from] == callee;
  if (!isRecursive)
    return success();
  return callee.emitError("calls itself: such a function has no gradient");
}

static Value constrain(OpBuilder &b, Location loc, Value value,
                       Attribute sharding) {
  if (auto asked = dyn_cast_or_null<ShardingAttr>(sharding))
    return ShardingConstraintOp::create(b, loc, value, asked, StringAttr(),
                                        /*whole=*/ArrayAttr());
  return value;
}

LogicalResult Inlining::inlineCall(size_t number, func::FuncOp callee) {
  func::CallOp call = calls[number].op;
  int64_t &size = sizes[callee];
  if (size == 0)
    callee.walk([&](Operation *) { ++size; });
  added += size;
  if (added > kMostInlinedOps)
    return call.emitOpError("to @")
           << callee.getName() << " is one too many: differentiation puts what "
           << "is called in the place of each call, of at most "
           << kMostInlinedOps << " ops in all";
  OpBuilder b(call);
  IRMapping mapping;
  for (auto [argument, operand] :
       llvm::zip_equal(callee.getArguments(), call.getOperands()))
    mapping.map(argument, constrain(b, call.getLoc(), operand,
                                    callee.getArgAttr(argument.getArgNumber(),
                                                      kShardingAttr)));
  Block &body = callee.getBody().front();
  for (Operation &op : body.without_terminator())
    b.clone(op, mapping)->walk([&](func::CallOp nested) {
      calls.push_back({nested, int64_t(number)});
    });
  for (auto [i, returned] :
       llvm::enumerate(body.getTerminator()->getOperands()))
    call.getResult(i).replaceAllUsesWith(
        constrain(b, call.getLoc(), mapping.lookupOrDefault(returned),
                  callee.getResultAttr(i, kShardingAttr)));
  call.erase();
  return success();
}

LogicalResult Inlining::run() {
  function.walk([&](func::CallOp call) { calls.push_back({call, -1}); });
  for (size_t number = 0; number < calls.size(); ++number) {
    auto callee = symbols.lookup<func::FuncOp>(calls[number].op.getCallee());
    callees.push_back(callee);
    if (!callee || callee.isExternal() || !callee.getBody().hasOneBlock())
      continue;
    if (failed(checkRecursion(number, callee)) ||
        failed(inlineCall(number, callee)))
      return failure();
  }
  return success();
}

LogicalResult mlir::dist::inlineCalls(func::FuncOp function) {
  return Inlining(function).run();
}
