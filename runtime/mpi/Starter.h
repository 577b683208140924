//===- Starter.h - Who started this process ---------------------*- C++ -*-===//

#ifndef DIST_RUNTIME_MPI_STARTER_H
#define DIST_RUNTIME_MPI_STARTER_H

#include <cstdint>
#include <optional>
#include <string>

namespace dist {

/// A program of MPI, or of Slurm, that has started this process.
struct Starter {
  enum Kind { OpenMpi, Mpich, Slurm };
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
  int64_t rank, size;
  /// How many of them are on this host; 0 if the starter does not say.
  int64_t sizeOfHost;
};
std::optional<StartedAs> findStartedAs();

} // namespace dist

#endif // DIST_RUNTIME_MPI_STARTER_H
