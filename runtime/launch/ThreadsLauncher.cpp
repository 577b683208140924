//===- ThreadsLauncher.cpp - Ranks as threads of this process -------------===//

#include "runtime/launch/ThreadsLauncher.h"
#include "runtime/threads/ThreadsRun.h"

using namespace dist;

namespace {

/// The steps of a run: all ranks follow one step control.
struct SteppedRun final : RanksMemory, StepSource {
  SteppedRun(const Program &program, const Arguments &arguments,
             const std::vector<Executor> &executors, StepControl *stepControl)
      : RanksMemory(program.manifest), arguments(arguments),
        executors(executors), stepControl(stepControl) {}

  void next() override {
    // Each rank has copied what it takes of the files, and none reads on.
    if (isFirst)
      arguments.checkUnchanged();
    isFirst = false;
    goesOn = stepControl->next(*this, values);
  }
  const Inputs *inputs() override { return goesOn ? &values : nullptr; }

  const void *read(int64_t rank, const HeldBytes &what) const override {
    return executors[rank].at(what);
  }
  Tensor keep(int64_t rank, size_t index) const override {
    return executors[rank].partOf(index);
  }

  const Arguments &arguments;
  const std::vector<Executor> &executors;
  StepControl *stepControl;
  bool isFirst = true, goesOn = true;
  Inputs values;
};

struct ThreadsLauncher final : BackendLauncher {
  const char *name() const override { return "threads"; }
  const char *target() const override { return "cpu"; }
  // Each takes a stack, some memory, and its turn on the cores.
  Most most() const override { return {4096, "in one process"}; }

  RanksResult run(const Program &program, const Arguments &arguments,
                  const RunOptions &options,
                  const TakeResults &take) const override {
    const Manifest &manifest = program.manifest;
    // Until all ranks have ended: they read each other's memory.
    std::vector<Executor> executors(manifest.mesh.size(),
                                    {program, arguments, options.padding});
    ThreadsRun threads(topologyOf(manifest), options.link, options.streams,
                       options.directConvolutions);
    SteppedRun steps(program, arguments, executors, options.stepControl);
    if (!threads.run([&](dist_rank &rank) {
          if (options.stepControl)
            return executors[rank.index].runSteps(rank, steps);
          return executors[rank.index].run(rank, options.repeat,
                                           options.isTraced());
        }))
      throw Error(threads.message());
    RanksResult result;
    for (const Executor &executor : executors)
      result.times.push_back(executor.times());
    result.trace = threads.takeTrace();
    if (!options.stepControl)
      take(steps);
    return result;
  }
};

} // namespace

const BackendLauncher &dist::threadsLauncher() {
  static const ThreadsLauncher launcher;
  return launcher;
}
