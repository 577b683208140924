//===- StepTime.h - Time of ops and regions ---------------------*- C++ -*-===//
//
// The time line of a rank at level 3 or 4: one core, and one link along each
// axis of the mesh, which carries one transfer at a time. A collective without
// a stream is synchronous. A collective with a stream runs beside computation
// until the first op that uses its result.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_COST_STEPTIME_H
#define DIST_PASSES_COST_STEPTIME_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/cost/CostModel.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::dist {

/// Seconds by kind of work.
struct SimulatedTime {
  /// Contractions.
  double products = 0;
  /// All other ops that compute or move data.
  double memory = 0;
  /// Starting kernels, library calls, and collectives on streams.
  double starts = 0;
  /// The slowdown of computation by transfers beside it.
  double slowed = 0;
  /// Collectives while nothing is computed beside them.
  double communication = 0;
  /// Of a stage of a pipeline, for other stages.
  double waiting = 0;
  /// Collectives beside computation; not part of the total.
  double hidden = 0;

  double getCompute() const { return products + memory + starts + slowed; }
  double getTotal() const { return getCompute() + communication + waiting; }
  void add(const SimulatedTime &other, double times) {
    products += times * other.products;
    memory += times * other.memory;
    starts += times * other.starts;
    slowed += times * other.slowed;
    communication += times * other.communication;
    waiting += times * other.waiting;
    hidden += times * other.hidden;
  }
};

class StepTimes {
public:
  StepTimes(ModuleOp module, const Machine &machine, MeshOp mesh)
      : symbols(module), model(machine, mesh) {}

  struct Cost {
    SimulatedTime time;
    /// Seconds of communication that nothing hides, by axes.
    llvm::MapVector<Attribute, double> byAxes;

    void add(const Cost &other, double times);
  };
  /// Start and end of an op of a region. For a transfer on a stream: the time
  /// on the links.
  struct Event {
    Operation *op;
    double start, seconds;
  };

  /// The time of one op: loops and calls include the ops in them. For a
  /// collective: on links that nothing else uses.
  Cost getCost(Operation *op);
  /// The time of one run of a region.
  Cost getCost(Region &region, std::vector<Event> *events = nullptr);

  const CostModel &getModel() const { return model; }
  /// What the program needs and the machine has no figure for.
  llvm::SetVector<Type> unknownTypes;
  bool hasUnknownLoop = false;

private:
  Cost getOwnCost(Operation *op);

  SymbolTable symbols;
  CostModel model;
  llvm::DenseMap<Operation *, Cost> functions;
};

/// Whether the op is a collective that sends something.
bool isTransfer(Operation *op);

} // namespace mlir::dist

#endif // DIST_PASSES_COST_STEPTIME_H
