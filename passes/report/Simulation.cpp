//===- Simulation.cpp - How long a step takes on a machine ----------------===//

#include "passes/report/Simulation.h"
#include "dialects/dist/IR/Program.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "passes/cost/CostModel.h"
#include "passes/report/Work.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Times of regions, each worked out once.
class Simulator {
public:
  Simulator(ModuleOp module, const Machine &machine, MeshOp mesh)
      : symbols(module), model(machine, mesh) {}

  /// What one run of a region takes; communication also by axes.
  struct Cost {
    SimulatedTime time;
    llvm::MapVector<Attribute, double> byAxes;

    void add(const Cost &other, double times) {
      time.add(other.time, times);
      for (auto &[axes, seconds] : other.byAxes)
        byAxes[axes] += times * seconds;
    }
  };

  Cost getCost(Region &region, std::vector<SimulatedEvent> *events = nullptr);

  llvm::SetVector<Type> unknownTypes;
  bool hasUnknownLoop = false;

private:
  Cost getCost(Operation *op);
  Cost getOwnCost(Operation *op);

  SymbolTable symbols;
  CostModel model;
  llvm::DenseMap<Operation *, Cost> functions;
};
} // namespace

Simulator::Cost Simulator::getOwnCost(Operation *op) {
  Cost cost;
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (collective && !isa<AllSliceOp>(op)) {
    cost.time.communication = model.getSeconds(collective);
    cost.byAxes[collective.getAxes()] = cost.time.communication;
    return cost;
  }
  Work work = getWork(op);
  if (work.type && !model.knows(work.type))
    unknownTypes.insert(work.type);
  (work.flops > 0 ? cost.time.products : cost.time.memory) =
      model.getComputeSeconds(work.flops, work.type, work.bytes);
  if (work.isKernel)
    cost.time.starts = model.getOpSeconds();
  return cost;
}

Simulator::Cost Simulator::getCost(Operation *op) {
  Cost cost = getOwnCost(op);
  if (auto call = dyn_cast<CallOpInterface>(op)) {
    auto name = dyn_cast<SymbolRefAttr>(call.getCallableForCallee());
    auto callee = dyn_cast_or_null<FunctionOpInterface>(
        name ? symbols.lookup(name.getLeafReference()) : nullptr);
    if (!callee || callee.isExternal())
      return cost;
    auto found = functions.find(callee);
    if (found == functions.end()) {
      // Before the body, so that a function that calls itself ends.
      functions[callee] = Cost();
      Cost body = getCost(callee.getFunctionBody());
      found = functions.insert_or_assign(callee, body).first;
    }
    cost.add(found->second, 1);
    return cost;
  }
  if (isa<linalg::LinalgOp>(op)) // whose body computes scalars
    return cost;
  double times = 1;
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
    std::optional<llvm::APInt> known = loop.getStaticTripCount();
    hasUnknownLoop |= !known;
    times = known ? known->getSExtValue() : 1;
  }
  // Of branches, the longest; regions of a loop all run.
  bool isBranch = isa<scf::IfOp, scf::IndexSwitchOp>(op);
  Cost longest;
  for (Region &region : op->getRegions()) {
    Cost inner = getCost(region);
    if (!isBranch)
      cost.add(inner, times);
    else if (inner.time.getTotal() > longest.time.getTotal())
      longest = inner;
  }
  cost.add(longest, 1);
  return cost;
}

static std::string describeAxes(Attribute axes) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(
      getAxisRefs(cast<ArrayAttr>(axes)), stream, [&](AxisRefAttr axis) {
        stream << axis.getName();
        if (axis.isSubAxis())
          stream << "(" << axis.getPre() << ")" << axis.getSize();
      });
  return text;
}

Simulator::Cost Simulator::getCost(Region &region,
                                   std::vector<SimulatedEvent> *events) {
  Cost sum;
  for (Operation &op : region.getOps()) {
    Cost cost = getCost(&op);
    if (events && cost.time.getTotal() > 0) {
      auto scope = op.getAttrOfType<StringAttr>(kScopeAttr);
      auto collective = dyn_cast<CollectiveOpInterface>(op);
      std::string name = op.getName().stripDialect().str();
      int64_t sent = 0;
      if (collective) {
        name += " " + describeAxes(collective.getAxes());
        MeshOp mesh = lookupMesh(&op, collective.getMeshAttr());
        sent = collective.getBytesSentPerRank(
            getGroupSize(getAxisRefs(collective.getAxes()), mesh.getAxes()));
      }
      events->push_back({name, scope ? scope.str() : "", !!collective,
                         sum.time.getTotal(), cost.time.getTotal(), sent});
    }
    sum.add(cost, 1);
  }
  return sum;
}

FailureOr<Simulation>
mlir::dist::simulate(ModuleOp module, const Machine &machine, bool wantEvents) {
  FailureOr<FunctionOpInterface> entry = findEntryFunction(module);
  FailureOr<MeshOp> mesh = findProgramMesh(module);
  if (failed(entry) || failed(mesh))
    return failure();
  int64_t devices = 1;
  if (*mesh)
    for (MeshAxisAttr axis : mesh->getAxes())
      devices *= axis.getSize();
  if (devices > machine.getDevices())
    return mesh->emitError()
           << "mesh @" << mesh->getSymName() << " has " << devices
           << " devices; machine " << machine.name << " has "
           << machine.getDevices()
           << ": name a larger machine, or take a smaller mesh";

  Simulator simulator(module, machine, *mesh);
  Simulation simulation;
  simulation.machine = machine.name;
  simulation.memoryBytes = machine.memoryBytes;
  Simulator::Cost cost = simulator.getCost(
      entry->getFunctionBody(), wantEvents ? &simulation.events : nullptr);
  simulation.time = cost.time;
  for (auto &[axes, seconds] : cost.byAxes)
    simulation.byAxes.emplace_back(describeAxes(axes), seconds);
  for (Type type : simulator.unknownTypes) {
    std::string name;
    llvm::raw_string_ostream(name) << type;
    simulation.unknownTypes.push_back(name);
  }
  simulation.hasUnknownLoop = simulator.hasUnknownLoop;
  return simulation;
}

void mlir::dist::printTimeline(const Simulation &simulation,
                               llvm::raw_ostream &stream) {
  llvm::json::OStream json(stream);
  auto nameTrack = [&](int64_t track, StringRef name) {
    json.object([&] {
      json.attribute("name", "thread_name");
      json.attribute("ph", "M");
      json.attribute("pid", 0);
      json.attribute("tid", track);
      json.attributeObject("args", [&] { json.attribute("name", name); });
    });
  };
  json.object([&] {
    json.attributeArray("traceEvents", [&] {
      nameTrack(0, "compute");
      nameTrack(1, "link");
      for (const SimulatedEvent &event : simulation.events)
        json.object([&] {
          json.attribute("name", event.name);
          json.attribute("ph", "X");
          json.attribute("pid", 0);
          json.attribute("tid", event.isCommunication ? 1 : 0);
          json.attribute("ts", event.start * 1e6);
          json.attribute("dur", event.seconds * 1e6);
          json.attributeObject("args", [&] {
            // Text of a model may be no UTF-8, which JSON must be.
            json.attribute("scope", llvm::json::fixUTF8(event.scope));
            if (event.bytesSent)
              json.attribute("bytes_sent", event.bytesSent);
          });
        });
    });
  });
  stream << "\n";
}
