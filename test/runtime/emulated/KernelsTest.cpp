//===- KernelsTest.cpp - Kernels give what plain C++ gives ----------------===//

#include "test/runtime/emulated/Kernels.h"

#include <gtest/gtest.h>

using namespace dist;
using namespace dist::test;
using namespace dist::emulated;

namespace {

class EachKernel : public testing::TestWithParam<const char *> {};

TEST_P(EachKernel, IsRightInEveryOrder) {
  std::string ptx = readKernels(GetParam());
  Memory memory;
  Module module(ptx, "kernels.ptx", memory);
  std::vector<Case> cases = makeCases();
  EXPECT_EQ(cases.size(), module.kernels().size());
  for (const Case &one : cases) {
    SCOPED_TRACE(one.name);
    EXPECT_NO_THROW(module.kernel(one.name));
    for (const LaunchOptions &options : makeOrders()) {
      std::string error;
      Outcome outcome = runCase(one, ptx, options, &error);
      EXPECT_EQ(error, "");
      EXPECT_TRUE(outcome.isClean()) << outcome.str();
      EXPECT_TRUE(outcome.result.isComplete);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, EachKernel,
                         testing::Values("kernels.ptx",
                                         "kernels_sm_100.ptx"));

/// The parameters are those of the source.
TEST(Kernels, ParametersAreListed) {
  Memory memory;
  Module module(readKernels(), "kernels.ptx", memory);
  const Kernel &axpy = module.kernel("axpy");
  ASSERT_EQ(axpy.parameters.size(), 4u);
  uint32_t bytes[] = {4, 8, 8, 4}, offsets[] = {0, 8, 16, 24};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(axpy.parameters[i].bytes, bytes[i]);
    EXPECT_EQ(axpy.parameters[i].offset, offsets[i]);
  }
  EXPECT_EQ(axpy.parameterBytes, 28u);
  // Ten digits, no better aligned than they ask for.
  EXPECT_EQ(module.kernel("reverse_digits").localBytes, 44u);
  auto [counter, size] = module.variable("counter");
  ASSERT_EQ(size, 4u);
  EXPECT_EQ(*static_cast<uint32_t *>(counter), 5u);
}

/// By hand: what the kernels move, and how.
TEST(Kernels, CountsAreThoseOfTheAccesses) {
  std::string ptx = readKernels();
  auto countsOf = [&](const std::string &name) {
    for (const Case &one : makeCases())
      if (one.name == name)
        return runCase(one, ptx, {}, nullptr).result.counts;
    return Counts();
  };
  Counts add = countsOf("vector_add");
  EXPECT_EQ(add.bytesRead, 2 * 1000 * 4u);
  EXPECT_EQ(add.bytesWritten, 1000 * 4u);
  EXPECT_EQ(add.usefulBytes, 3 * 1000 * 4u);
  EXPECT_EQ(add.sectors, 3 * 1000 * 4u / 32);
  EXPECT_EQ(add.globalRequests, 3 * 32u); // 31 whole warps and one of 8 lanes
  Counts norm = countsOf("layer_norm");
  // Rows once; gain and bias by each row's block.
  EXPECT_EQ(norm.bytesRead, 3 * 4 * 2048 * 4u);
  EXPECT_EQ(norm.bytesWritten, 4 * 2048 * 4u);
  EXPECT_DOUBLE_EQ(norm.sectorRatio(), 1);
  EXPECT_DOUBLE_EQ(norm.cyclesPerRequest(), 1);
  // Tiles of 33 columns have no conflicts.
  EXPECT_DOUBLE_EQ(countsOf("transpose").cyclesPerRequest(), 1);
  // 32 columns a row: a warp's elements are in a row of the matrix.
  Counts argmax = countsOf("column_argmax");
  EXPECT_EQ(argmax.bytesRead, 37 * 75 * 4u);
  EXPECT_EQ(argmax.bytesWritten, 75 * 8u);
}

} // namespace
