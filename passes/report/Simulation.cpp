//===- Simulation.cpp - How long a step takes on a machine ----------------===//

#include "passes/report/Simulation.h"
#include "dialects/dist/IR/Program.h"
#include "dialects/dist/IR/Streams.h"
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
          isCommunication,
          isCommunication && getStream(op) != 0,
          event.start,
          event.seconds,
          sent};
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

  StepTimes times(module, machine, *mesh);
  std::vector<StepTimes::Event> events;
  Simulation simulation;
  simulation.machine = machine.name;
  simulation.memoryBytes = machine.memoryBytes;
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
            if (event.isStarted)
              json.attribute("beside_computation", true);
            if (event.bytesSent)
              json.attribute("bytes_sent", event.bytesSent);
          });
        });
    });
  });
  stream << "\n";
}
