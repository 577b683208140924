//===- CheckLimits.cpp - Programs at the limits of tensors, run -----------===//

#include "compiler/distribute/Passes.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/sizes/StaticBounds.h"
#include "test/generator/Arguments.h"
#include "test/generator/CheckSteps.h"
#include "test/generator/Interpreter.h"
#include "test/lowering/oracle/JitProgram.h"
#include "test/lowering/oracle/LimitProgram.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

//===----------------------------------------------------------------------===//
// What is run
//===----------------------------------------------------------------------===//

/// Elements of all tensors together, and turns of loops.
static constexpr int64_t kMostSteps = 1 << 16;

/// The steps of an op, roughly; nothing if they may be many.
static std::optional<int64_t> countSteps(Operation *op) {
  int64_t steps = 1;
  auto multiply = [&](int64_t size) {
    return !ShapedType::isDynamic(size) && size <= kMostSteps &&
           (steps *= size) <= kMostSteps;
  };
  auto countElements = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    steps = 1;
    return !tensor || llvm::all_of(tensor.getShape(), multiply);
  };
  int64_t sum = 1;
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types) {
      if (!countElements(type))
        return std::nullopt;
      sum += steps;
    }
  steps = 1;
  if (auto generic = dyn_cast<linalg::LinalgOp>(op))
    if (!llvm::all_of(generic.getStaticLoopRanges(), multiply))
      return std::nullopt;
  // Loops, calls and blocks may take any time.
  if (isa<LoopLikeOpInterface, CallOpInterface, BranchOpInterface>(op)) {
    auto loop = dyn_cast<scf::ForOp>(op);
    std::optional<APInt> turns =
        loop ? loop.getStaticTripCount() : std::nullopt;
    if (auto all = dyn_cast<scf::ForallOp>(op); all && all.getRank() == 1) {
      auto from = getConstantIntValue(all.getMixedLowerBound()[0]),
           to = getConstantIntValue(all.getMixedUpperBound()[0]);
      if (from && to && *from > -kMostSteps && *to < kMostSteps)
        turns = APInt(64, std::max<int64_t>(*to - *from, 0));
    }
    if (!turns || turns->ugt(16))
      return std::nullopt;
    sum += turns->getZExtValue();
  }
  return sum + steps;
}

bool mlir::dist::test::isSmallProgram(ModuleOp module) {
  auto entry = dyn_cast_or_null<func::FuncOp>(getEntryFunction(module));
  if (!entry || entry.isExternal() || getLevel(module) != 0 ||
      !llvm::hasSingleElement(module.getOps()))
    return false;
  int64_t sum = 0;
  return !entry
              .walk([&](Operation *op) {
                std::optional<int64_t> steps = countSteps(op);
                return !steps || (sum += *steps) > kMostSteps
                           ? WalkResult::interrupt()
                           : WalkResult::advance();
              })
              .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

Verdict mlir::dist::test::checkLimits(StringRef text,
                                      const CheckOptions &options) {
  MLIRContext *context = getLoweringContext();
  CheckSteps steps(context, options);
  steps.enter("parse");
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      text, ParserConfig(context, /*verifyAfterParse=*/false), "case.mlir");
  if (!module)
    return steps.refuse();
  steps.enter("check-bounds");
  if (failed(verifyInput(*module)))
    return steps.refuse();
  std::vector<Tensor> arguments;
  FailureOr<std::vector<Tensor>> expected = failure();
  std::string problem, error;
  OwningOpRef<ModuleOp> whole = module->clone();
  PassManager passes(context);
  steps.watch(passes);
  passes.addPass(createDistScheduleProgram());
  if (failed(passes.run(*module)))
    return steps.refuse();
  // All sizes are known now; the interpreter finds them by itself.
  bool isSmall = isSmallProgram(*module);
  if (isSmall) {
    steps.enter("interpreter");
    arguments = makeArguments(cast<func::FuncOp>(getEntryFunction(*module)),
                              options.seed);
    Garbage garbage(static_cast<Garbage::Kind>(options.seed % Garbage::kKinds),
                    options.seed);
    expected = runWhole(*whole, arguments, garbage, problem);
  }
  JitOptions jit;
  jit.optLevel = options.seed % 4 == 1 ? 3 : 0;
  jit.beforePass = [&](StringRef pass, Operation *) { steps.enter(pass); };
#if __has_feature(address_sanitizer)
  jit.checksAddresses = true;
#endif
  std::unique_ptr<JitProgram> program = JitProgram::make(*module, jit, error);
  if (!program)
    return steps.refuse(error);
  if (!isSmall)
    return steps.finish(Outcome::Agrees, "not run");
  steps.enter("run");
  auto got = program->run(arguments, options.seed, error);
  if (failed(got) && StringRef(error).starts_with("writes "))
    return steps.finish(Outcome::Wrong, error);
  // Who writes an element twice is not told. (A body that casts tensors is not
  // interpreted.)
  if (StringRef(problem).contains("is not known") ||
      StringRef(problem).contains("the interpreter lacks") ||
      StringRef(problem).contains("writes an element twice"))
    return steps.finish(Outcome::Agrees, "not compared");
  if (failed(expected)) {
    // What the interpreter finds outside of a tensor, the program does too.
    return steps.finish(failed(got) ? Outcome::Rejected : Outcome::Wrong,
                        problem + (failed(got) ? "" : " is not noticed"));
  }
  if (failed(got))
    return steps.finish(Outcome::Wrong, error);
  for (size_t number = 0; number < got->size(); ++number)
    if (auto difference = findDifference((*expected)[number], (*got)[number]))
      return steps.finish(Outcome::Wrong,
                          "result " + Twine(number) + ": " + *difference);
  return steps.finish(Outcome::Agrees, "");
}
