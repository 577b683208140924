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

namespace {
/// What a starter sets in the environment of a process.
struct Names {
  const char *command, *rank, *size, *sizeOfHost;
};
} // namespace

/// By Starter::Kind. Slurm sets SLURM_NTASKS for a shell as well, in which one
/// process has started.
static constexpr Names names[] = {
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
     "SLURM_STEP_TASKS_PER_NODE"},
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"}};

static std::optional<int64_t> numberOf(const char *variable) {
  const char *text = std::getenv(variable);
  return text ? std::optional<int64_t>(std::atoll(text)) : std::nullopt;
}

static std::optional<StartedAs> readEnvironment(Starter::Kind kind) {
  const Names &of = names[kind];
  std::optional<int64_t> rank = numberOf(of.rank), size = numberOf(of.size),
                         sizeOfHost = numberOf(of.sizeOfHost);
  // Clusters set WORLD_SIZE and RANK for all programs of a container.
  if (!rank || !size || (kind == Starter::Torchrun && !sizeOfHost))
    return std::nullopt;
  return StartedAs{kind,  of.command, of.size,
                   *rank, *size,      sizeOfHost.value_or(0)};
}

std::optional<StartedAs> dist::findStartedAs() {
  std::optional<Starter> starter = findStarter();
  return starter ? readEnvironment(starter->kind) : std::nullopt;
}

std::optional<StartedAs> dist::findStartedBeside() {
  std::optional<Starter> starter = findStarter();
  for (Starter::Kind kind :
       {Starter::OpenMpi, Starter::Mpich, Starter::Slurm, Starter::Torchrun}) {
    // Torchrun is a script of Python, which nobody sees.
    if (starter && kind != starter->kind && kind != Starter::Torchrun)
      continue;
    std::optional<StartedAs> as = readEnvironment(kind);
    if (as && as->size > 1)
      return as;
  }
  return std::nullopt;
}
