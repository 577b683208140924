//===- CheckLowered.cpp - Compiled programs and the interpreter -----------===//

#include "test/lowering/oracle/CheckLowered.h"
#include "dialects/dist/IR/Attributes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "test/generator/Arguments.h"
#include "test/generator/CheckSteps.h"
#include "test/generator/Interpreter.h"
#include <random>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

std::unique_ptr<Expectation> Expectation::make(ModuleOp module, uint64_t seed,
                                               unsigned count,
                                               std::string &error) {
  auto out = std::make_unique<Expectation>();
  out->seed = seed;
  auto entry = cast<func::FuncOp>(getEntryFunction(module));
  for (unsigned i = 0; i < count; ++i) {
    out->inputs.push_back(makeArguments(entry, seed + i));
    Garbage garbage(static_cast<Garbage::Kind>((seed + i) % Garbage::kKinds),
                    seed);
    auto results = runWhole(module, out->inputs.back(), garbage, error);
    if (failed(results))
      return nullptr;
    out->results.push_back(std::move(*results));
  }
  return out;
}

std::optional<std::string> Expectation::findMistake(JitProgram &program,
                                                    bool isExact) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string error;
    auto got = program.run(inputs[i], seed + i, error);
    if (failed(got))
      return error;
    if (got->size() != results[i].size())
      return "another number of results";
    for (size_t number = 0; number < got->size(); ++number) {
      const Tensor &expected = results[i][number];
      auto difference = isExact ? findBitDifference(expected, (*got)[number])
                                : findDifference(expected, (*got)[number]);
      if (difference)
        return "result " + std::to_string(number) + ": " + *difference;
    }
  }
  return std::nullopt;
}

/// Most programs are compiled fast; some as users' are.
static unsigned pickOptLevel(uint64_t seed) { return seed % 4 == 1 ? 3 : 0; }

/// Half of the programs put results into arguments of their type, each into one
/// that chance picks: all that may be read of the old value is read before.
static void addUpdates(func::FuncOp entry, uint64_t seed) {
  if (seed / 4 % 2 == 0)
    return;
  std::mt19937_64 random(seed);
  SmallVector<unsigned> free =
      llvm::to_vector(llvm::seq(0u, entry.getNumArguments()));
  llvm::shuffle(free.begin(), free.end(), random);
  for (auto [number, type] : llvm::enumerate(entry.getResultTypes())) {
    auto *found = llvm::find_if(free, [&, type = type](unsigned argument) {
      return entry.getArgumentTypes()[argument] == type;
    });
    if (found == free.end() || random() % 4 == 0)
      continue;
    entry.setResultAttr(number, kUpdatesAttr,
                        Builder(entry.getContext()).getI64IntegerAttr(*found));
    free.erase(found);
  }
}

Verdict mlir::dist::test::checkLowered(StringRef text,
                                       const CheckOptions &options) {
  MLIRContext *context = getLoweringContext();
  CheckSteps steps(context, options);
  steps.enter("parse");
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, ParserConfig(context), "case.mlir");
  if (!module)
    return steps.finish(Outcome::Invalid, steps.diagnostics.message);
  if (!isa_and_present<func::FuncOp>(getEntryFunction(*module)))
    return steps.finish(Outcome::Invalid, "has no entry function");

  steps.enter("one-device");
  std::string error;
  bool isPlaced = !module->getOps<MeshOp>().empty();
  auto expected = Expectation::make(
      *module, options.seed,
      isPlaced ? Expectation::kPlacedInputs : Expectation::kInputs, error);
  if (!expected)
    return steps.finish(Outcome::Invalid, error);

  if (isPlaced) {
    PassManager pm(context, ModuleOp::getOperationName());
    steps.watch(pm);
    buildSpmdPipeline(pm, options.fusesTransposes);
    if (failed(pm.run(*module)))
      return steps.refuse();
  }

  addUpdates(cast<func::FuncOp>(getEntryFunction(*module)), options.seed);
  JitOptions jit;
  jit.optLevel = pickOptLevel(options.seed);
  jit.beforePass = [&](StringRef pass, Operation *) { steps.enter(pass); };
  std::unique_ptr<JitProgram> program = JitProgram::make(*module, jit, error);
  if (!program)
    return steps.refuse(error);
  steps.enter("run");
  if (auto mistake = expected->findMistake(*program, options.isExact))
    return steps.finish(Outcome::Wrong, *mistake);
  return steps.finish(Outcome::Agrees, "");
}
