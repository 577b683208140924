//===- ProcessesLauncher.cpp - Ranks as processes of this host ------------===//

#include "runtime/launch/ProcessesLauncher.h"
#include "runtime/cuda/CudaRank.h"
#include "runtime/launch/RunMessages.h"
#include "runtime/processes/ProcessesRun.h"
#include "runtime/program/TaskRunner.h"

#include <cstring>

using namespace dist;

namespace {

/// What a rank says to the first process.
enum Kind : uint32_t { Next, Repetitions };

/// Where the ranks' operands are, in memory that all processes have.
class Places {
public:
  Places(const Manifest &manifest, std::pmr::memory_resource &memory)
      : numArguments(manifest.arguments.size()),
        numResults(manifest.results.size()),
        places(static_cast<const void **>(
            memory.allocate(bytesOf(manifest), alignof(const void *)))) {}

  static int64_t bytesOf(const Manifest &manifest) {
    return manifest.mesh.size() *
           (manifest.arguments.size() + manifest.results.size() + 1) *
           sizeof(const void *);
  }

  const void *&argument(int64_t rank, size_t index) const {
    return places[rank * (numArguments + numResults) + index];
  }
  const void *&result(int64_t rank, size_t index) const {
    return argument(rank, numArguments + index);
  }
  /// In a rank's process.
  void note(int64_t rank, const Executor &executor) const {
    for (size_t i = 0; i < numArguments; ++i)
      argument(rank, i) = executor.argumentAt(i);
    for (size_t i = 0; i < numResults; ++i)
      result(rank, i) = executor.resultAt(i);
  }

private:
  size_t numArguments, numResults;
  const void **places;
};

/// The inputs of a step, in memory that all processes have.
class SharedInputs {
public:
  SharedInputs(const Manifest &manifest, std::pmr::memory_resource &memory)
      : manifest(manifest),
        header(
            std::pmr::polymorphic_allocator<>(&memory).new_object<Header>()) {
    for (const TensorDesc &desc : manifest.arguments) {
      Slot slot;
      if (desc.kind == TensorDesc::Input) {
        slot.data = memory.allocate(mostBytes(desc), 64);
        slot.dtype =
            std::pmr::polymorphic_allocator<>(&memory).new_object<int32_t>(-1);
      }
      slots.push_back(slot);
    }
  }

  static int64_t bytesOf(const Manifest &manifest) {
    int64_t sum = 0;
    for (const TensorDesc &desc : manifest.arguments)
      if (desc.kind == TensorDesc::Input)
        sum += mostBytes(desc) + 256;
    return sum;
  }

  /// In the first process, before all steps.
  void begin(const StepControl &control) {
    header->readsArguments = control.readsArguments();
  }
  /// Likewise, before each; none: no step follows.
  void set(const Inputs *inputs, const StepControl &control) {
    header->goesOn = inputs != nullptr;
    begin(control);
    for (size_t i = 0; inputs && i < slots.size(); ++i) {
      if (!slots[i].data)
        continue;
      auto given = inputs->find(manifest.arguments[i].name);
      *slots[i].dtype = -1;
      if (given == inputs->end())
        continue;
      std::memcpy(slots[i].data, given->second.data, given->second.bytes());
      *slots[i].dtype = given->second.dtype;
    }
  }
  /// In a rank's process.
  const Inputs *get() {
    values.clear();
    for (size_t i = 0; i < slots.size(); ++i)
      if (slots[i].data && *slots[i].dtype >= 0)
        values[manifest.arguments[i].name] = {
            static_cast<dist_dtype>(*slots[i].dtype),
            manifest.arguments[i].sourceShape(), slots[i].data, nullptr};
    return header->goesOn ? &values : nullptr;
  }
  bool readsArguments() const { return header->readsArguments; }

private:
  struct Header {
    bool goesOn = true, readsArguments = true;
  };
  struct Slot {
    void *data = nullptr;
    int32_t *dtype = nullptr;
  };
  /// Of any type that converts.
  static int64_t mostBytes(const TensorDesc &desc) {
    int64_t count = 1;
    for (int64_t size : desc.sourceShape())
      if (__builtin_mul_overflow(count, size, &count))
        throw Error("input '" + desc.name + "' is too large");
    if (__builtin_mul_overflow(count, 8, &count))
      throw Error("input '" + desc.name + "' is too large");
    return count + 64;
  }

  const Manifest &manifest;
  Header *header;
  std::vector<Slot> slots;
  Inputs values;
};

/// In the first process: what the ranks hold.
struct SharedHoldings final : RanksMemory {
  SharedHoldings(const Manifest &manifest, const ProcessesRun &run,
                 const Places &places)
      : RanksMemory(manifest), run(run), places(places) {}
  const void *read(int64_t rank, const HeldBytes &what) const override {
    const void *data = what.isResult ? places.result(rank, what.index)
                                     : places.argument(rank, what.index);
    return static_cast<const char *>(data) + what.offset;
  }
  void leave(const void *data, int64_t bytes) const override {
    leaveShared(data, bytes);
  }
  Tensor keep(int64_t rank, size_t index) const override {
    const TensorDesc &desc = manifest.results[index];
    auto *data = const_cast<void *>(places.result(rank, index));
    // The aliased owner keeps the rank's memory mapped.
    return {desc.dtype, desc.localShape, data,
            std::shared_ptr<void>(run.keep(rank), data)};
  }

  const ProcessesRun &run;
  const Places &places;
};

/// In a rank's process.
struct AskedSteps final : StepSource {
  AskedSteps(ProcessesRun &run, SharedInputs &values)
      : run(run), values(values) {}
  void next() override { run.ask({Next, ""}); }
  const Inputs *inputs() override { return values.get(); }
  bool readsArguments() const override { return values.readsArguments(); }

  ProcessesRun &run;
  SharedInputs &values;
};

struct ProcessesLauncher : BackendLauncher {
  const char *name() const override { return "processes"; }
  const char *target() const override { return "cpu"; }
  Most most() const override { return {1024, "on one host"}; }
  RanksResult run(const Program &program, const Arguments &arguments,
                  const RunOptions &options,
                  const TakeResults &take) const override;
  /// In a rank's process: the rank on what computes in place of the host, if
  /// anything does.
  virtual dist_rank *makeDevice(ProcessesRun &run, dist_rank &host,
                                const Program &program,
                                const RunOptions &options) const {
    return nullptr;
  }
};

struct CudaLauncher final : ProcessesLauncher {
  const char *name() const override { return "cuda"; }
  const char *target() const override { return "cuda"; }
  void begin(const RunOptions &options, const Tell &) const override {
    cuda::Driver::checkThere(options.driver);
  }
  dist_rank *makeDevice(ProcessesRun &run, dist_rank &host,
                        const Program &program,
                        const RunOptions &options) const override {
    // Not destroyed, as its memory is not (below).
    auto &driver = *new cuda::Driver(options.driver);
    auto *made = new CudaRank(
        driver, host, &program, host.index,
        [&](std::string &text) { return run.exchange(host, text); },
        options.usesGraphs());
    return &made->rank;
  }
};

} // namespace

/// Of a pipeline, what a rank has between tasks, and has sent that nobody has
/// read yet.
static double taskBytes(const Manifest &manifest) {
  constexpr double kPage = 4096;
  double most = 0;
  if (!manifest.pipeline)
    return most;
  const PipelineDesc &pipeline = *manifest.pipeline;
  for (int64_t place = 0; place < manifest.mesh.axes[pipeline.axis].size;
       ++place) {
    TaskPlan plan(pipeline, place);
    double bytes = 2.0 * plan.countBytes();
    for (size_t i = 0; i < pipeline.slots.size(); ++i)
      if (plan.uses[i].maker == place)
        bytes += (pipeline.slots[i].bytes() + kPage) *
                 (1 + plan.uses[i].targets.size()) *
                 (pipeline.slots[i].isOfStep ? 1 : pipeline.microbatches);
    most = std::max(most, bytes);
  }
  return most;
}

/// Addresses that a rank's operands may take; what it does not write to takes
/// no memory.
static int64_t rankBytes(const Manifest &manifest) {
  // Alignment, and plans of rows, which are some times as large as their
  // indices.
  constexpr double kTimes = 12, kBesides = 1 << 28, kMost = 1LL << 44;
  double bytes = manifest.arenaBytes;
  for (const auto *list : {&manifest.arguments, &manifest.results})
    for (const TensorDesc &desc : *list)
      bytes += desc.rankBytes() + (2 << 20);
  return std::min(kTimes * bytes + taskBytes(manifest) + kBesides, kMost);
}

RanksResult ProcessesLauncher::run(const Program &program,
                                   const Arguments &arguments,
                                   const RunOptions &options,
                                   const TakeResults &take) const {
  const Manifest &manifest = program.manifest;
  int64_t ranks = manifest.mesh.size();
  ProcessesRun run(topologyOf(manifest),
                   {options.link, options.streams, options.directConvolutions,
                    /*pinsRanks=*/manifest.target == "cpu"},
                   rankBytes(manifest),
                   Places::bytesOf(manifest) + SharedInputs::bytesOf(manifest),
                   timeoutOf(options),
                   timeoutOf(options, /*defaultSeconds=*/600));
  Places places(manifest, run.shared());
  std::optional<SharedInputs> values;
  if (options.stepControl) {
    values.emplace(manifest, run.shared());
    values->begin(*options.stepControl);
  }
  SharedHoldings holdings(manifest, run, places);
  RanksResult result;
  result.times.resize(ranks);
  Inputs inputs;
  bool isFirst = true;
  run.answer = [&](int64_t rank, Message message) -> std::optional<Message> {
    if (message.kind == Next) {
      // Each rank has copied what it takes of the files, and none reads on.
      if (isFirst)
        arguments.checkUnchanged();
      isFirst = false;
      values->set(options.stepControl->next(holdings, inputs) ? &inputs
                                                              : nullptr,
                  *options.stepControl);
      return Message{Next, ""};
    }
    result.times[rank] = readTimes(message.text);
    return std::nullopt;
  };
  bool ok = run.run([&](dist_rank &host) -> int32_t {
    dist_rank *device = makeDevice(run, host, program, options);
    dist_rank &rank = device ? *device : host;
    // Not destroyed: the process ends, and others read its memory until then.
    auto &executor = *new Executor(program, arguments, options.padding);
    if (options.stepControl) {
      AskedSteps steps(run, *values);
      int32_t failed = executor.runSteps(
          rank, steps, [&] { places.note(rank.index, executor); });
      return failed || rank.backend.finish() ? failed : 1;
    }
    if (int32_t failed = executor.run(rank, options.repeat, options.isTraced()))
      return failed;
    places.note(rank.index, executor);
    run.tell({Repetitions, writeTimes(executor.times())});
    return rank.backend.finish() ? 0 : 1;
  });
  if (!ok)
    throw Error(run.message());
  if (!options.stepControl)
    take(holdings);
  result.trace = run.takeTrace();
  return result;
}

const BackendLauncher &dist::processesLauncher() {
  static const ProcessesLauncher launcher;
  return launcher;
}

const BackendLauncher &dist::cudaLauncher() {
  static const CudaLauncher launcher;
  return launcher;
}
