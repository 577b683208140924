//===- Simulation.cpp - How long a step takes on a machine ----------------===//

#include "passes/report/Simulation.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Pipeline.h"
#include "dialects/dist/Utils/Program.h"
#include "dialects/dist/Utils/Streams.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Support/DebugStringHelper.h"
#include "passes/report/Report.h"
#include "runtime/pipeline/Table.h"
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

namespace host = ::dist;

/// "F3 stage 1", as PyTorch's tables have it.
static std::string nameTask(const host::pipeline::Task &task) {
  constexpr const char *kNames[] = {"F", "B", "W", "BW"};
  return kNames[static_cast<int>(task.kind)] + std::to_string(task.microbatch) +
         " stage " + std::to_string(task.stage);
}

/// Draws the tasks of all ranks. What is before the loop over microbatches
/// takes `before`; each rank's `ends` follow the loop.
static void drawTasks(const host::pipeline::Simulated &simulated,
                      const std::string &axis, double before,
                      ArrayRef<double> begins, ArrayRef<double> ends,
                      std::vector<SimulatedEvent> &events) {
  constexpr const char *kKinds[] = {"forward", "backward", "weight",
                                    "backward"};
  auto add = [&](const std::string &name, const char *kind, int64_t place,
                 double start, double end) {
    if (end > start)
      events.push_back(
          {name, "", "", false, false, start, end - start, 0, 0, kind, place});
  };
  for (auto [place, row] : llvm::enumerate(simulated.rows)) {
    add("begin", "other", place, 0, begins[place]);
    double free = before;
    for (const auto &span : row) {
      add("bubble: " + nameTask(span.task), "waiting", place, free,
          before + span.start);
      free = before + span.end;
      add(nameTask(span.task), kKinds[static_cast<int>(span.task.kind)], place,
          before + span.start, free);
    }
    double all = before + simulated.seconds;
    add("bubble: end", "waiting", place, free, all);
    add("end", "other", place, all, all + ends[place]);
  }
  for (const auto &message : simulated.messages) {
    SimulatedEvent event{nameTask(message.task),
                         "",
                         axis,
                         true,
                         true,
                         before + message.start,
                         message.end - message.start,
                         0,
                         0};
    event.task = "transfer";
    event.place = message.from;
    event.target = message.to;
    event.arrival = before + message.arrival;
    events.push_back(event);
  }
}

/// The ranks of a pipeline by its table, with the times of their tasks.
static StepTimes::Cost simulateTasks(FunctionOpInterface function,
                                     const PipelineReport &pipeline,
                                     StepTimes &times,
                                     std::vector<SimulatedEvent> *events) {
  std::vector<StepTimes::Cost> own(pipeline.ranks);
  std::vector<double> begins(pipeline.ranks), ends(pipeline.ranks);
  size_t stages = pipeline.stages.size();
  host::pipeline::Costs costs;
  costs.forward.resize(stages);
  costs.backward.resize(stages);
  costs.weight.resize(stages);
  function->walk([&](TaskOp task) {
    StepTimes::Cost cost = times.getCost(task.getBody());
    double seconds = cost.time.getTotal();
    int64_t stage = task.getStage(), place = pipeline.stages[stage].place;
    TaskKind kind = task.getKind();
    bool isOnce = kind == TaskKind::Begin || kind == TaskKind::End;
    (kind == TaskKind::Begin      ? begins[place]
     : kind == TaskKind::End      ? ends[place]
     : kind == TaskKind::Forward  ? costs.forward[stage]
     : kind == TaskKind::Backward ? costs.backward[stage]
                                  : costs.weight[stage]) += seconds;
    own[place].add(cost, isOnce ? 1 : pipeline.microbatches);
  });
  // Of all messages the largest one counts.
  double largest = 0;
  for (const StageTransfer &one : pipeline.transfers)
    if (one.what != "end")
      largest = std::max<double>(largest, one.bytes);
  auto axis = AxisRefAttr::get(function->getContext(), pipeline.axis, 1, 0);
  auto getSeconds = [&](double bytes) {
    return times.getModel().getSeconds(CostModel::Traffic::Message, {axis},
                                       bytes);
  };
  costs.latency = largest > 0 ? getSeconds(0) : 0;
  costs.message = largest > 0 ? getSeconds(largest) - costs.latency : 0;
  host::pipeline::Simulated simulated =
      host::pipeline::simulate(pipeline.tasks, pipeline.reads, costs);
  double before = *llvm::max_element(begins),
         seconds = before + *llvm::max_element(ends) + simulated.seconds;
  if (events)
    drawTasks(simulated, pipeline.axis, before, begins, ends, *events);
  StepTimes::Cost most = *llvm::max_element(
      own, [](const StepTimes::Cost &a, const StepTimes::Cost &b) {
        return a.time.getTotal() < b.time.getTotal();
      });
  most.time.waiting = seconds - most.time.getTotal();
  return most;
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
  auto pipeline = makePipelineReport(*entry, *mesh);
  if (failed(pipeline))
    return failure();
  StepTimes::Cost cost;
  if (*pipeline) {
    simulation.pipelineAxis = (*pipeline)->axis;
    simulation.places = (*pipeline)->ranks;
    cost = simulateTasks(*entry, **pipeline, times,
                         wantEvents ? &simulation.events : nullptr);
  } else {
    cost =
        times.getCost(entry->getFunctionBody(), wantEvents ? &events : nullptr);
  }
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
static void printName(llvm::json::OStream &json, StringRef what,
                      int64_t process, int64_t thread, StringRef name) {
  json.object([&] {
    json.attribute("name", what);
    json.attribute("ph", "M");
    json.attribute("pid", process);
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
    json.attribute("cat", !event.task.empty()     ? StringRef(event.task)
                          : event.isCommunication ? "transfer"
                          : event.flops > 0       ? "product"
                                                  : "other");
    json.attribute("ph", "X");
    json.attribute("pid", event.place);
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

/// An arrow from a message's start to where it is read.
static void printArrow(llvm::json::OStream &json, const SimulatedEvent &event,
                       int64_t number, int64_t thread) {
  auto print = [&](StringRef end, int64_t process, int64_t thread, double at) {
    json.object([&] {
      json.attribute("name", event.name);
      json.attribute("cat", event.task);
      json.attribute("ph", end);
      json.attribute("id", number);
      json.attribute("bp", "e");
      json.attribute("pid", process);
      json.attribute("tid", thread);
      json.attribute("ts", at * 1e6);
    });
  };
  print("s", event.place, thread, event.start);
  print("f", *event.target, 0, event.arrival);
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
      for (int64_t place = 0; place < simulation.places; ++place) {
        std::string ranks = simulation.pipelineAxis.empty()
                                ? "each rank"
                                : "each rank of " + simulation.pipelineAxis +
                                      "=" + std::to_string(place);
        printName(json, "process_name", place, 0,
                  llvm::json::fixUTF8(ranks) + ", simulated on " +
                      simulation.machine);
        printName(json, "thread_name", place, 0, "compute");
        for (auto &[axes, number] : links)
          printName(json, "thread_name", place, number,
                    llvm::json::fixUTF8(("link " + axes).str()));
      }
      int64_t arrows = 0;
      for (const SimulatedEvent &event : simulation.events) {
        int64_t thread = event.isCommunication ? links.lookup(event.links) : 0;
        printEvent(json, event, thread);
        if (event.target)
          printArrow(json, event, ++arrows, thread);
      }
    });
  });
  stream << "\n";
}
