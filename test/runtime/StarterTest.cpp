//===- StarterTest.cpp - Who started a process, and which MPI it takes ----===//
//
// A starter is a shell of its name, with the environment that it makes.
//
//===----------------------------------------------------------------------===//

#include "runtime/mpi/Starter.h"
#include "dist/Tensor.h"
#include "runtime/mpi/MpiLibrary.h"

#include <cstdio>
#include <filesystem>
#include <gtest/gtest.h>

using namespace dist;
namespace fs = std::filesystem;

static std::string describe(const std::optional<StartedAs> &as) {
  if (!as)
    return "nobody";
  return as->command + " " + std::to_string(as->rank) + "/" +
         std::to_string(as->size) + " host " + std::to_string(as->sizeOfHost);
}

/// In the process that is started: "starter; started as; beside; MPI".
static int say(const std::string &asked) {
  std::optional<Starter> starter = findStarter();
  std::string mpi;
  try {
    mpi = chooseMpi(asked);
  } catch (const Error &error) {
    mpi = error.what();
  }
  std::printf("%s; %s; %s; %s", starter ? starter->command.c_str() : "nobody",
              describe(findStartedAs()).c_str(),
              describe(findStartedBeside()).c_str(), mpi.c_str());
  return 0;
}

static std::string own;

/// `starters` from the first on, each with what it sets.
static std::string
startBy(const std::vector<std::pair<std::string, std::string>> &starters,
        const std::string &asked = "") {
  std::string command = "env -i ";
  for (const auto &[name, variables] : starters) {
    fs::path program = fs::path(testing::TempDir()) / name;
    if (!name.empty())
      fs::copy_file(fs::canonical("/bin/sh"), program,
                    fs::copy_options::skip_existing);
    // The shell stays, as it has something to do after it.
    command +=
        "env " + variables + " " +
        (name.empty() ? "" : program.string() + " -c '\"$@\"; exit $?' - ");
  }
  std::string said;
  FILE *pipe = popen((command + own + " --say " + asked).c_str(), "r");
  for (int c; (c = std::fgetc(pipe)) != EOF;)
    said += char(c);
  EXPECT_EQ(pclose(pipe), 0);
  return said;
}

static const char *const openMpi =
    "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 "
    "OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_RANK=1";
static const char *const hydra = "PMI_RANK=2 PMI_SIZE=4 MPI_LOCALNRANKS=4";
static const char *const step =
    "SLURM_NTASKS=4 SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=4 "
    "SLURM_STEP_TASKS_PER_NODE=4";

TEST(Starter, IsNobody) {
  EXPECT_EQ(startBy({{"", ""}}), "nobody; nobody; nobody; ");
  EXPECT_EQ(startBy({{"", ""}}, "mpich"), "nobody; nobody; nobody; mpich");
}

TEST(Starter, IsOpenMpi) {
  for (const char *name : {"orterun", "orted", "prterun", "prte", "prted"})
    EXPECT_EQ(startBy({{name, openMpi}}),
              "mpirun; mpirun 1/4 host 2; mpirun 1/4 host 2; openmpi");
  EXPECT_NE(startBy({{"orterun", openMpi}}, "mpich")
                .find("--mpi mpich: mpirun of Open MPI has started this "
                      "process: leave --mpi out"),
            std::string::npos);
}

TEST(Starter, IsMpich) {
  for (const char *name : {"hydra_pmi_proxy", "mpiexec.hydra"})
    EXPECT_EQ(startBy({{name, hydra}}),
              "mpiexec; mpiexec 2/4 host 4; mpiexec 2/4 host 4; mpich");
}

/// With --mpi=none, pmix and pmi2.
TEST(Starter, IsSlurm) {
  std::string said = "srun; srun 3/4 host 4; srun 3/4 host 4; ", slurm = step;
  EXPECT_EQ(startBy({{"slurmstepd", slurm}}), said);
  EXPECT_EQ(startBy({{"slurmstepd", slurm}}, "mpich"), said + "mpich");
  EXPECT_EQ(startBy({{"slurmstepd", slurm + " PMIX_RANK=3"}}),
            said + "openmpi");
  EXPECT_EQ(startBy({{"slurmstepd", slurm + " PMI_RANK=3 PMI_SIZE=4"}}),
            said + "mpich");
}

/// sbatch and salloc start one shell, for which the job has tasks.
TEST(Starter, IsAShellOfSlurm) {
  EXPECT_EQ(startBy({{"slurmstepd", "SLURM_NTASKS=4 SLURM_PROCID=0"}}),
            "srun; nobody; nobody; ");
  EXPECT_EQ(startBy({{"", "SLURM_NTASKS=4 SLURM_PROCID=0"}}),
            "nobody; nobody; nobody; ");
}

TEST(Starter, IsTorchrun) {
  EXPECT_EQ(startBy({{"", "WORLD_SIZE=2 RANK=1 LOCAL_WORLD_SIZE=2"}}),
            "nobody; nobody; torchrun 1/2 host 2; ");
  // One for each of Slurm's tasks, or hosts.
  EXPECT_EQ(startBy({{"slurmstepd", "SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1"},
                     {"", "WORLD_SIZE=2 RANK=1 LOCAL_WORLD_SIZE=1"}}),
            "srun; srun 0/1 host 0; torchrun 1/2 host 1; ");
  // Clusters set these for all programs of a container.
  for (const char *variables : {"WORLD_SIZE=2", "WORLD_SIZE=2 RANK=1"})
    EXPECT_EQ(startBy({{"", variables}}), "nobody; nobody; nobody; ");
}

/// From within a container nobody is seen.
TEST(Starter, IsToldByTheEnvironment) {
  for (const auto &[variables, command] :
       {std::pair{openMpi, "mpirun 1/4 host 2"},
        {hydra, "mpiexec 2/4 host 4"},
        {step, "srun 3/4 host 4"}})
    EXPECT_EQ(startBy({{"", variables}})
                  .find("nobody; nobody; " + std::string(command)),
              0u);
}

/// The environment of others is inherited.
TEST(Starter, IsTheNearest) {
  EXPECT_EQ(startBy({{"orterun", openMpi}, {"hydra_pmi_proxy", hydra}}),
            "mpiexec; mpiexec 2/4 host 4; mpiexec 2/4 host 4; mpich");
  EXPECT_EQ(startBy({{"slurmstepd", step}, {"orted", openMpi}}),
            "mpirun; mpirun 1/4 host 2; mpirun 1/4 host 2; openmpi");
  // Slurm starts one daemon on each of four hosts, which starts one process.
  EXPECT_EQ(startBy({{"slurmstepd", step},
                     {"orted", "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 "
                               "OMPI_COMM_WORLD_LOCAL_SIZE=1"}}),
            "mpirun; mpirun 0/1 host 1; nobody; openmpi");
}

int main(int argc, char **argv) {
  if (argc > 1 && std::string(argv[1]) == "--say")
    return say(argc > 2 ? argv[2] : "");
  testing::InitGoogleTest(&argc, argv);
  own = fs::canonical("/proc/self/exe");
  return RUN_ALL_TESTS();
}
