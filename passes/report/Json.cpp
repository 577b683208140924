//===- Json.cpp - The report as the JSON object scripts rely on -----------===//

#include "passes/report/Report.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::dist;

static void printCollective(const CollectiveUse &use, const LinkTime &time,
                            llvm::json::OStream &json) {
  json.object([&] {
    json.attribute("op", use.op);
    json.attributeArray("axes", [&] {
      for (const std::string &axis : use.axes)
        json.value(axis);
    });
    json.attribute("reduce", use.reduce);
    json.attributeArray("shape", [&] {
      for (int64_t size : use.shape)
        json.value(size);
    });
    json.attribute("dtype", use.dtype);
    json.attribute("bytes_sent_per_rank", use.bytesSentPerRank);
    if (use.isMost)
      json.attribute("at_most", true);
    if (time)
      json.attribute("seconds", time(use.bytesSentPerRank));
    json.attribute("count", use.count);
    // Each time, as what is sent.
    json.attribute("packed_bytes_per_rank",
                   use.packedBytesPerRank / std::max<int64_t>(1, use.count));
    // Text of a model may be no UTF-8, which JSON must be.
    json.attribute("scope", llvm::json::fixUTF8(use.scope));
    json.attribute("cause", llvm::json::fixUTF8(use.cause));
    json.attribute("location", llvm::json::fixUTF8(use.location));
  });
}

static void printAttention(const AttentionUse &use, llvm::json::OStream &json) {
  json.object([&] {
    json.attribute("scope", llvm::json::fixUTF8(use.scope));
    json.attributeArray("axes", [&] {
      for (const std::string &axis : use.axes)
        json.value(axis);
    });
    json.attribute("count", use.count);
    json.attributeArray("strategies", [&] {
      for (const AttentionWay &way : use.ways)
        json.object([&] {
          json.attribute("name", way.name);
          json.attribute("chosen", way.isChosen);
          if (!way.problem.empty()) {
            json.attribute("problem", way.problem);
            return;
          }
          json.attribute("bytes_sent_per_rank", way.bytesSentPerRank);
          json.attribute("flops_of_busiest_rank", way.flops);
        });
    });
  });
}

static void printBackward(const BackwardUse &use, llvm::json::OStream &json) {
  json.object([&] {
    json.attribute("scope", llvm::json::fixUTF8(use.scope));
    json.attribute("kept_bytes", use.keptBytes);
    json.attribute("spared_bytes", use.sparedBytes);
    json.attribute("added_flops", use.addedFlops);
    json.attribute("added_bytes", use.addedBytes);
    json.attribute("added_bytes_sent", use.addedBytesSent);
  });
}

static void printMemory(const FunctionReport &function,
                        llvm::json::OStream &json) {
  json.attribute("parameter_bytes_per_rank", function.parameterBytes);
  json.attribute("state_bytes_per_rank", function.stateBytes);
  json.attribute("constant_bytes_per_rank", function.constantBytes);
  json.attribute("peak_bytes_per_rank", function.peakBytes);
}

static void printTotal(const CollectiveTotal &total, const LinkTime &time,
                       llvm::json::OStream &json) {
  json.attribute("count", total.count);
  json.attribute("bytes_sent_per_rank", total.bytesSent);
  if (time)
    json.attribute("seconds", total.seconds);
  json.attribute("packed_bytes_per_rank", total.packedBytes);
}

static void printFunction(const FunctionReport &function, const LinkTime &time,
                          llvm::json::OStream &json) {
  llvm::MapVector<StringRef, CollectiveTotal> totals;
  for (const CollectiveUse &use : function.collectives)
    totals[use.op].add(use, time);
  json.object([&] {
    json.attribute("name", function.name);
    json.attribute("runs", function.runs);
    json.attributeArray("collectives", [&] {
      for (const CollectiveUse &use : function.collectives)
        printCollective(use, time, json);
    });
    json.attributeObject("totals", [&] {
      for (auto &[op, total] : totals)
        json.attributeObject(
            op, [&, total = total] { printTotal(total, time, json); });
    });
    json.attribute("packed_bytes_per_rank", function.packedBytes);
    printMemory(function, json);
    json.attribute("flops_per_rank", function.flops);
    if (!function.attentions.empty())
      json.attributeArray("attentions", [&] {
        for (const AttentionUse &use : function.attentions)
          printAttention(use, json);
      });
    if (function.backward.empty())
      return;
    json.attributeArray("backward", [&] {
      for (const BackwardUse &use : function.backward)
        printBackward(use, json);
    });
  });
}

static void printSimulation(const Simulation &simulation,
                            llvm::json::OStream &json) {
  const SimulatedTime &time = simulation.time;
  json.attributeObject("simulation", [&] {
    json.attribute("machine", simulation.machine);
    json.attribute("seconds", time.getTotal());
    json.attribute("compute_seconds", time.getCompute());
    json.attribute("product_seconds", time.products);
    json.attribute("memory_seconds", time.memory);
    json.attribute("start_seconds", time.starts);
    json.attribute("slowed_seconds", time.slowed);
    json.attribute("waiting_seconds", time.waiting);
    json.attribute("communication_seconds", time.communication);
    json.attribute("hidden_communication_seconds", time.hidden);
    json.attributeObject("communication_seconds_by_axes", [&] {
      for (const auto &[axes, seconds] : simulation.byAxes)
        json.attribute(axes, seconds);
    });
    json.attribute("device_memory_bytes", simulation.memoryBytes);
    json.attribute("machine_devices", simulation.machineDevices);
    json.attribute("idle_share", simulation.idleShare);
    json.attribute("has_unknown_loop", simulation.hasUnknownLoop);
    json.attributeArray("unknown_types", [&] {
      for (const std::string &type : simulation.unknownTypes)
        json.value(type);
    });
  });
}

static void printIdle(const IdleDevices &idle, llvm::json::OStream &json) {
  json.attributeObject("idle", [&] {
    json.attribute("share", idle.share);
    json.attributeArray("axes", [&] {
      for (const std::string &axis : idle.axes)
        json.value(llvm::json::fixUTF8(axis));
    });
    json.attributeArray("places", [&] {
      for (const IdlePlace &place : idle.places)
        json.object([&] {
          json.attribute("axes", llvm::json::fixUTF8(place.axes));
          json.attribute("ranks", place.devices);
          json.attribute("idle_ranks", place.idle);
          json.attribute("size", place.size);
          json.attribute("modules", place.modules);
          json.attribute("first", llvm::json::fixUTF8(place.first));
        });
    });
  });
}

static void printMesh(const ProgramReport &report, llvm::json::OStream &json) {
  json.attributeObject("mesh", [&] {
    json.attributeObject("axes", [&] {
      for (const auto &axis : report.axes)
        json.attribute(axis.first, axis.second);
    });
  });
}

void mlir::dist::printJson(const ProgramReport &report, const LinkTime &time,
                           llvm::raw_ostream &stream) {
  llvm::json::OStream json(stream);
  json.object([&] {
    printMesh(report, json);
    json.attributeArray("functions", [&] {
      for (const FunctionReport &function : report.functions)
        printFunction(function, time, json);
    });
    printIdle(report.idle, json);
    if (report.pipeline)
      printJson(*report.pipeline, json);
    if (report.simulation)
      printSimulation(*report.simulation, json);
  });
  stream << "\n";
}

static void printSchedule(const ProgramReport &report, const LinkTime &time,
                          llvm::json::OStream &json) {
  CollectiveTotal total = report.getCollectives(time);
  printMesh(report, json);
  json.attributeObject("total", [&] { printTotal(total, time, json); });
  if (total.isMost)
    json.attribute("at_most", true);
  printMemory(report.getEntry(), json);
  json.attribute("flops_per_rank", report.getFlops());
  json.attribute("has_unknown_loop", report.hasUnknownLoop());
  printIdle(report.idle, json);
  if (!report.simulation)
    return;
  printSimulation(*report.simulation, json);
  json.attribute("fits", report.fits());
}

void mlir::dist::printJson(ArrayRef<ScheduleReport> schedules,
                           const LinkTime &time, llvm::raw_ostream &stream) {
  llvm::json::OStream json(stream);
  json.object([&] {
    json.attributeArray("schedules", [&] {
      for (const ScheduleReport &one : schedules)
        json.object([&] {
          json.attribute("schedule", llvm::json::fixUTF8(one.schedule));
          if (one.report)
            printSchedule(*one.report, time, json);
          else
            json.attribute("error", llvm::json::fixUTF8(one.error));
        });
    });
  });
  stream << "\n";
}
