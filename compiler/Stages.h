//===- Stages.h - A tool's stages and their times ---------------*- C++ -*-===//
//
// Each tool goes through stages: parse, schedule, placement, lowering, … A
// stage that takes long is named on stderr. -v prints their times;
// --mlir-timing also prints those of the passes.
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

  /// Begins a stage, and ends the one before. `name` is what its time is
  /// printed under: `parse`; stages of one name are added up. `what` is a
  /// longer description for people who wait. Timers of the stage nest in the
  /// returned scope.
  TimingScope &begin(llvm::StringRef name, llvm::StringRef what = "");

  /// Runs passes as a stage, or a part of one, with the options of the command
  /// line.
  llvm::LogicalResult run(llvm::StringRef name, PassManager &passes,
                          Operation *op, llvm::StringRef part = "");

  /// The stage, or its part, whose passes failed; or "".
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
  /// In the order of their first begin.
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
