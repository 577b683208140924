//===- SpmdMutantsTest.cpp - --verify tells damaged SPMD programs ---------===//
//
// One fact of what a device runs is changed. Every mutant that computes another
// number must be caught by the comparison of dist-run --verify, and no program
// that is as it should be.
//
// DIST_SPMD_MUTANT_PROGRAMS says for how many random programs; beginning at
// seed DIST_SPMD_MUTANT_SEED.
//
//===----------------------------------------------------------------------===//

#include "test/generator/Fuzz.h"
#include "test/lowering/oracle/SpmdExamples.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace mlir::dist::test;

static void report(const SpmdCounts &counts) {
  std::map<std::string, std::map<SpmdFate, unsigned>> kinds;
  for (auto &[key, count] : counts) {
    kinds[key.first][key.second] += count;
    kinds["all"][key.second] += count;
  }
  for (auto &[kind, fates] : kinds) {
    llvm::outs() << "  " << kind << ":";
    for (auto &[fate, count] : fates)
      llvm::outs() << " " << count << " " << kSpmdFates[static_cast<int>(fate)]
                   << ",";
    llvm::outs() << "\n";
  }
}

TEST(SpmdMutants, OfRandomProgramsAreCaught) {
  uint64_t first = fromEnvironment("DIST_SPMD_MUTANT_SEED", 7'000'000);
  size_t programs = fromEnvironment("DIST_SPMD_MUTANT_PROGRAMS", 60);
  auto make = [&](size_t i) {
    FuzzCase made = makeCase(first + i);
    made.options.run = checkRandomSpmdMutants;
    return CheckCase{made.text, made.options};
  };
  SpmdCounts counts;
  std::map<Outcome, unsigned> outcomes;
  checkAllApart(programs, 120, make, [&](size_t i, const Verdict &verdict) {
    ++outcomes[verdict.outcome];
    addText(counts, llvm::StringRef(verdict.detail).split('\n').first);
    if (verdict.isFailure() && verdict.outcome != Outcome::Broken)
      ADD_FAILURE() << "seed " << first + i << ": "
                    << getName(verdict.outcome).str() << " in " << verdict.pass
                    << ": " << verdict.detail << "\n"
                    << make(i).text;
    else if (verdict.outcome == Outcome::Broken)
      llvm::outs() << "seed " << first + i << " is left out: " << verdict.detail
                   << "\n";
  });
  llvm::outs() << programs << " random programs:";
  for (auto [outcome, count] : outcomes)
    llvm::outs() << " " << count << " " << getName(outcome) << ",";
  llvm::outs() << "\n";
  report(counts);
  EXPECT_GE(outcomes[Outcome::Agrees], programs * 3 / 4);
  unsigned caught = 0, inF64 = 0;
  for (auto &[key, count] : counts) {
    caught += key.second == SpmdFate::Caught ? count : 0;
    inF64 += key.second == SpmdFate::CaughtInF64 ? count : 0;
  }
  EXPECT_LE(inF64, 2 + caught / 1000);
}

TEST(SpmdMutants, OfExamplesAreCaught) {
  uint64_t mutants = fromEnvironment("DIST_SPMD_MUTANT_EXAMPLES", 2);
  SpmdCounts counts;
  unsigned programs = 0;
  // Not all of them in every run: each costs seconds.
  std::vector<Example> examples = findExamples();
  size_t most = fromEnvironment("DIST_SPMD_EXAMPLES", 20);
  for (size_t i = 0, end = std::min(most, examples.size()); i < end; ++i) {
    const Example &example = examples[i * examples.size() / end];
    bool isSmall = example.model == "slapo";
    std::string name = example.model + " " + example.schedule;
    Verdict verdict = checkExample(example, isSmall ? 0 : mutants, programs);
    EXPECT_EQ(verdict.outcome, Outcome::Agrees)
        << name << " in " << verdict.pass << ": " << verdict.detail;
    llvm::outs() << name << "\n";
    SpmdCounts own;
    addText(own, llvm::StringRef(verdict.detail).split('\n').first);
    report(own);
    addText(counts, toText(own));
    ++programs;
  }
  llvm::outs() << programs << " programs of examples:\n";
  report(counts);
  EXPECT_GE(programs, 15u);
}
