//===- Executor.h - One rank of a compiled program --------------*- C++ -*-===//
//
// Gives a rank its parts of parameters, constants and inputs, runs dist_main on
// it and returns its parts of the results. It knows nothing of other ranks, nor
// how ranks are started: that is a launcher's business (Launcher.h).
//
//===----------------------------------------------------------------------===//

#ifndef DIST_EXECUTOR_H
#define DIST_EXECUTOR_H

#include "dist/Program.h"
#include "dist/Slices.h"
#include "dist/Tensor.h"
#include "dist/Weights.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dist {

/// Whole inputs, by name, and parameters that do not come from the file. Exact
/// conversions are made, such as f32 for an f64 argument. One without data is
/// at another process, which sends each rank its part.
using Inputs = std::map<std::string, Tensor>;

/// The program's weights file: `given`, if that is not empty, or the manifest's
/// own; "" if there is none.
std::string findWeights(const Program &program, const std::string &given);

/// Why `tensor` cannot be an argument's source, which `from` names; "" if it
/// can. Values are not read unless `readsValues`: then those are taken that may
/// convert.
std::string findMisfit(const std::string &from, const TensorDesc &desc,
                       const Tensor &tensor, bool readsValues);

/// Throws Error unless `tensor` is what the program wants for `desc`; `from`
/// says in messages what it is.
void checkFits(const std::string &from, const TensorDesc &desc,
               const Tensor &tensor);

/// The source of each argument's data: a tensor of the weights file, of the
/// bundle's constants, or an input. All ranks of a process share one.
class Arguments {
public:
  /// Finds the data of all arguments and checks their types and shapes.
  /// `weights` is a file, "" for the manifest's own. Throws Error for inputs
  /// and weights that are missing or do not fit. `program` and `inputs` must
  /// live as long as this object.
  Arguments(const Program &program, const Inputs &inputs,
            const std::string &weights = "");

  /// The whole tensor of argument `index` of the manifest.
  const Tensor &operator[](size_t index) const { return *sources[index]; }

  /// Throws Error if a file was written to since: the data that was read may be
  /// a mixture.
  void checkUnchanged() const;

private:
  const Program &program;
  std::optional<Weights> weightsFile;
  std::vector<const Tensor *> sources;
};

/// The memory of the ranks between two steps, when all of them wait.
class Holdings {
public:
  virtual ~Holdings() = default;
  /// Copies argument `index` of the manifest, whole, into `whole`, a tensor of
  /// its dtype and source shape. If the argument is a part of that tensor, only
  /// this part is copied.
  virtual void copyArgument(size_t index, Tensor &whole) const = 0;
  /// The whole result `index`.
  virtual Tensor getResult(size_t index) const = 0;
};

/// Runs a program step by step: a result that updates an argument
/// (TensorDesc::updates) is that argument of the next step, and stays on its
/// rank.
class StepControl {
public:
  virtual ~StepControl() = default;
  /// Called before each step, on one thread, with all ranks waiting: sets the
  /// inputs that change, and returns whether there is a step.
  virtual bool next(const Holdings &held, Inputs &inputs) = 0;
  /// Whether the call of `next` that follows takes arguments, or results that
  /// update them. Where the host cannot read a rank's memory, they are copied.
  virtual bool readsArguments() const { return true; }
};

/// What leads the ranks of a run from step to step; each process has its own.
class StepSource {
public:
  virtual ~StepSource() = default;
  /// Called by rank 0 before each step, while all others wait.
  virtual void next() = 0;
  /// Called by each rank after that: the inputs that change, or null if no step
  /// follows.
  virtual const Inputs *inputs() = 0;
  /// As StepControl; of each rank.
  virtual bool readsArguments() const { return true; }
};

class TaskRunner;

/// When a rank ran dist_main, in nanoseconds of the steady clock.
struct Interval {
  int64_t start, end;
};

/// Bytes of a rank's part of an argument or a result.
struct HeldBytes {
  bool isResult;
  size_t index;
  int64_t offset, bytes;
};

/// One rank of a run. It owns the rank's memory, from which other ranks may
/// read until all have ended: keep it until then.
class Executor {
public:
  Executor(const Program &program, const Arguments &arguments,
           Padding padding = Padding::Zero)
      : program(program), arguments(arguments), padding(padding) {}

  /// The rank's part of argument `index`, padding included, where this process
  /// lacks the whole.
  void give(size_t index, Tensor part) { sent[index] = std::move(part); }

  /// Runs dist_main `repeat` times on the same arguments, each time after all
  /// ranks have met. Arguments that it updates are reset each time. The last
  /// run is traced if `trace` is set. `rank` was created by the launcher's
  /// backend. Returns 0, or non-zero if the run has failed.
  int32_t run(dist_rank &rank, int64_t repeat, bool trace);

  /// Runs dist_main step by step, each on the results of the one before
  /// (StepControl). `ready` is called once its memory is there.
  int32_t runSteps(
      dist_rank &rank, StepSource &steps,
      const std::function<void()> &ready = [] {});

  /// Where the host reads argument `index`, while no step runs.
  const void *argumentAt(size_t index) const {
    return copies.empty() ? places[index].get() : copies[index].get();
  }
  const void *resultAt(size_t index) const { return parts[index].data; }
  const void *at(const HeldBytes &what) const {
    const void *data =
        what.isResult ? resultAt(what.index) : argumentAt(what.index);
    return static_cast<const char *>(data) + what.offset;
  }
  /// The rank's part of result `index`, padding included; after run.
  const Tensor &partOf(size_t index) const { return parts[index]; }
  /// Of each repetition.
  const std::vector<Interval> &times() const { return repetitions; }

private:
  std::shared_ptr<void> allocate(dist_rank &rank, int64_t bytes);
  std::shared_ptr<void> upload(dist_rank &rank, const void *from,
                               int64_t bytes);
  bool fill(dist_rank &rank, size_t index, const Tensor &source);
  bool fill(dist_rank &rank, size_t index);
  void placeArgument(dist_rank &rank, size_t index, bool owns);
  void prepareArguments(dist_rank &rank, bool ownsArguments);
  void prepare(dist_rank &rank, bool isStepped = false);
  int32_t call(dist_rank &rank);
  bool takeArguments(dist_rank &rank);
  bool takeResults(dist_rank &rank, bool isStepped);

  const Program &program;
  const Arguments &arguments;
  Padding padding;
  std::map<size_t, Tensor> sent;
  /// Of the results, in the order of manifest.results, where the host reads
  /// them.
  std::vector<Tensor> parts;
  std::vector<Interval> repetitions;
  std::vector<std::shared_ptr<void>> owners;
  /// For each argument of the manifest, except those that are joined.
  std::vector<std::shared_ptr<void>> places;
  /// Of a run by steps whose memory the host cannot read: the same, there.
  std::vector<std::shared_ptr<void>> copies;
  std::vector<void *> args, results;
  void *arena = nullptr;
  int64_t *status = nullptr;
  /// Of a pipeline.
  std::shared_ptr<TaskRunner> tasks;
};

} // namespace dist

#endif // DIST_EXECUTOR_H
