//===- GeneratorTest.cpp - Random modules on a fixed list of seeds --------===//
//
// Every case must agree with one device, or be rejected with an error that has
// a place. `dist-fuzz --shrink --seed=S --count=1` makes a failure small.
//
//===----------------------------------------------------------------------===//

#include "test/generator/Fuzz.h"
#include <gtest/gtest.h>

using namespace mlir::dist::test;

namespace {
constexpr uint64_t kCasesPerBatch = 250;
constexpr uint64_t kBatches = 40, kBatchesInTurns = 6;

class Generator : public testing::TestWithParam<uint64_t> {};
class GeneratorInTurns : public Generator {};
} // namespace

/// Of a batch that begins with a seed, of which one in so many may be refused.
static void checkBatch(uint64_t seed, bool takesTurns, uint64_t oneIn) {
  unsigned agreed = 0, rejected = 0;
  auto make = [&](size_t i) {
    FuzzCase fuzzCase = makeCase(seed + i);
    fuzzCase.options.takesTurns = takesTurns;
    return CheckCase{fuzzCase.text, fuzzCase.options};
  };
  checkAllApart(
      kCasesPerBatch, 60, make, [&](size_t i, const Verdict &verdict) {
        agreed += verdict.outcome == Outcome::Agrees;
        rejected += verdict.outcome == Outcome::Rejected;
        if (verdict.isFailure())
          ADD_FAILURE() << "seed " << seed + i << ": "
                        << getName(verdict.outcome).str() << " in "
                        << verdict.pass << ": " << verdict.detail << "\n"
                        << make(i).text;
      });
  EXPECT_EQ(agreed + rejected, kCasesPerBatch);
  EXPECT_LE(rejected, kCasesPerBatch / oneIn);
}

// What is legal must go through; a sync that no value fits is refused.
TEST_P(Generator, Agrees) {
  checkBatch(GetParam(), /*takesTurns=*/false, /*oneIn=*/12);
}

// Refused is also what would reduce over turns in another order.
TEST_P(GeneratorInTurns, Agrees) {
  checkBatch(GetParam(), /*takesTurns=*/true, /*oneIn=*/4);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Generator,
                         testing::Range(uint64_t(0), kBatches *kCasesPerBatch,
                                        kCasesPerBatch));
INSTANTIATE_TEST_SUITE_P(Seeds, GeneratorInTurns,
                         testing::Range(uint64_t(0),
                                        kBatchesInTurns *kCasesPerBatch,
                                        kCasesPerBatch));
