//===- Simulation.cpp - How long a step takes on a machine ----------------===//

#include "passes/report/Simulation.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/Utils/Program.h"
#include "dialects/dist/Utils/Streams.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Support/DebugStringHelper.h"
#include "passes/report/Report.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::dist;

static std::string describeAxes(Attribute axes) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(
      getAxisRefs(cast<ArrayAttr>(axes)), stream,
      [&](AxisRefAttr axis) { stream << describeAxis(axis); });
  return text;
}

static SimulatedEvent describe(const StepTimes::Event &event) {
  Operation *op = event.op;
  auto scope = op->getAttrOfType<StringAttr>(kScopeAttr);
  std::string name = op->getName().stripDialect().str();
  int64_t sent = 0;
  if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    name += " " + describeAxes(collective.getAxes());
    MeshOp mesh = lookupMesh(op, collective.getMeshAttr());
    sent = collective.getBytesSentPerRank(
        getGroupSize(getAxisRefs(collective.getAxes()), mesh.getAxes()));
  }
  bool isCommunication = isTransfer(op);
  return {name,
          scope ? scope.str() : "",
          isCommunication ? describeAxes(getCommAxes(op)) : "",
          isCommunication,
          isCommunication && getStream(op) != 0,
          event.start,
          event.seconds,
          sent,
          double(countFlops(op))};
}

FailureOr<Simulation>
mlir::dist::simulate(ModuleOp module, const Machine &machine, bool wantEvents) {
  FailureOr<FunctionOpInterface> entry = findEntryFunction(module);
  FailureOr<MeshOp> mesh = findProgramMesh(module);
  if (failed(entry) || failed(mesh))
    return failure();
  if (*mesh && failed(checkDevices(machine, *mesh)))
    return failure();

  StepTimes times(module, machine, *mesh);
  std::vector<StepTimes::Event> events;
  Simulation simulation;
  simulation.machine = machine.name;
  simulation.memoryBytes = machine.memoryBytes;
  simulation.machineDevices = machine.getDevices();
  if (*mesh)
    for (MeshAxisAttr axis : mesh->getAxes())
      simulation.devices *= axis.getSize();
  simulation.idleShare = getIdleDevices(*mesh).share;
  StepTimes::Cost cost =
      times.getCost(entry->getFunctionBody(), wantEvents ? &events : nullptr);
  simulation.time = cost.time;
  for (const StepTimes::Event &event : events)
    simulation.events.push_back(describe(event));
  for (auto &[axes, seconds] : cost.byAxes)
    simulation.byAxes.emplace_back(describeAxes(axes), seconds);
  for (Type type : times.unknownTypes)
    simulation.unknownTypes.push_back(debugString(type));
  simulation.hasUnknownLoop = times.hasUnknownLoop;
  return simulation;
}

/// The name of a process or a thread of a trace.
static void printName(llvm::json::OStream &json, StringRef what, int64_t thread,
                      StringRef name) {
  json.object([&] {
    json.attribute("name", what);
    json.attribute("ph", "M");
    json.attribute("pid", 0);
    json.attribute("tid", thread);
    json.attributeObject("args", [&] { json.attribute("name", name); });
  });
}

static void printEvent(llvm::json::OStream &json, const SimulatedEvent &event,
                       int64_t thread) {
  // Text of a model may be no UTF-8, which JSON must be.
  std::string scope = llvm::json::fixUTF8(event.scope);
  bool isNamed = !event.isCommunication && !scope.empty();
  json.object([&] {
    json.attribute("name", isNamed ? event.name + " " + scope : event.name);
    json.attribute("cat", event.isCommunication ? "transfer"
                          : event.flops > 0     ? "product"
                                                : "other");
    json.attribute("ph", "X");
    json.attribute("pid", 0);
    json.attribute("tid", thread);
    json.attribute("ts", event.start * 1e6);
    json.attribute("dur", event.seconds * 1e6);
    json.attributeObject("args", [&] {
      json.attribute("scope", scope);
      if (event.isStarted)
        json.attribute("beside_computation", true);
      if (event.bytesSent)
        json.attribute("bytes_sent", event.bytesSent);
      if (event.flops > 0)
        json.attribute("GFLOP/s", event.flops / event.seconds * 1e-9);
    });
  });
}

void mlir::dist::printTimeline(const Simulation &simulation,
                               llvm::raw_ostream &stream) {
  // Computation has number 0.
  llvm::MapVector<StringRef, int64_t> links;
  for (const SimulatedEvent &event : simulation.events)
    if (event.isCommunication)
      links.insert({event.links, links.size() + 1});
  llvm::json::OStream json(stream);
  json.object([&] {
    json.attributeArray("traceEvents", [&] {
      printName(json, "process_name", 0,
                "each rank, simulated on " + simulation.machine);
      printName(json, "thread_name", 0, "compute");
      for (auto &[axes, number] : links)
        printName(json, "thread_name", number, ("link " + axes).str());
      for (const SimulatedEvent &event : simulation.events)
        printEvent(json, event,
                   event.isCommunication ? links.lookup(event.links) : 0);
    });
  });
  stream << "\n";
}
