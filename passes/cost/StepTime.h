//===- StepTime.h - How long ops and regions take ---------------*- C++ -*-===//
//
// The time line of a rank at level 3 or 4: one core, and a link along each axis
// of the mesh that carries one transfer at a time. A collective without a
// stream is done where it stands; one with a stream goes on beside computation
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

/// Seconds of one kind of work.
struct SimulatedTime {
  /// Contractions.
  double products = 0;
  /// Everything else that computes or moves data.
  double memory = 0;
  /// Starting kernels, library calls, and collectives on streams.
  double starts = 0;
  /// What transfers take from computation that runs beside them.
  double slowed = 0;
  /// Collectives, as long as nothing is computed beside them.
  double communication = 0;
  /// Collectives beside computation; no part of the total.
  double hidden = 0;

  double getCompute() const { return products + memory + starts + slowed; }
  double getTotal() const { return getCompute() + communication; }
  void add(const SimulatedTime &other, double times) {
    products += times * other.products;
    memory += times * other.memory;
    starts += times * other.starts;
    slowed += times * other.slowed;
    communication += times * other.communication;
    hidden += times * other.hidden;
  }
};

class StepTimes {
public:
  StepTimes(ModuleOp module, const Machine &machine, MeshOp mesh)
      : symbols(module), model(machine, mesh) {}

  struct Cost {
    SimulatedTime time;
    /// Of the communication that nothing hides, by the axes it is over.
    llvm::MapVector<Attribute, double> byAxes;

    void add(const Cost &other, double times);
  };
  /// An op of a region, from when to when; of a transfer on a stream, the time
  /// on the links.
  struct Event {
    Operation *op;
    double start, seconds;
  };

  /// Of one op: loops and calls with what is in them. Of a collective, on links
  /// that nothing else uses.
  Cost getCost(Operation *op);
  /// Of one run of a region.
  Cost getCost(Region &region, std::vector<Event> *events = nullptr);

  const CostModel &getModel() const { return model; }
  /// What was met, and for which there is no figure.
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
