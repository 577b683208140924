//===- MpiTest.cpp - What ranks that misbehave leave to MPI ---------------===//
//
// two_layers.c by dist-exec, on four processes that a family of MPI starts.
//
//===----------------------------------------------------------------------===//

#include "dist/Npy.h"
#include "test/runtime/Bundles.h"

#include <cstdlib>

using namespace dist;
using namespace dist::test;

namespace {

class Mpi : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (std::system(("command -v " + name() + " > /dev/null").c_str()) != 0)
      GTEST_SKIP() << name() << " is not installed";
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
  }
  std::string name() const { return GetParam(); }

  CommandResult start(float first, const std::string &options = "") const {
    std::string own = name() + std::to_string(int(first)),
                input = testing::TempDir() + "/" + own + ".npy";
    writeNpy(input, makeInput(first));
    return command(name() + " -n 4 tools/dist-exec " +
                   makeBundle(own + ".dist", makeManifest()) +
                   " --backend mpi --input x=" + input + " " + options);
  }
};

} // namespace

INSTANTIATE_TEST_SUITE_P(, Mpi,
                         testing::Values("mpirun.openmpi", "mpiexec.mpich"),
                         [](const auto &one) {
                           std::string name = one.param;
                           return name.substr(name.find('.') + 1);
                         });

TEST_P(Mpi, TellsOfADeadlock) {
  CommandResult result = start(333);
  EXPECT_NE(result.status, 0);
  EXPECT_EQ(count(result.output, "error: "), 1) << result.output;
  for (const char *part :
       {"dist-exec: error: deadlock: every rank waits for another",
        "rank 0 (dp=0, tp=0) waits in all_reduce sum of f32 count=18 over "
        "communicator 0 (site 0: mlp.proj) on stream 1",
        "rank 1 (dp=0, tp=1) has ended", "rank 3 (dp=1, tp=1) has ended"})
    EXPECT_TRUE(contains(result.output, part));
}

/// Who computes is not waited for in vain.
TEST_P(Mpi, LetsComputeForLong) {
  CommandResult result = start(444, "--timeout=20");
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_EQ(count(result.output, "error: "), 0) << result.output;
}

TEST_P(Mpi, BringsOutputHome) {
  CommandResult result = start(777);
  EXPECT_EQ(result.status, 0) << result.output;
  EXPECT_EQ(count(result.output, "how do you do\n"), 2) << result.output;
  for (const char *part :
       {": how do you do\n", "rank 1 (dp=0, tp=1): very well\n"})
    EXPECT_EQ(count(result.output, part), 1) << result.output;
}

/// By MPICH, rank 0 may be ended before it hears of it.
TEST_P(Mpi, BringsLastWordsHome) {
  CommandResult result = start(555);
  EXPECT_NE(result.status, 0);
  if (name() == "mpiexec.mpich")
    return;
  EXPECT_TRUE(
      contains(result.output, "rank 1 (dp=0, tp=1): I can do no more\n"));
  EXPECT_TRUE(contains(result.output,
                       "dist-exec: error: rank 1 (dp=0, tp=1): its process "));
}

TEST_P(Mpi, TellsWhileRankZeroComputes) {
  CommandResult result = start(888, "--json");
  EXPECT_NE(result.status, 0);
  if (name() == "mpiexec.mpich")
    return;
  EXPECT_EQ(count(result.output,
                  "dist-exec: error: rank 1 (dp=0, tp=1): its process "),
            1)
      << result.output;
  EXPECT_EQ(count(result.output,
                  R"({"ok":false,"error":"rank 1 (dp=0, tp=1): its process )"),
            1)
      << result.output;
}
