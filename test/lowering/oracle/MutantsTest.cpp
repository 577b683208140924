//===- MutantsTest.cpp - Damaged programs are told from right ones --------===//
//
// One fact of a lowered program is changed at each stage of the lowering. At
// least 99% of the mutants that compute something else must be caught by the
// comparison that the other tests make.
//
//===----------------------------------------------------------------------===//

#include "test/generator/Fuzz.h"
#include "test/lowering/oracle/CheckLowered.h"
#include "test/lowering/oracle/Mutants.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>
#include <map>

using namespace mlir::dist::test;

namespace {
constexpr uint64_t kFirstSeed = 4'000'000;
constexpr size_t kPrograms = 120;
} // namespace

TEST(Mutants, AreCaught) {
  auto stages = getMutatedStages();
  size_t count = kPrograms * stages.size();
  auto make = [&](size_t i) {
    FuzzCase made = makeBufferCase(kFirstSeed + i / stages.size());
    llvm::StringRef stage = stages[i % stages.size()];
    made.options.run = [stage](llvm::StringRef text,
                               const CheckOptions &options) {
      return checkMutant(text, options, stage);
    };
    return CheckCase{made.text, made.options};
  };
  // By fate; and by stage, what was caught of what is not equal.
  std::map<Fate, unsigned> fates;
  std::map<std::string, std::pair<unsigned, unsigned>> byKind;
  std::vector<unsigned> byStage(stages.size());
  checkAllApart(count, 20, make, [&](size_t i, const Verdict &verdict) {
    Fate fate = Fate::None;
    if (verdict.outcome == Outcome::Agrees)
      fate = static_cast<Fate>(std::stoi(verdict.detail));
    else if (verdict.pass != "make") // it died, or went on for ever
      fate = Fate::Caught;
    ++fates[fate];
    if (fate == Fate::None || fate == Fate::SameCode ||
        fate == Fate::SameResults)
      return;
    ++byStage[i % stages.size()];
    auto &[caught, all] = byKind[verdict.pass];
    caught += fate == Fate::Caught;
    ++all;
    if (fate == Fate::Missed)
      llvm::outs() << "missed: seed " << kFirstSeed + i / stages.size()
                   << " before " << stages[i % stages.size()] << ": "
                   << verdict.pass << "\n";
  });
  unsigned caught = fates[Fate::Caught], missed = fates[Fate::Missed];
  llvm::outs() << count << " tries: " << count - fates[Fate::None]
               << " mutants, " << caught << " caught, " << fates[Fate::SameCode]
               << " of the same object code, " << fates[Fate::SameResults]
               << " of the same results on "
               << "further inputs, " << missed << " missed\n";
  for (auto &[kind, numbers] : byKind)
    llvm::outs() << "  " << kind << ": " << numbers.first << " of "
                 << numbers.second << " caught\n";
  for (auto [number, stage] : llvm::enumerate(stages))
    EXPECT_GE(byStage[number], kPrograms / 4) << stage.str();
  EXPECT_GE(byKind.size(), 10u);
  EXPECT_GE(caught, 0.99 * (caught + missed));
}
