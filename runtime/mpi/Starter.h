//===- Starter.h - Who started this process ---------------------*- C++ -*-===//

#ifndef DIST_RUNTIME_MPI_STARTER_H
#define DIST_RUNTIME_MPI_STARTER_H

#include <cstdint>
#include <optional>
#include <string>

namespace dist {

/// A program of MPI, or of Slurm, that has started this process.
struct Starter {
  enum Kind { OpenMpi, Mpich, Slurm, Torchrun };
  Kind kind;
  int64_t process;
  /// "mpirun".
  std::string command;
};

/// The nearest of the processes that this one descends from. Environments are
/// inherited further than they hold.
std::optional<Starter> findStarter();

/// Which of the processes this one is, as its starter says before MPI does.
struct StartedAs {
  Starter::Kind kind;
  /// "mpirun"; the variable that says how many there are.
  std::string command, variable;
  int64_t rank, size;
  /// How many of them are on this host; 0 if the starter does not say.
  int64_t sizeOfHost;
};
std::optional<StartedAs> findStartedAs();

/// Of several processes, which one this is. Also of such as know nothing of
/// each other; and where no starter is seen, as from within a container, by the
/// environment alone.
std::optional<StartedAs> findStartedBeside();

} // namespace dist

#endif // DIST_RUNTIME_MPI_STARTER_H
