//===- ScheduleMutantsTest.cpp - Damaged schedules are refused ------------===//
//
// Waits dropped, put before their start or behind what they are for, streams
// changed, lives shortened by memory planning, starts swapped on one rank:
// every one must be refused. Of random programs with random schedules, half of
// which --dist-schedule-overlap made.
//
// DIST_SCHEDULE_PROGRAMS says how many random programs, DIST_SCHEDULE_SEED
// where they begin.
//
//===----------------------------------------------------------------------===//

#include "test/lowering/oracle/ScheduleMutants.h"
#include "test/generator/Fuzz.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace mlir::dist::test;

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
  for (auto &[kind, count] : counts.kinds) {
    llvm::outs() << "  " << kind << ": " << count.mutants << " mutants, "
                 << count.byOp << " refused by ops' verifiers, " << count.byPass
                 << " by --dist-verify-schedule, " << count.whenRun
                 << " when run, " << count.equal << " equal\n";
    EXPECT_EQ(count.getMissed(), 0u) << kind;
  }
  EXPECT_GE(counts.kinds.size(), 8u);
  EXPECT_GE(counts.started, programs / 2);
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
