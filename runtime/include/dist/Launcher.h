//===- Launcher.h - Runs a compiled program on all its ranks ----*- C++ -*-===//
//
// Starts as many ranks as the program's mesh has, each with an Executor, and
// puts the whole results together. How a rank is started is a backend's: a
// thread of this process, today. Used by dist-exec and dist-run.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LAUNCHER_H
#define DIST_LAUNCHER_H

#include "dist/EmulatedLink.h"
#include "dist/Executor.h"
#include "dist/StreamMode.h"

#include <string>
#include <vector>

namespace dist {

struct RunOptions {
  /// What runs the ranks: "threads".
  std::string backend = "threads";
  /// "" for the manifest's own.
  std::string weights;
  /// How often dist_main runs, on the same arguments.
  int64_t repeat = 1;
  /// Whether the last run is traced.
  bool trace = false;
  EmulatedLink link;
  /// When communication streams do their work.
  StreamMode streams;
  /// Whether what each rank holds of the results is wanted, too.
  bool keepParts = false;
  /// Runs the program step by step, in place of `repeat`.
  Stepper *stepper = nullptr;
  /// What the padding of arguments is filled with.
  Padding padding = Padding::Zero;
  /// Whether each element of a convolution is the sum of its window's products,
  /// and none is by Winograd's, whose rounding errors are those of neighbours.
  bool directConvolutions = false;
};

struct RunResult {
  struct Output {
    std::string name;
    Tensor tensor; // whole
    /// With RunOptions::keepParts the part that each rank holds, by rank, also
    /// where several hold the same (padding included); else empty.
    std::vector<Tensor> parts;
  };
  std::vector<Output> outputs; // in the order of manifest.results
  /// Per repetition, from the moment all ranks were ready to the last one's
  /// return.
  std::vector<double> seconds;
  /// With RunOptions::trace the last run in the format that chrome://tracing
  /// and Perfetto read.
  std::string trace;
  /// Whether this process is the one that reports. In the others of a run of
  /// several processes there is nothing else here.
  bool isRoot = true;
};

/// Throws Error, with those that there are, if this build has no such backend.
void checkBackend(const std::string &name);

/// What programs that `backend` runs are compiled for. Throws Error likewise.
std::string targetOf(const std::string &backend);

/// Runs `program` on all ranks of its mesh. Throws Error for a backend that
/// this build lacks or that runs programs for another target, missing or
/// ill-fitting inputs and weights, and when a rank failed.
RunResult launch(const Program &program, const Inputs &inputs,
                 const RunOptions &options = {});

} // namespace dist

#endif // DIST_LAUNCHER_H
