//===- ScheduleMutantsTest.cpp - Damaged schedules are refused ------------===//
//
// Waits dropped, put before their start or behind what they are for, streams
// changed, lives shortened by memory planning, starts swapped on one rank:
// every one must be refused. Of random programs with random schedules, half of
// which --dist-schedule-overlap made, and of the examples' overlapped programs.
//
// DIST_SCHEDULE_PROGRAMS says how many random programs, DIST_SCHEDULE_SEED
// where they begin; DIST_SCHEDULE_EXAMPLES how many examples, and
// DIST_SCHEDULE_EXAMPLE_MUTANTS how many mutants of each damage.
//
//===----------------------------------------------------------------------===//

#include "test/generator/Fuzz.h"
#include "test/lowering/oracle/ScheduleMutants.h"
#include "test/lowering/oracle/SpmdExamples.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace mlir::dist::test;

static void report(const ScheduleCounts &counts) {
  for (auto &[kind, count] : counts.kinds)
    llvm::outs() << "  " << kind << ": " << count.mutants << " mutants, "
                 << count.byOp << " refused by ops' verifiers, " << count.byPass
                 << " by --dist-verify-schedule, " << count.whenRun
                 << " when run, " << count.equal << " equal\n";
}

TEST(ScheduleMutants, OfRandomProgramsAreRefused) {
  uint64_t first = fromEnvironment("DIST_SCHEDULE_SEED", 9'000'000);
  size_t programs = fromEnvironment("DIST_SCHEDULE_PROGRAMS", 150);
  auto make = [&](size_t i) {
    FuzzCase made = makeCase(first + i);
    made.options.run = checkScheduleMutants;
    return CheckCase{made.text, made.options};
  };
  ScheduleCounts counts;
  checkAllApart(programs, 60, make, [&](size_t i, const Verdict &verdict) {
    if (verdict.outcome == Outcome::Agrees)
      counts.add(ScheduleCounts::parse(verdict.detail));
    else if (verdict.outcome != Outcome::Rejected)
      ADD_FAILURE() << "seed " << first + i << ": "
                    << getName(verdict.outcome).str() << " in " << verdict.pass
                    << ": " << verdict.detail;
  });
  llvm::outs() << programs << " random programs, " << counts.started
               << " collectives on streams\n";
  report(counts);
  for (auto &[kind, count] : counts.kinds)
    EXPECT_EQ(count.getMissed(), 0u) << kind;
  EXPECT_GE(counts.kinds.size(), 8u);
  EXPECT_GE(counts.started, programs / 2);
}

TEST(ScheduleMutants, OfExamplesAreRefused) {
  // Not all of them in every run: each costs seconds.
  std::vector<Example> examples = findExamples();
  size_t most = fromEnvironment("DIST_SCHEDULE_EXAMPLES", 8);
  unsigned mutants = fromEnvironment("DIST_SCHEDULE_EXAMPLE_MUTANTS", 3);
  ScheduleCounts counts;
  unsigned programs = 0, overlapped = 0;
  for (size_t i = 0, end = std::min(most, examples.size()); i < end; ++i) {
    const Example &example = examples[i * examples.size() / end];
    std::string name = example.model + " " + example.schedule;
    Verdict verdict = checkExampleSchedule(example, mutants, programs++);
    EXPECT_EQ(verdict.outcome, Outcome::Agrees)
        << name << " in " << verdict.pass << ": " << verdict.detail;
    if (verdict.outcome != Outcome::Agrees)
      continue;
    ScheduleCounts own = ScheduleCounts::parse(verdict.detail);
    llvm::outs() << name << ", " << own.started << " collectives on streams\n";
    report(own);
    for (auto &[kind, count] : own.kinds)
      EXPECT_EQ(count.getMissed(), 0u) << name << ": " << kind;
    counts.add(own);
    overlapped += own.started > 0;
  }
  llvm::outs() << programs << " programs of examples, " << overlapped
               << " of them with " << counts.started
               << " collectives on streams\n";
  report(counts);
  EXPECT_GE(overlapped, programs / 3);
}

TEST(RandomSchedules, ChangeNoBit) {
  uint64_t first = fromEnvironment("DIST_SCHEDULE_SEED", 9'500'000);
  size_t programs = fromEnvironment("DIST_SCHEDULE_PROGRAMS", 150);
  auto make = [&](size_t i) {
    FuzzCase made = makeCase(first + i);
    made.options.run = checkScheduled;
    return CheckCase{made.text, made.options};
  };
  unsigned started = 0, ran = 0;
  checkAllApart(programs, 60, make, [&](size_t i, const Verdict &verdict) {
    unsigned number = 0;
    if (verdict.outcome == Outcome::Agrees)
      llvm::StringRef(verdict.detail).getAsInteger(10, number);
    started += number;
    ran += number > 0;
    if (verdict.isFailure())
      ADD_FAILURE() << "seed " << first + i << ": "
                    << getName(verdict.outcome).str() << " in " << verdict.pass
                    << ": " << verdict.detail;
  });
  llvm::outs() << programs << " random programs, " << ran << " with " << started
               << " collectives on streams\n";
  EXPECT_GE(ran, programs / 4);
}
