//===- Control.cpp - Calls, loops and branches ----------------------------===//
//
// All devices take the same way where they communicate, or a collective inside
// would wait for ever.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "test/generator/Interpreter.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

LogicalResult Interpreter::runCall(func::CallOp op) {
  auto callee = module.lookupSymbol<func::FuncOp>(op.getCallee());
  if (!callee || callee.isExternal())
    return fail(op, "calls a function without a body");
  std::vector<PerDevice> arguments;
  for (auto [operand, type] :
       llvm::zip_equal(op.getOperands(), callee.getArgumentTypes())) {
    if (operand.getType() != type)
      return fail(op, "passes another type than the callee takes");
    arguments.push_back(all(operand));
  }
  auto results = run(callee, std::move(arguments));
  if (failed(results))
    return failure();
  for (auto [value, result] : llvm::zip_equal(op.getResults(), *results))
    (*values)[value] = std::move(result);
  return success();
}

LogicalResult Interpreter::runFor(scf::ForOp op) {
  auto lower = getCommon(op, op.getLowerBound());
  auto upper = getCommon(op, op.getUpperBound());
  auto step = getCommon(op, op.getStep());
  if (failed(lower) || failed(upper) || failed(step))
    return failure();
  Type type = op.getInductionVar().getType();
  // Wider than the numbers, which steps may leave.
  auto extend = [&](int64_t value) -> __int128 {
    if (op.getUnsignedCmp())
      return maskTo(getWidth(type), value);
    return value;
  };
  if (extend(*step) <= 0)
    return fail(op, "steps by " + Twine(*step));
  std::vector<PerDevice> carried;
  for (Value init : op.getInitArgs())
    carried.push_back(all(init));
  for (__int128 i = extend(*lower); i < extend(*upper); i += extend(*step)) {
    Scalar index;
    index.i = wrapTo(getWidth(type), static_cast<int64_t>(i));
    std::vector<PerDevice> arguments{
        PerDevice(devices.getCount(), Tensor::scalar(type, index))};
    llvm::append_range(arguments, std::move(carried));
    auto next = runBlock(*op.getBody(), std::move(arguments));
    if (failed(next))
      return failure();
    carried = std::move(*next);
  }
  for (auto [value, result] : llvm::zip_equal(op.getResults(), carried))
    (*values)[value] = std::move(result);
  return success();
}

LogicalResult Interpreter::runWhile(scf::WhileOp op) {
  std::vector<PerDevice> carried;
  for (Value init : op.getInits())
    carried.push_back(all(init));
  while (true) {
    auto condition = runBlock(*op.getBeforeBody(), std::move(carried));
    if (failed(condition))
      return failure();
    auto goesOn = getCommon(op, op.getConditionOp().getCondition());
    if (failed(goesOn))
      return failure();
    condition->erase(condition->begin());
    carried = std::move(*condition);
    if (!*goesOn)
      break;
    if (++steps > 100'000'000)
      return fail(op, "runs too long");
    auto next = runBlock(*op.getAfterBody(), std::move(carried));
    if (failed(next))
      return failure();
    carried = std::move(*next);
  }
  for (auto [value, result] : llvm::zip_equal(op.getResults(), carried))
    (*values)[value] = std::move(result);
  return success();
}

/// The block's results are those of `op`.
LogicalResult Interpreter::runRegion(Operation *op, Block &block) {
  auto results = runBlock(block, {});
  if (failed(results))
    return failure();
  for (auto [value, result] : llvm::zip_equal(op->getResults(), *results))
    (*values)[value] = std::move(result);
  return success();
}

/// Whether devices communicate in it.
static bool communicates(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<CollectiveOpInterface, func::CallOp>(inner)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult Interpreter::runIf(scf::IfOp op) {
  // Where no device waits for another one, each has what its branch says.
  const PerDevice &conditions = all(op.getCondition());
  auto isTrue = [](const Tensor &value) { return value.read()[0].i != 0; };
  if (op.elseBlock() && !llvm::all_equal(llvm::map_range(conditions, isTrue)) &&
      !communicates(op)) {
    SmallVector<bool> taken = llvm::map_to_vector(conditions, isTrue);
    auto ofThen = runBlock(*op.thenBlock(), {});
    if (failed(ofThen))
      return failure();
    auto ofElse = runBlock(*op.elseBlock(), {});
    if (failed(ofElse))
      return failure();
    for (auto [result, yes, no] :
         llvm::zip_equal(op.getResults(), *ofThen, *ofElse)) {
      PerDevice &chosen = (*values)[result];
      chosen.clear();
      for (auto [isThen, one, other] : llvm::zip_equal(taken, yes, no))
        chosen.push_back(isThen ? one : other);
    }
    return success();
  }
  auto condition = getCommon(op, op.getCondition());
  if (failed(condition))
    return failure();
  Block *block = *condition ? op.thenBlock() : op.elseBlock();
  return block ? runRegion(op, *block) : success();
}

LogicalResult Interpreter::runSwitch(scf::IndexSwitchOp op) {
  auto value = getCommon(op, op.getArg());
  if (failed(value))
    return failure();
  for (auto [number, wanted] : llvm::enumerate(op.getCases()))
    if (wanted == *value)
      return runRegion(op, op.getCaseBlock(number));
  return runRegion(op, op.getDefaultBlock());
}
