//===- LimitsTest.cpp - Programs at the limits of tensors, by seed --------===//
//
// Each is refused with an error that has a place, or runs within its tensors
// and computes what the interpreter does. Under asan its code is instrumented.
// `dist-fuzz --limits --shrink --seed=S --count=1` is one of them.
//
//===----------------------------------------------------------------------===//

#include "test/generator/Fuzz.h"
#include "test/lowering/oracle/LimitProgram.h"
#include <gtest/gtest.h>

using namespace mlir::dist::test;

TEST(Limits, RefusedOrWithin) {
  uint64_t count = fromEnvironment("DIST_LIMIT_PROGRAMS", 500);
  uint64_t ran = 0, rejected = 0;
  checkAllApart(
      count, 60,
      [](size_t seed) {
        FuzzCase made = makeLimitCase(seed);
        return CheckCase{made.text, made.options};
      },
      [&](size_t seed, const Verdict &verdict) {
        // What agrees with a detail was not compared.
        ran += verdict.outcome == Outcome::Agrees && verdict.detail.empty();
        rejected += verdict.outcome == Outcome::Rejected;
        if (verdict.isFailure())
          ADD_FAILURE() << "seed " << seed << ": "
                        << getName(verdict.outcome).str() << " in "
                        << verdict.pass << ": " << verdict.detail << "\n"
                        << makeLimitCase(seed).text;
      });
  EXPECT_GE(ran, count / 4);
  EXPECT_GE(rejected, count / 4);
}
