//===- LoweredTest.cpp - Compiled random programs, on fixed seeds ---------===//
//
// Every program must compute what the interpreter does, or be refused with an
// error that has a place. `dist-fuzz --lowered --shrink --seed=S --count=1`
// makes a failure small, with --buffers that of a program for buffers.
//
//===----------------------------------------------------------------------===//

#include "test/generator/Fuzz.h"
#include "test/lowering/oracle/CheckLowered.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <gtest/gtest.h>

using namespace mlir::dist::test;

namespace {
constexpr uint64_t kCasesPerBatch = 50;

class Lowered : public testing::TestWithParam<uint64_t> {
protected:
  void checkBatch(llvm::function_ref<FuzzCase(uint64_t seed)> makeCase,
                  uint64_t mostRejected) {
    uint64_t agreed = 0, rejected = 0;
    auto make = [&](size_t i) {
      FuzzCase made = makeCase(GetParam() + i);
      made.options.run = checkLowered;
      return CheckCase{made.text, made.options};
    };
    checkAllApart(
        kCasesPerBatch, 60, make, [&](size_t i, const Verdict &verdict) {
          agreed += verdict.outcome == Outcome::Agrees;
          rejected += verdict.outcome == Outcome::Rejected;
          if (verdict.isFailure())
            ADD_FAILURE() << "seed " << GetParam() + i << ": "
                          << getName(verdict.outcome).str() << " in "
                          << verdict.pass << ": " << verdict.detail << "\n"
                          << make(i).text;
        });
    EXPECT_EQ(agreed + rejected, kCasesPerBatch);
    EXPECT_LE(rejected, mostRejected);
  }
};

/// Of all families, placed on up to twelve ranks.
using Placed = Lowered;
/// Programs that are hard on buffers, on one rank. None is refused.
using Buffers = Lowered;
/// What other producers write, placed.
using Programs = Lowered;
} // namespace

TEST_P(Placed, Agree) {
  checkBatch([](uint64_t seed) { return makeCase(seed); }, kCasesPerBatch / 12);
}
INSTANTIATE_TEST_SUITE_P(Seeds, Placed,
                         testing::Range(uint64_t(70000), uint64_t(70300),
                                        kCasesPerBatch));

TEST_P(Buffers, Agree) {
  checkBatch([](uint64_t seed) { return makeBufferCase(seed); }, 0);
}
INSTANTIATE_TEST_SUITE_P(Seeds, Buffers,
                         testing::Range(uint64_t(80000), uint64_t(80700),
                                        kCasesPerBatch));

TEST_P(Programs, Agree) {
  std::vector<std::string> programs;
  for (llvm::StringRef topic : {"bodies", "reductions", "contractions", "moves",
                                "control_flow", "models"})
    llvm::append_range(
        programs, readPrograms((llvm::Twine("test/generator/Inputs/programs/") +
                                topic + ".mlir")
                                   .str()));
  ASSERT_FALSE(programs.empty());
  checkBatch(
      [&](uint64_t seed) {
        return makePlacedCase(seed, programs[seed % programs.size()]);
      },
      kCasesPerBatch / 12);
}
INSTANTIATE_TEST_SUITE_P(Seeds, Programs,
                         testing::Range(uint64_t(1000), uint64_t(1200),
                                        kCasesPerBatch));
