//===- CheckMutant.cpp - What becomes of a damaged program ----------------===//

#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "test/generator/Arguments.h"
#include "test/generator/Choices.h"
#include "test/generator/Diagnostics.h"
#include "test/lowering/oracle/CheckLowered.h"
#include "test/lowering/oracle/Mutants.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

/// Inputs on which a mutant must do as the original to be taken for equal.
static constexpr unsigned kFurtherInputs = 32;

ArrayRef<llvm::StringLiteral> mlir::dist::test::getMutatedStages() {
  static constexpr llvm::StringLiteral stages[] = {
      "dist-bufferize", "dist-select-contractions", "dist-plan-memory",
      "dist-cpu-expand-math"};
  return stages;
}

/// Changes one fact, of a kind that is as likely as any other.
static StringRef mutate(Operation *root, Choices &choices) {
  std::vector<Mutation> all = findMutations(root);
  llvm::MapVector<StringRef, std::vector<Mutation *>> kinds;
  for (Mutation &one : all)
    kinds[one.kind].push_back(&one);
  if (kinds.empty())
    return "";
  auto &[kind, list] = *std::next(kinds.begin(), choices.below(kinds.size()));
  list[choices.below(list.size())]->apply();
  return kind;
}

/// Whether both programs do the same, bit by bit.
static bool agreeOn(JitProgram &a, JitProgram &b,
                    const std::vector<Tensor> &input, uint64_t seed) {
  std::string problem;
  auto x = a.run(input, seed, problem);
  auto y = b.run(input, seed, problem);
  if (failed(x) || failed(y))
    return failed(x) && failed(y);
  for (auto [one, other] : llvm::zip_equal(*x, *y))
    if (findBitDifference(one, other))
      return false;
  return true;
}

Verdict mlir::dist::test::checkMutant(StringRef text,
                                      const CheckOptions &options,
                                      StringRef stage) {
  Verdict verdict;
  verdict.outcome = Outcome::Agrees;
  verdict.pass = "make";
  auto finish = [&](Fate fate) {
    verdict.detail = std::to_string(static_cast<int>(fate));
    return verdict;
  };
  MLIRContext *context = getLoweringContext();
  Diagnostics diagnostics(context);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, ParserConfig(context), "case.mlir");
  std::string error;
  auto expected =
      Expectation::make(*module, options.seed, Expectation::kInputs, error);
  JitOptions jit;
  auto original = JitProgram::make(*module, jit, error);
  if (!expected || !original || expected->findMistake(*original, true))
    return finish(Fate::None);

  // Seeds beside each other are to have nothing in common.
  Choices choices(options.seed * 0x9e3779b97f4a7c15ull + stage.size());
  bool isBroken = false;
  StringRef kind;
  jit.beforePass = [&](StringRef pass, Operation *op) {
    if (pass != stage || !kind.empty())
      return;
    kind = mutate(op, choices);
    isBroken = failed(verify(op));
  };
  auto mutant = JitProgram::make(*module, jit, error);
  if (!mutant || isBroken || kind.empty())
    return finish(Fate::None);
  verdict.pass = kind.str();
  if (mutant->getObjectCode() == original->getObjectCode())
    return finish(Fate::SameCode);
  // From here on it may die, which is told from outside.
  if (options.onPass)
    options.onPass(kind);
  if (expected->findMistake(*mutant, true))
    return finish(Fate::Caught);
  auto entry = cast<func::FuncOp>(getEntryFunction(*module));
  for (unsigned i = 0; i < kFurtherInputs; ++i) {
    uint64_t seed = options.seed + 1'000'000 + i;
    if (!agreeOn(*original, *mutant, makeArguments(entry, seed), seed))
      return finish(Fate::Missed);
  }
  return finish(Fate::SameResults);
}
