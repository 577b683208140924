//===- Simulation.h - How long a step takes on a machine --------*- C++ -*-===//
//
// The time of a program at level 3 or 4 on devices that are not there. All
// ranks run one program, what an op takes depends on the op alone, and what a
// collective takes on its groups alone: then all ranks reach each op at the
// same time, by induction over the program, and one of them stands for all,
// however many there are.
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
  /// Of a transfer: the axes whose links it takes; else "".
  std::string links;
  bool isCommunication;
  /// Of a transfer: whether it goes on beside computation.
  bool isStarted;
  double start, seconds;
  int64_t bytesSent;
  /// Of products.
  double flops;
};

struct Simulation {
  std::string machine;
  SimulatedTime time;
  /// Seconds of communication, by the axes it is over: {"tp", …}.
  std::vector<std::pair<std::string, double>> byAxes;
  /// What the device has.
  int64_t memoryBytes = 0;
  /// Element types for which the machine has no figure.
  std::vector<std::string> unknownTypes;
  /// Whether a loop has a trip count that is not known, and taken as 1.
  bool hasUnknownLoop = false;
  /// Where asked for: what the entry function does itself; loops and calls in
  /// one.
  std::vector<SimulatedEvent> events;
};

/// Simulates the entry function of `module`, which is at level 3. Emits an
/// error where the mesh has more devices than `machine`.
FailureOr<Simulation> simulate(ModuleOp module, const Machine &machine,
                               bool wantEvents);

/// Writes `events` as a trace (dist/Timeline.h): a track for computation, and
/// one for the links of each group of axes.
void printTimeline(const Simulation &simulation, llvm::raw_ostream &stream);

} // namespace mlir::dist

#endif // DIST_PASSES_REPORT_SIMULATION_H
