//===- Executor.h - Runs a compiled program on many ranks -------*- C++ -*-===//
//
// Loads a bundle, gives every rank its slices of parameters and inputs, runs
// dist_main on all ranks and puts the whole results together. Used by dist-exec
// and dist-run.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_EXECUTOR_H
#define DIST_EXECUTOR_H

#include "dist/EmulatedLink.h"
#include "dist/Manifest.h"
#include "dist/Safetensors.h"
#include "dist/Tensor.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dist {

/// A compiled program: its manifest and its code.
struct Program {
  Manifest manifest;
  dist_main_fn entry = nullptr;
  /// Keeps the code in memory (a loaded shared object, a JIT).
  std::shared_ptr<void> code;
  /// Folder against which a relative manifest.weights is resolved.
  std::string folder;
  /// Data of the arguments that are constants; null if there are none.
  std::shared_ptr<const Safetensors> constants;
};

/// Opens OUT.dist: reads its manifest, loads its shared object and maps its
/// constants; it may be removed then. Throws Error.
Program loadBundle(const std::string &folder);

struct RunOptions {
  /// "" for the manifest's own.
  std::string weights;
  /// How often dist_main runs, on the same arguments.
  int64_t repeat = 1;
  /// Chrome trace (chrome://tracing, Perfetto) of the last run; "" for none.
  std::string trace;
  EmulatedLink link;
  /// Whether to give also what every rank holds of the results.
  bool keepParts = false;
};

struct RunResult {
  struct Output {
    std::string name;
    Tensor tensor; // whole
    /// What each rank holds, of the local shape, padding included; only with
    /// RunOptions::keepParts.
    std::vector<Tensor> parts;
  };
  std::vector<Output> outputs; // in the order of manifest.results
  /// Per repetition, from the moment all ranks were ready to the last one's
  /// return.
  std::vector<double> seconds;
};

/// Inputs by name, whole; f32 for an f64 argument (and every other conversion
/// that loses nothing) is converted.
using Inputs = std::map<std::string, Tensor>;

/// Runs `program` on as many ranks as its mesh has, each a thread. Throws Error
/// for missing or ill-fitting inputs and weights, and when a rank failed.
RunResult execute(const Program &program, const Inputs &inputs,
                  const RunOptions &options = {});

} // namespace dist

#endif // DIST_EXECUTOR_H
