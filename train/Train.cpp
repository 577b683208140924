//===- Train.cpp - dist-run --train ---------------------------------------===//

#include "train/Train.h"
#include "dist/OutputFile.h"
#include "train/Batches.h"
#include "train/Checkpoint.h"
#include "train/Curve.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

using namespace mlir::dist;
namespace host = ::dist;

namespace {
using Clock = std::chrono::steady_clock;

/// What happens between the steps.
class Loop final : public host::StepControl {
public:
  Loop(const host::Manifest &manifest, const TrainOptions &options,
       const std::set<std::string> &states, const Position &start,
       Batches &batches, const CheckpointFolder *folder, Curve *curve)
      : manifest(manifest), options(options), states(states), position(start),
        first(start.step), batches(batches), folder(folder), curve(curve) {
    while (loss < manifest.results.size() &&
           manifest.results[loss].name != "loss")
      ++loss;
  }

  bool next(const host::Holdings &held, host::Inputs &inputs) override;
  /// Where a checkpoint is due.
  bool readsArguments() const override {
    return isRunning && folder && options.isSaved(position.step + 1);
  }

private:
  void finish(const host::Holdings &held);
  void say(double value, bool isLast);
  void save(const host::Holdings &held);

  const host::Manifest &manifest;
  const TrainOptions &options;
  const std::set<std::string> &states;
  Position position;
  int64_t first;
  Batches &batches;
  const CheckpointFolder *folder;
  Curve *curve;
  size_t loss = 0;
  bool isRunning = false;
  Clock::time_point began = Clock::now(), said = {};
  int64_t saidStep = 0;
};
} // namespace

static double seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

/// One number, of any type of floats.
static double numberOf(const host::Tensor &tensor) {
  double value = 0;
  host::convert(tensor.dtype, tensor.data, DIST_F64, &value, 1);
  return value;
}

/// "1:02:03", "0:07".
static std::string clockText(double time) {
  // Beyond that the time left is not worth its digits.
  constexpr double kMost = 1e9;
  int64_t all = static_cast<int64_t>(std::min(time, kMost) + 0.5);
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (all >= 3600)
    stream << all / 3600 << ":" << llvm::format("%02d", int(all / 60 % 60));
  else
    stream << all / 60;
  stream << ":" << llvm::format("%02d", int(all % 60));
  return text;
}

/// A line a second, and one for the first and the last step.
void Loop::say(double value, bool isLast) {
  Clock::time_point now = Clock::now();
  bool isFirst = position.step == first + 1;
  if (!isFirst && !isLast && now - said < std::chrono::seconds(1))
    return;
  int64_t since = isFirst ? 1 : position.step - saidStep;
  double time = seconds(now - (isFirst ? began : said));
  double left = (options.steps - position.step) * seconds(now - began) /
                (position.step - first);
  llvm::outs() << "step " << position.step << "/" << options.steps.getValue()
               << ": loss " << llvm::format("%.6f", value) << ", "
               << llvm::format("%.0f", batches.unitsPerStep() * since /
                                           std::max(time, 1e-9))
               << " " << batches.unit() << "/s, " << clockText(left)
               << " left\n";
  llvm::outs().flush();
  said = now;
  saidStep = position.step;
}

void Loop::save(const host::Holdings &held) {
  // First the curve: a run that goes on from the checkpoint keeps its rows.
  if (curve)
    curve->write();
  std::string path = folder->save(position, manifest, states, held,
                                  options.shardSize * int64_t(1'000'000));
  llvm::outs() << "saved " << path << "\n";
  llvm::outs().flush();
}

/// Takes what a step made.
void Loop::finish(const host::Holdings &held) {
  double value = numberOf(held.getResult(loss));
  if (curve)
    curve->add(position.step, value);
  if (std::isnan(value))
    throw host::Error("step " + std::to_string(position.step + 1) +
                      ": the loss is no number, and so are the parameters that "
                      "it leads to, of which no checkpoint is made (" +
                      (position.step == first
                           ? "data or weights may hold no numbers)"
                           : "a smaller lr, warmup or clip may help; or data "
                             "hold no numbers)"));
  ++position.step;
  bool isLast = position.step >= options.steps;
  say(value, isLast);
  if (curve)
    curve->writeSometimes();
  if (folder && options.isSaved(position.step))
    save(held);
}

bool Loop::next(const host::Holdings &held, host::Inputs &inputs) {
  if (isRunning)
    finish(held);
  isRunning = true;
  if (position.step >= options.steps)
    return false;
  batches.fill(position.step, inputs);
  host::Tensor &step = inputs["step"];
  if (!step.data)
    step = host::Tensor::zeros(DIST_I64, {});
  *static_cast<int64_t *>(step.data) = position.step;
  return true;
}

/// A checkpoint must contain the arguments of a step of this optimizer.
static void checkTensors(const TrainOptions &options, const Position &start,
                         const host::Manifest &manifest,
                         const host::Inputs &tensors) {
  std::set<std::string> wanted;
  for (const host::TensorDesc &desc : manifest.arguments)
    if (desc.kind == host::TensorDesc::Parameter)
      wanted.insert(desc.name);
  // What an optimizer keeps is called after its parameter.
  auto isState = [&](const std::string &name) {
    size_t dot = name.rfind('.');
    return dot != std::string::npos && wanted.count(name.substr(0, dot));
  };
  auto fail = [&](const std::string &what, bool isOptimizers) {
    throw host::Error(
        "--resume " + options.resume + ": " + what +
        (!isOptimizers || start.optimizer == options.getOptimizer()
             ? "; it is of another model, or of other --train-parameters"
             : "; it was trained with --optimizer " + start.optimizer +
                   ", and this run has " + options.getOptimizer()));
  };
  for (const auto &[name, tensor] : tensors)
    if (!wanted.count(name))
      fail("holds '" + name + "', which a step does not take", isState(name));
  for (const std::string &name : wanted)
    if (!tensors.count(name))
      fail("lacks '" + name + "', which a step takes", isState(name));
}

/// Says how many numbers the model has, and how many of them are trained where
/// not all are. Buffers are not counted.
static void sayParameters(const host::Manifest &manifest,
                          const StepArguments &arguments) {
  int64_t count = 0, trained = 0;
  std::set<std::pair<std::string, host::Shape>> counted;
  for (const host::TensorDesc &desc : manifest.arguments) {
    // Several stages of a pipeline may hold one.
    if (desc.kind != host::TensorDesc::Parameter ||
        !arguments.parameters.count(desc.name) ||
        !counted.insert({desc.name, desc.partAt}).second)
      continue;
    int64_t size = host::numElements(desc.globalShape);
    count += size;
    if (arguments.trained.count(desc.name))
      trained += size;
  }
  llvm::outs() << count << " parameters";
  if (trained != count)
    llvm::outs() << ", of which " << trained << " are trained";
  llvm::outs() << "\n";
  llvm::outs().flush();
}

/// Where checkpoints go; what they would replace is looked at before the first
/// step.
static void openFolder(const TrainOptions &options, int64_t first,
                       std::optional<CheckpointFolder> &folder) {
  if (options.save.empty())
    return;
  folder.emplace(options.save);
  std::vector<int64_t> there = findSteps(options.save);
  for (int64_t step : there)
    if (step > first && step <= options.steps && options.isSaved(step))
      folder->checkStep(step);
  folder->checkStep(options.steps);
  if (options.resume.empty() && !there.empty())
    llvm::errs() << "dist-run: warning: --save " << options.save
                 << ": holds checkpoints of an earlier run (step-"
                 << *std::max_element(there.begin(), there.end())
                 << "), beside which those of this one will lie, or in their "
                    "place; --resume goes on from there\n";
}

/// What changes from step to step is data; the rest is given once.
static void checkInputs(const host::Manifest &manifest,
                        const StepArguments &arguments, const Batches &batches,
                        const host::Inputs &given) {
  std::string missing;
  for (const host::TensorDesc &desc : manifest.arguments)
    if (desc.kind == host::TensorDesc::Input && desc.name != "step" &&
        desc.name != arguments.seed && !batches.gives(desc.name) &&
        !given.count(desc.name))
      missing += (missing.empty() ? "" : ", ") + desc.name + ": " +
                 host::dtypeName(desc.dtype) + host::toString(desc.globalShape);
  if (!missing.empty())
    throw host::Error("inputs not given (--data NAME=FILE.npy: rows, of which "
                      "each step takes some; --input NAME=FILE.npy or "
                      "NAME=NUMBER: the same in all steps): " +
                      missing);
}

void mlir::dist::runTraining(const host::Program &described,
                             const TrainOptions &options,
                             const StepArguments &arguments, host::Inputs given,
                             host::RunOptions run,
                             llvm::function_ref<host::Program()> compile) {
  const host::Manifest &manifest = described.manifest;
  const std::set<std::string> &states = arguments.states;
  Position start;
  bool isDone = false;
  start.seed = options.seed;
  start.accumulate = options.accumulate;
  start.inOrder = options.inOrder;
  if (!options.resume.empty()) {
    host::Inputs tensors;
    Position asked = start;
    start = loadCheckpoint(options.resume, tensors);
    checkTensors(options, start, manifest, tensors);
    given.merge(tensors);
    // The seed need not be said again.
    if (options.seed.getNumOccurrences() == 0)
      asked.seed = start.seed;
    if (std::string conflict = start.findConflict(asked); !conflict.empty())
      throw host::Error("--resume " + options.resume + ": " + conflict);
    isDone = start.step >= options.steps;
    if (isDone)
      llvm::errs() << "dist-run: --steps " << options.steps << ": "
                   << options.resume << " is at step " << start.step
                   << " already: nothing is left to do\n";
    // Processes of MPI wait for a program: they are given one of no steps.
    if (isDone && run.backend != "mpi")
      return;
    if (start.optimizer != options.getOptimizer())
      llvm::errs() << "dist-run: warning: --resume " << options.resume
                   << ": trained so far with --optimizer " << start.optimizer
                   << ", from here on with " << options.getOptimizer() << "\n";
  }
  start.optimizer = options.getOptimizer();
  Batches batches({options.data.begin(), options.data.end()}, manifest,
                  options.target, arguments, given, start.seed, options.inOrder,
                  options.accumulate);
  checkInputs(manifest, arguments, batches, given);
  // An optimizer begins with nothing.
  if (options.resume.empty())
    for (const host::TensorDesc &desc : manifest.arguments)
      if (states.count(desc.name))
        given[desc.name] = host::Tensor::zeros(desc.dtype, desc.sourceShape());
  batches.fill(start.step, given);
  if (!arguments.seed.empty()) {
    host::Tensor seed = host::Tensor::zeros(DIST_I64, {});
    *static_cast<int64_t *>(seed.data) = static_cast<int64_t>(start.seed);
    if (!given.try_emplace(arguments.seed, seed).second)
      throw host::Error("--input " + arguments.seed +
                        ": --seed of --train says it");
  }
  if (!given.try_emplace("step", host::Tensor::zeros(DIST_I64, {})).second)
    throw host::Error("--input step: --train counts the steps itself");
  if (options.steps > INT64_MAX / std::max<int64_t>(batches.perStep(), 1))
    throw host::Error("--steps " + std::to_string(options.steps) +
                      ": more samples than can be counted");
  std::optional<CheckpointFolder> folder;
  std::optional<Curve> curve;
  if (!isDone)
    openFolder(options, start.step, folder);
  if (!isDone && !options.curve.empty())
    curve.emplace(options.curve, start.step);
  (void)host::Arguments(described, given, run.weights);
  host::Program program = compile();
  Loop loop(program.manifest, options, states, start, batches,
            folder ? &*folder : nullptr, curve ? &*curve : nullptr);
  sayParameters(manifest, arguments);
  run.stepControl = &loop;
  try {
    host::launch(program, given, run);
  } catch (...) {
    if (curve)
      curve->write();
    throw;
  }
  if (curve)
    curve->write();
}

namespace {
/// Rank 0 has the one that counts.
struct OthersSteps final : host::StepControl {
  bool next(const host::Holdings &, host::Inputs &) override { return false; }
};
} // namespace

void mlir::dist::followTraining(const host::Program &program,
                                const TrainOptions &options,
                                const std::set<std::string> &states,
                                host::RunOptions run) {
  host::Inputs given;
  if (!options.resume.empty())
    loadCheckpoint(options.resume, given);
  for (const host::TensorDesc &desc : program.manifest.arguments)
    if (desc.kind == host::TensorDesc::Input)
      given[desc.name] = {desc.dtype, desc.globalShape, nullptr, nullptr};
    else if (options.resume.empty() && states.count(desc.name))
      given[desc.name] = host::Tensor::zeros(desc.dtype, desc.sourceShape());
  OthersSteps steps;
  run.stepControl = &steps;
  host::launch(program, given, run);
}
