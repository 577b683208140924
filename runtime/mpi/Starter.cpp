//===- Starter.cpp - Who started this process -----------------------------===//

#include "runtime/mpi/Starter.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace dist;
namespace fs = std::filesystem;

namespace {
struct Program {
  const char *name;
  Starter::Kind kind;
  /// What a user has typed.
  const char *command;
};
} // namespace

/// mpirun and mpiexec are links to these.
static constexpr Program programs[] = {
    {"orterun", Starter::OpenMpi, "mpirun"},
    {"orted", Starter::OpenMpi, "mpirun"},
    {"prterun", Starter::OpenMpi, "mpirun"},
    {"prte", Starter::OpenMpi, "mpirun"},
    {"prted", Starter::OpenMpi, "mpirun"},
    {"hydra_pmi_proxy", Starter::Mpich, "mpiexec"},
    {"mpiexec.hydra", Starter::Mpich, "mpiexec"},
    {"slurmstepd", Starter::Slurm, "srun"}};

/// The file that a process runs, or its name if that is another user's.
static std::string programOf(int64_t process) {
  std::string folder = "/proc/" + std::to_string(process);
  std::error_code error;
  fs::path path = fs::read_symlink(folder + "/exe", error);
  if (!error)
    return path.filename();
  std::ifstream file(folder + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

static int64_t parentOf(int64_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  // Number (name) state parent; a name may be anything.
  size_t end = text.rfind(')');
  return end == std::string::npos || end + 4 > text.size()
             ? 0
             : std::atoll(text.c_str() + end + 4);
}

std::optional<Starter> dist::findStarter() {
  for (int64_t process = getppid(); process > 1; process = parentOf(process)) {
    std::string name = programOf(process);
    for (const Program &program : programs)
      // What is replaced while it runs is called "orterun (deleted)".
      if (name == program.name ||
          name == std::string(program.name) + " (deleted)")
        return Starter{program.kind, process, program.command};
  }
  return std::nullopt;
}

static std::optional<int64_t> numberOf(const char *variable) {
  const char *text = std::getenv(variable);
  return text ? std::optional<int64_t>(std::atoll(text)) : std::nullopt;
}

std::optional<StartedAs> dist::findStartedAs() {
  struct Names {
    const char *rank, *size, *sizeOfHost;
  };
  constexpr Names all[] = {
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
       "OMPI_COMM_WORLD_LOCAL_SIZE"},
      {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
      {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE"}};
  std::optional<Starter> starter = findStarter();
  if (!starter)
    return std::nullopt;
  const Names &names = all[starter->kind];
  std::optional<int64_t> rank = numberOf(names.rank),
                         size = numberOf(names.size);
  if (!rank || !size)
    return std::nullopt;
  return StartedAs{*rank, *size, numberOf(names.sizeOfHost).value_or(0)};
}
