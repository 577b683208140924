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
constexpr uint64_t kCasesPerBatch = 100;
/// First seeds of the batches.
constexpr uint64_t kBatches[] = {
    0,     1000,  2000,  3000,  4000,  5000,  6000,  7000,  8000,  9000,  10000,
    11000, 12000, 13000, 14000, 15000, 16000, 17000, 18000, 19000, 20000, 21000,
    22000, 23000, 24000, 25000, 26000, 27000, 28000, 29000, 30000, 31000};

class Generator : public testing::TestWithParam<uint64_t> {};
} // namespace

TEST_P(Generator, Agrees) {
  unsigned agreed = 0, rejected = 0;
  for (uint64_t i = 0; i < kCasesPerBatch; ++i) {
    FuzzCase fuzzCase = makeCase(GetParam() + i);
    Verdict verdict = checkApart(fuzzCase.text, fuzzCase.options, 30);
    agreed += verdict.outcome == Outcome::Agrees;
    rejected += verdict.outcome == Outcome::Rejected;
    if (verdict.isFailure())
      ADD_FAILURE() << "seed " << fuzzCase.seed << ": "
                    << getName(verdict.outcome).str() << " in " << verdict.pass
                    << ": " << verdict.detail << "\n"
                    << fuzzCase.text;
  }
  printf("%u agreed, %u rejected\n", agreed, rejected);
  RecordProperty("agreed", agreed);
  RecordProperty("rejected", rejected);
  // Most of what is legal must go through.
  EXPECT_LE(rejected, kCasesPerBatch / 10);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Generator, testing::ValuesIn(kBatches));
