//===- BackendLauncher.h - How a backend starts its ranks -------*- C++ -*-===//
//
// One object for each backend. A process may run all ranks of a program, or
// some of them beside other processes that were started with it (mpirun). One
// of all processes is the root, which gathers the results.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_LAUNCH_BACKENDLAUNCHER_H
#define DIST_RUNTIME_LAUNCH_BACKENDLAUNCHER_H

#include "dist/Launcher.h"
#include "runtime/launch/RanksMemory.h"
#include "runtime/rank/Rank.h"

#include <chrono>

namespace dist {

/// What the ranks of a run have done.
struct RanksResult {
  /// Of each rank the repetitions: all of the mesh at the root, none elsewhere.
  std::vector<std::vector<Interval>> times;
  /// Of all ranks, if RunOptions::trace is set; at the root.
  std::vector<TraceEvent> trace;
};

/// Takes what it wants of the results.
using TakeResults = std::function<void(const RanksMemory &)>;

class BackendLauncher {
public:
  virtual ~BackendLauncher() = default;

  /// As --backend names it.
  virtual const char *name() const = 0;
  /// What the programs that it runs are compiled for (dist-compile --target).
  virtual const char *target() const = 0;
  /// How many ranks it runs, and where: "in one process".
  struct Most {
    int64_t ranks;
    const char *where;
  };
  virtual Most most() const = 0;
  /// Called once, before anything that takes long: joins other processes that
  /// were started with this one, and has errors written by `tell`. Throws
  /// Error.
  virtual void begin(const RunOptions &options, const Tell &tell) const {}
  /// This process ends for `message`. It returns in the one that reports;
  /// others tell that one, and do not return.
  virtual void fail(const std::string &message) const {}
  /// Whether this process is the one that reports.
  virtual bool isRoot() const { return true; }
  /// As dist::sendProgram and receiveProgram.
  virtual void sendProgram(const std::string &folder,
                           const std::string &text) const {}
  virtual Program receiveProgram(std::string &text) const {
    throw Error("there is no other process that has the program");
  }
  /// Runs the ranks of this process, each with an Executor, and gathers what
  /// all have done at the root. There, `take` is called when all have ended
  /// well, but not of a run by steps. Throws Error, in every process, when a
  /// rank failed.
  virtual RanksResult run(const Program &program, const Arguments &arguments,
                          const RunOptions &options,
                          const TakeResults &take) const = 0;
};

/// Throws Error if the options are wrong for a program, or its backend does not
/// run that.
void checkStart(const Manifest &manifest, const RunOptions &options);

/// What checkStart says of --repeat, whoever runs the program.
void checkRepeat(const RunOptions &options);

/// --timeout, or its default.
std::chrono::milliseconds timeoutOf(const RunOptions &options,
                                    double defaultSeconds = 60);

/// "the program's mesh has 4 devices", or why it has one.
std::string describeDevices(const Mesh &mesh);

/// A manifest's ranks and communicators, for a backend.
Topology topologyOf(const Manifest &manifest);

} // namespace dist

#endif // DIST_RUNTIME_LAUNCH_BACKENDLAUNCHER_H
