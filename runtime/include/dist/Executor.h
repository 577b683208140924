//===- Executor.h - One rank of a compiled program --------------*- C++ -*-===//
//
// Gives a rank its parts of parameters, constants and inputs, runs dist_main on
// it and hands over its parts of the results. It knows nothing of how ranks are
// started, nor of other ranks: that is a launcher's business (Launcher.h).
//
//===----------------------------------------------------------------------===//

#ifndef DIST_EXECUTOR_H
#define DIST_EXECUTOR_H

#include "dist/Program.h"
#include "dist/Slices.h"
#include "dist/Tensor.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dist {

/// Inputs by name, whole, and parameters that are not to come from the file;
/// f32 for an f64 argument (and every other conversion
/// that loses nothing) is converted.
using Inputs = std::map<std::string, Tensor>;

/// Where the data of each argument comes from: a tensor of the weights file, of
/// the bundle's constants, or an input. All ranks of a process share one.
class Arguments {
public:
  /// Finds the data of all arguments and checks their types and shapes.
  /// `weights` is a file, "" for the manifest's own. Throws Error for missing
  /// or ill-fitting inputs and weights. `program` and `inputs` must live as
  /// long as this.
  Arguments(const Program &program, const Inputs &inputs,
            const std::string &weights = "");

  /// The whole tensor of argument `index` of the manifest.
  const Tensor &operator[](size_t index) const { return *sources[index]; }

  /// Throws Error if a file was written to since: what was read of it may be a
  /// mixture.
  void checkUnchanged() const;

private:
  const Program &program;
  std::optional<Safetensors> weightsFile;
  std::vector<const Tensor *> sources;
};

/// What the ranks hold between two steps, when all of them wait.
class Holdings {
public:
  virtual ~Holdings() = default;
  /// Copies argument `index` of the manifest, whole, into `whole`, a tensor of
  /// its dtype and source shape; of one that is part of that, this part.
  virtual void copyArgument(size_t index, Tensor &whole) const = 0;
  /// The whole result `index`.
  virtual Tensor getResult(size_t index) const = 0;
};

/// Runs a program step by step: a result that updates an argument
/// (TensorDesc::updates) is that argument of the next step, and stays on its
/// rank.
class Stepper {
public:
  virtual ~Stepper() = default;
  /// Called before each step, on one thread, with all ranks at rest: sets the
  /// inputs that change, and returns whether there is a step.
  virtual bool next(const Holdings &held, Inputs &inputs) = 0;
};

/// What one rank has done.
struct RankResult {
  /// Its parts of the results, in the order of manifest.results.
  std::vector<Tensor> parts;
  /// Start and end of each repetition, in nanoseconds of the steady clock.
  struct Interval {
    int64_t start, end;
  };
  std::vector<Interval> repetitions;
};

/// One rank of a run. It owns the rank's memory, from which other ranks may
/// read until all have ended: keep it until then.
class Executor {
public:
  Executor(const Program &program, const Arguments &arguments,
           Padding padding = Padding::Zero)
      : program(program), arguments(arguments), padding(padding) {}

  /// Runs dist_main `repeat` times on the same arguments, each time after all
  /// ranks have met (those that it updates are what they were at first); the
  /// last one is traced if `trace` is set. `rank` is what the launcher's
  /// backend made. Returns 0, or non-zero if the run has failed.
  int32_t run(dist_rank &rank, int64_t repeat, bool trace);

  /// Runs dist_main step by step, each on what the one before made (Stepper).
  /// `next` is called on one rank before each, while all others wait: it sets
  /// whether there is one, and the inputs that change.
  int32_t runSteps(dist_rank &rank, const std::function<void()> &next,
                   const bool &goesOn, const Inputs &inputs);

  /// The memory of argument `index`; while no step runs.
  const void *argumentAt(size_t index) const { return places[index].get(); }
  const void *resultAt(size_t index) const { return results[index]; }

  /// What the rank has done; after run.
  RankResult takeResult() { return std::move(result); }

private:
  std::shared_ptr<void> allocate(dist_rank &rank, int64_t bytes);
  std::shared_ptr<void> upload(dist_rank &rank, const void *from,
                               int64_t bytes);
  bool fill(dist_rank &rank, size_t index, const Tensor &source);
  void placeArgument(dist_rank &rank, size_t index, bool owns);
  void prepareArguments(dist_rank &rank, bool ownsArguments);
  void prepare(dist_rank &rank, bool ownsArguments = false);
  bool takeResults(dist_rank &rank);

  const Program &program;
  const Arguments &arguments;
  Padding padding;
  RankResult result;
  std::vector<std::shared_ptr<void>> owners;
  /// Of each argument of the manifest but those that are joined.
  std::vector<std::shared_ptr<void>> places;
  std::vector<void *> args, results;
  void *arena = nullptr;
  int64_t *status = nullptr;
};

} // namespace dist

#endif // DIST_EXECUTOR_H
