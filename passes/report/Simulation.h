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

#include <optional>
#include <string>
#include <vector>

namespace mlir::dist {

/// One op, or one collective, on the rank's time line; of a pipeline, a task, a
/// message, or how long a rank waits.
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
  /// Of a pipeline: what it is ("forward", "backward", "weight", "waiting",
  /// "other"), and of which coordinate of its axis.
  std::string task = "";
  int64_t place = 0;
  /// Of a message: to which coordinate, and when it is there.
  std::optional<int64_t> target = std::nullopt;
  double arrival = 0;
};

struct Simulation {
  std::string machine;
  SimulatedTime time;
  /// Seconds of communication, by axes: {"tp", …}.
  std::vector<std::pair<std::string, double>> byAxes;
  /// What the device has.
  int64_t memoryBytes = 0;
  /// Of the machine, and of the program's mesh.
  int64_t machineDevices = 1, devices = 1;
  /// How much of the devices' time for products they wait without work.
  double idleShare = 0;
  /// Element types for which the machine has no figure.
  std::vector<std::string> unknownTypes;
  /// Whether a loop has an unknown trip count, which counts as 1.
  bool hasUnknownLoop = false;
  /// If asked for: the events of the entry function itself; a loop or a call is
  /// one event.
  std::vector<SimulatedEvent> events;
  /// Of a pipeline: its axis, and how many coordinates that has.
  std::string pipelineAxis;
  int64_t places = 1;
};

/// Simulates the entry function of `module`, which is at level 3. Of a pipeline
/// the time is that of the rank with most to do, which waits for the others.
/// Emits an error if the mesh has more devices than `machine`.
FailureOr<Simulation> simulate(ModuleOp module, const Machine &machine,
                               bool wantEvents);

/// Writes `events` as a trace (dist/Timeline.h): a track for computation, and
/// one for the links of each group of axes. Of a pipeline there is a process
/// for each coordinate of its axis.
void printTimeline(const Simulation &simulation, llvm::raw_ostream &stream);

} // namespace mlir::dist

#endif // DIST_PASSES_REPORT_SIMULATION_H
