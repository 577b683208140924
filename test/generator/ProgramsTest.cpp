//===- ProgramsTest.cpp - Programs of other producers, placed at random ---===//
//
// Inputs/programs/ holds modules as torch-mlir, StableHLO's legalisation,
// IREE and MLIR's own tests write them: ops and bodies that the random programs
// do not contain. Each gets random meshes and placements, also of inner values;
// all must agree with one device, and none may be refused.
//
//===----------------------------------------------------------------------===//

#include "test/generator/Fuzz.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>

using namespace mlir::dist::test;

static const std::vector<std::string> &getPrograms() {
  static const std::vector<std::string> programs = [] {
    std::vector<std::string> out;
    for (const char *topic : {"bodies", "reductions", "contractions", "moves",
                              "control_flow", "models"})
      llvm::append_range(out, readPrograms("test/generator/Inputs/programs/" +
                                           std::string(topic) + ".mlir"));
    return out;
  }();
  return programs;
}

namespace {
constexpr uint64_t kPlacements = 64;

class Programs : public testing::TestWithParam<size_t> {};
} // namespace

TEST_P(Programs, Agree) {
  const std::string &program = getPrograms()[GetParam()];
  auto make = [&](size_t i) {
    FuzzCase fuzzCase = makePlacedCase(GetParam() * 1000 + i, program);
    return CheckCase{fuzzCase.text, fuzzCase.options};
  };
  unsigned failures = 0;
  checkAllApart(kPlacements, 60, make, [&](size_t i, const Verdict &verdict) {
    if (verdict.outcome != Outcome::Agrees && ++failures == 1)
      ADD_FAILURE() << getName(verdict.outcome).str() << " in " << verdict.pass
                    << ": " << verdict.detail << "\n"
                    << make(i).text;
  });
  EXPECT_EQ(failures, 0u) << "of " << kPlacements << " placements of\n"
                          << program;
}

INSTANTIATE_TEST_SUITE_P(Inputs, Programs,
                         testing::Range(size_t(0), getPrograms().size()));
