//===- Stages.h - What a tool is doing, and how long it takes ---*- C++ -*-===//
//
// Each tool goes through stages: parse, schedule, placement, lowering, … One
// that takes long is named on stderr; -v prints the time of each, --mlir-timing
// that of the passes as well.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_COMPILER_STAGES_H
#define DIST_COMPILER_STAGES_H

#include "mlir/Support/Timing.h"
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace mlir {
class Operation;
class PassManager;
namespace dist {

class Stages {
public:
  /// `verbose`: whether to print the line of times at the end.
  Stages(std::string tool, bool verbose);
  ~Stages();

  /// Begins a stage, which ends the one before. `name` is what its time is
  /// printed under: `parse`; stages of one name are added up. `what` says more
  /// to people who wait. Timers of the stage nest in the scope that is
  /// returned.
  TimingScope &begin(llvm::StringRef name, llvm::StringRef what = "");

  /// Runs passes as a stage, or a part of one, with the options of the command
  /// line.
  llvm::LogicalResult run(llvm::StringRef name, PassManager &passes,
                          Operation *op, llvm::StringRef part = "");

  /// The stage whose passes failed, or its part; or "".
  llvm::StringRef getFailed() const { return failed; }

private:
  using Clock = std::chrono::steady_clock;
  /// Counts time from here on as that of `stage`; "" for nobody's. Timers stay
  /// where they are.
  void enter(llvm::StringRef stage, llvm::StringRef what = "");
  void watch();

  std::string tool;
  bool verbose;
  DefaultTimingManager manager;
  TimingScope root, scope;
  std::string name, failed;
  Clock::time_point began;
  /// In the order in which stages were first begun.
  std::vector<std::pair<std::string, std::chrono::duration<double>>> times;

  /// Names the stage on stderr once it has taken a few seconds.
  std::string watched;
  bool ended = false;
  std::mutex mutex;
  std::condition_variable changed;
  std::thread watcher;
};

/// Registers the options of passes and timing; before the command line is read.
void registerStageOptions();

} // namespace dist
} // namespace mlir

#endif // DIST_COMPILER_STAGES_H
