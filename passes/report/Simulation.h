//===- Simulation.h - Time of a step on a machine ---------------*- C++ -*-===//
//
// The time of a program at level 3 or 4 on devices that need not exist. All
// ranks run one program. The time of an op depends only on the op, and the time
// of a collective only on its groups. So, by induction over the program, all
// ranks reach each op at the same time, and one rank represents all of them.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_REPORT_SIMULATION_H
#define DIST_PASSES_REPORT_SIMULATION_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/cost/StepTime.h"

#include <string>
#include <vector>

namespace mlir::dist {

/// One op, or one collective, on the rank's time line.
struct SimulatedEvent {
  std::string name, scope;
  /// For a transfer: the axes whose links it takes; else "".
  std::string links;
  bool isCommunication;
  /// For a transfer: whether it runs beside computation.
  bool isStarted;
  double start, seconds;
  int64_t bytesSent;
  /// Flops of products.
  double flops;
};

struct Simulation {
  std::string machine;
  SimulatedTime time;
  /// Seconds of communication, by axes: {"tp", …}.
  std::vector<std::pair<std::string, double>> byAxes;
  /// What the device has.
  int64_t memoryBytes = 0;
  /// Element types for which the machine has no figure.
  std::vector<std::string> unknownTypes;
  /// Whether a loop has an unknown trip count, which counts as 1.
  bool hasUnknownLoop = false;
  /// If asked for: the events of the entry function itself; a loop or a call is
  /// one event.
  std::vector<SimulatedEvent> events;
};

/// Simulates the entry function of `module`, which is at level 3. Emits an
/// error if the mesh has more devices than `machine`.
FailureOr<Simulation> simulate(ModuleOp module, const Machine &machine,
                               bool wantEvents);

/// Writes `events` as a trace (dist/Timeline.h): a track for computation, and
/// one for the links of each group of axes.
void printTimeline(const Simulation &simulation, llvm::raw_ostream &stream);

} // namespace mlir::dist

#endif // DIST_PASSES_REPORT_SIMULATION_H
