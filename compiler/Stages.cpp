//===- Stages.cpp - What a tool is doing, and how long it takes -----------===//

#include "compiler/Stages.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"
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
  end();
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

void Stages::end() {
  scope.stop();
  if (name.empty())
    return;
  auto stage =
      llvm::find_if(times, [&](const auto &one) { return one.first == name; });
  if (stage == times.end())
    stage = times.insert(stage, {name, {}});
  stage->second += Clock::now() - began;
  name.clear();
}

TimingScope &Stages::begin(StringRef stage, StringRef what) {
  end();
  {
    std::lock_guard<std::mutex> lock(mutex);
    watched = what.empty() ? stage.str() : what.str();
  }
  changed.notify_all();
  name = stage.str();
  began = Clock::now();
  scope = root.nest(name);
  return scope;
}

LogicalResult Stages::run(StringRef stage, PassManager &passes, Operation *op,
                          StringRef part) {
  passes.enableTiming(begin(stage));
  if (succeeded(applyPassManagerCLOptions(passes)) && succeeded(passes.run(op)))
    return success();
  failed = (part.empty() ? stage : part).str();
  return failure();
}
