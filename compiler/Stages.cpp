//===- Stages.cpp - What a tool is doing, and how long it takes -----------===//

#include "compiler/Stages.h"
#include "compiler/Diagnostics.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::dist;

void mlir::dist::registerStageOptions() {
  registerPassManagerCLOptions();
  registerDefaultTimingManagerCLOptions();
}

Stages::Stages(std::string tool, bool verbose)
    : tool(std::move(tool)), verbose(verbose) {
  applyDefaultTimingManagerCLOptions(manager);
  root = manager.getRootScope();
  watcher = std::thread([this] { watch(); });
}

Stages::~Stages() {
  scope.stop();
  enter("");
  {
    std::lock_guard<std::mutex> lock(mutex);
    ended = true;
  }
  changed.notify_all();
  watcher.join();
  if (!verbose)
    return;
  llvm::errs() << tool << ": stages:";
  for (auto [number, stage] : llvm::enumerate(times))
    llvm::errs() << (number ? ", " : " ") << stage.first << " "
                 << llvm::format("%.1f", 1e3 * stage.second.count()) << " ms";
  llvm::errs() << "\n";
}

void Stages::watch() {
  std::unique_lock<std::mutex> lock(mutex);
  while (!ended) {
    std::string current = watched;
    bool moved = changed.wait_for(lock, std::chrono::seconds(3),
                                  [&] { return ended || watched != current; });
    if (moved || current.empty())
      continue;
    llvm::errs() << tool << ": " << current << " ...\n";
    changed.wait(lock, [&] { return ended || watched != current; });
  }
}

void Stages::enter(StringRef stage, StringRef what) {
  if (!name.empty()) {
    auto entry = llvm::find_if(
        times, [&](const auto &one) { return one.first == name; });
    if (entry == times.end())
      entry = times.insert(entry, {name, {}});
    entry->second += Clock::now() - began;
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    watched = what.empty() ? stage.str() : what.str();
  }
  changed.notify_all();
  name = stage.str();
  began = Clock::now();
}

TimingScope &Stages::begin(StringRef stage, StringRef what) {
  scope.stop();
  enter(stage, what);
  scope = root.nest(name);
  return scope;
}

namespace {
/// Enters the stages of passes that other passes run.
struct StageOfPass : PassInstrumentation {
  explicit StageOfPass(function_ref<void(StringRef)> enter) : enter(enter) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    auto stage = llvm::StringSwitch<StringRef>(pass->getArgument())
                     .Case("dist-schedule-program", "schedule")
                     .Case("dist-train-step", "train")
                     .Case("dist-partition-program", "placement")
                     .Case("dist-recompute", "placement")
                     .Cases({"dist-unroll-axis", "dist-join-halos",
                             "dist-lower-halos"},
                            "overlap")
                     .Default("");
    if (!stage.empty())
      enter(stage);
  }

  function_ref<void(StringRef)> enter;
};
} // namespace

LogicalResult Stages::run(StringRef stage, PassManager &passes, Operation *op,
                          StringRef part) {
  passes.enableTiming(begin(stage));
  auto enterStage = [&](StringRef next) {
    if (next != name)
      enter(next);
  };
  passes.addInstrumentation(std::make_unique<StageOfPass>(enterStage));
  AlikeRemarks remarks(op->getContext());
  if (succeeded(applyPassManagerCLOptions(passes)) && succeeded(passes.run(op)))
    return success();
  failed = part.empty() ? name : part.str();
  return failure();
}
