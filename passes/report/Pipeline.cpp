//===- Pipeline.cpp - What the stages of a pipeline hold and send ---------===//

#include "dialects/dist/IR/Pipeline.h"
#include "dist/Tensor.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "passes/cost/Work.h"
#include "passes/report/Columns.h"
#include "passes/report/Report.h"
#include "runtime/pipeline/Table.h"
#include "llvm/Support/Format.h"

#include <map>

using namespace mlir;
using namespace mlir::dist;
namespace host = ::dist;

/// How often an op is done in a step, by the loops around it.
static int64_t countTrips(Operation *op) {
  auto loop = op->getParentOfType<LoopLikeOpInterface>();
  std::optional<APInt> trips = loop ? loop.getStaticTripCount() : std::nullopt;
  return trips ? trips->getSExtValue() : 1;
}

static void addTransfer(TransferOp transfer, PipelineReport &report) {
  int64_t source = transfer.getSource(), target = transfer.getTarget();
  if (report.stages[source].place == report.stages[target].place)
    return;
  bool isInLoop = transfer->getParentOfType<LoopLikeOpInterface>() != nullptr;
  std::string what = !isInLoop ? "end" : source < target ? "forward" : "back";
  auto same = llvm::find_if(report.transfers, [&](const StageTransfer &one) {
    return one.source == source && one.target == target && one.what == what;
  });
  if (same == report.transfers.end())
    same = report.transfers.insert(same, {source, target, what});
  ++same->values;
  same->bytes += getTensorBytes(transfer.getType());
  same->count = countTrips(transfer);
}

/// Adds which tasks of the loop read a transfer's value, and which one makes
/// it.
static void addReads(TransferOp transfer, PipelineReport &report) {
  using host::pipeline::Kind;
  auto getKind = [](TaskOp task) -> std::optional<Kind> {
    switch (task ? task.getKind() : TaskKind::Begin) {
    case TaskKind::Forward:
      return Kind::Forward;
    case TaskKind::Backward:
      return Kind::Backward;
    case TaskKind::Weight:
      return Kind::Weight;
    default:
      return std::nullopt;
    }
  };
  auto from = getKind(transfer.getOperand().getDefiningOp<TaskOp>());
  if (!from)
    return;
  bool isRead[3] = {};
  for (Operation *reader : transfer.getResult().getUsers())
    if (auto to = getKind(reader->getParentOfType<TaskOp>()))
      isRead[static_cast<int>(*to)] = true;
  for (Kind to : {Kind::Forward, Kind::Backward, Kind::Weight})
    if (isRead[static_cast<int>(to)])
      report.reads.push_back({*from, int32_t(transfer.getSource()), to,
                              int32_t(transfer.getTarget())});
}

/// Walks the table with the stages' work as time.
static void addIdle(PipelineReport &report) {
  const host::pipeline::Table &table = report.tasks;
  host::pipeline::Costs costs;
  double busy = 0;
  for (const StageUse &stage : report.stages) {
    costs.forward.push_back(stage.flops[0]);
    costs.backward.push_back(stage.flops[1]);
    costs.weight.push_back(stage.flops[2]);
    busy += stage.flops[0] + stage.flops[1] + stage.flops[2];
  }
  host::pipeline::Simulated simulated =
      host::pipeline::simulate(table, report.reads, costs);
  double all = simulated.seconds * table.ranks();
  report.idleShare = all > 0 ? 1 - report.microbatches * busy / all : 0;
  report.mostAlive = simulated.mostAlive;
}

/// Arguments; what the stages have once a step; what forward keeps of each
/// microbatch that is alive; and the largest task's own.
static void addRankBytes(FunctionOpInterface function, ArrayRef<TaskOp> tasks,
                         PipelineReport &report) {
  report.rankBytes.assign(report.ranks, 0);
  std::vector<int64_t> largest(report.ranks), kept(report.ranks),
      chunks(report.ranks);
  for (unsigned i = 0, end = function.getNumArguments(); i < end; ++i) {
    auto stage = function.getArgAttrOfType<IntegerAttr>(i, kStageAttr);
    int64_t bytes = getTensorBytes(function.getArgumentTypes()[i]);
    for (int64_t place = 0; place < report.ranks; ++place)
      if (!stage || stage.getValue().uge(report.stages.size()) ||
          report.stages[stage.getInt()].place == place)
        report.rankBytes[place] += bytes;
  }
  for (const StageUse &stage : report.stages)
    ++chunks[stage.place];
  for (TaskOp task : tasks) {
    int64_t place = report.stages[task.getStage()].place, bytes = 0;
    for (Type type : task->getResultTypes())
      bytes += getTensorBytes(type);
    if (task.getKind() == TaskKind::Begin)
      report.rankBytes[place] += bytes;
    if (task.getKind() == TaskKind::Forward)
      kept[place] += bytes;
    largest[place] =
        std::max(largest[place], getPeakBytes(task.getBody().front()));
  }
  for (int64_t place = 0; place < report.ranks; ++place)
    report.rankBytes[place] +=
        largest[place] + kept[place] / std::max<int64_t>(chunks[place], 1) *
                             report.mostAlive[place];
}

FailureOr<std::optional<PipelineReport>>
mlir::dist::makePipelineReport(FunctionOpInterface function, MeshOp mesh) {
  std::optional<PipelineNote> note = PipelineNote::get(mesh);
  SmallVector<TaskOp> tasks;
  function->walk([&](TaskOp task) { tasks.push_back(task); });
  if (!note || tasks.empty())
    return std::optional<PipelineReport>();
  PipelineReport report;
  report.table = note->table.getValue().str();
  report.axis = note->axis.getValue().str();
  report.ranks = mesh.getAxisSize(note->axis);
  if (report.ranks < 1)
    return mesh.emitError("has no axis ") << note->axis;
  report.microbatches = 1;
  for (TaskOp task : tasks)
    report.microbatches = std::max(report.microbatches, countTrips(task));
  constexpr int64_t kMost = 1 << 20;
  if (report.microbatches >= kMost)
    return emitError(note->by)
           << "has " << report.microbatches << " microbatches; at most "
           << kMost - 1 << " are";
  bool hasBackward = llvm::any_of(tasks, [](TaskOp task) {
    return task.getKind() == TaskKind::Backward ||
           task.getKind() == TaskKind::Weight;
  });
  host::pipeline::Table &table = report.tasks;
  try {
    table = note->text ? host::pipeline::readTable(note->text.getValue().str(),
                                                   report.table)
                       : host::pipeline::makeTable(report.table, report.ranks,
                                                   report.microbatches,
                                                   note->chunks, hasBackward);
  } catch (const host::Error &error) {
    return emitError(note->by) << error.what();
  }
  if (static_cast<size_t>(table.stages) != note->stages.size())
    return emitError(note->by) << "has " << note->stages.size()
                               << " stages, and its table " << table.stages;
  if (table.ranks() != report.ranks ||
      table.microbatches != report.microbatches)
    return emitError(note->by)
           << "the table of the pipeline is of " << table.ranks()
           << " devices and " << table.microbatches << " microbatches, but "
           << report.ranks << " devices do " << report.microbatches << ": give "
           << (hasBackward ? "--accumulate " : "--microbatches ")
           << table.microbatches
           << ", or another table (dist-report --pipeline-table)";
  for (auto [number, modules] : llvm::enumerate(note->stages)) {
    StageUse &stage = report.stages.emplace_back();
    stage.place = table.rankOf[number];
    for (StringAttr path : modules)
      stage.modules.push_back(path.getValue().str());
  }
  for (unsigned i = 0, end = function.getNumArguments(); i < end; ++i) {
    auto stage = function.getArgAttrOfType<IntegerAttr>(i, kStageAttr);
    if (!stage || stage.getValue().uge(report.stages.size()))
      continue;
    StageUse &use = report.stages[stage.getInt()];
    (function.getArgAttr(i, kStateAttr) ? use.stateBytes
                                        : use.parameterBytes) +=
        getTensorBytes(function.getArgumentTypes()[i]);
  }
  for (TaskOp task : tasks) {
    size_t stage = task.getStage();
    if (stage >= report.stages.size())
      return task.emitOpError()
             << "is of stage " << stage << " of " << report.stages.size();
    int kind =
        static_cast<int>(task.getKind()) - static_cast<int>(TaskKind::Forward);
    if (kind < 0 || kind > 2)
      continue;
    task->walk([&](Operation *op) {
      report.stages[stage].flops[kind] += countFlops(op);
    });
  }
  WalkResult walked = function->walk([&](TransferOp transfer) {
    if (std::max<uint64_t>(transfer.getSource(), transfer.getTarget()) >=
        report.stages.size()) {
      transfer.emitOpError("is between stages of which there are ")
          << report.stages.size();
      return WalkResult::interrupt();
    }
    addTransfer(transfer, report);
    addReads(transfer, report);
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  if (std::string fault =
          host::pipeline::findFault(table, report.reads, hasBackward);
      !fault.empty())
    return emitError(note->by) << "the table cannot be done: " << fault;
  addIdle(report);
  addRankBytes(function, tasks, report);
  return std::optional(std::move(report));
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

void mlir::dist::printTable(const PipelineReport &report,
                            llvm::raw_ostream &stream) {
  stream << "\npipeline " << report.table << " over " << report.axis << ": "
         << report.stages.size() << " stages, " << report.microbatches
         << " microbatches\n";
  Columns columns("rrlrrrrr");
  columns.add({"stage", report.axis, "modules", "parameters", "states",
               "forward", "backward", "weight"});
  for (auto [number, stage] : llvm::enumerate(report.stages)) {
    std::string modules = stage.modules.empty() ? "" : stage.modules.front();
    if (stage.modules.size() > 1)
      modules += " to " + stage.modules.back();
    columns.add({std::to_string(number), std::to_string(stage.place), modules,
                 bytesText(stage.parameterBytes), bytesText(stage.stateBytes),
                 flopsText(stage.flops[0]), flopsText(stage.flops[1]),
                 flopsText(stage.flops[2])});
  }
  columns.print(stream);
  stream << "  forward, backward, weight: contractions of a microbatch\n\n";
  Columns sent("llrrr");
  sent.add({"between stages", "", "values", "sent", "times"});
  for (const StageTransfer &one : report.transfers)
    sent.add({std::to_string(one.source) + " to " + std::to_string(one.target),
              one.what, std::to_string(one.values), bytesText(one.bytes),
              std::to_string(one.count)});
  sent.print(stream);
  stream << "  " << llvm::format("%.1f%%", 100 * report.idleShare)
         << " of the ranks' time for products is idle; at most ";
  llvm::interleaveComma(report.mostAlive, stream);
  stream << (report.stages.size() > size_t(report.ranks)
                 ? " microbatches are alive on the ranks, those of each of "
                   "their stages counted\n  a rank has about "
                 : " microbatches are alive on the ranks\n  a rank has about ");
  llvm::interleaveComma(report.rankBytes, stream,
                        [&](int64_t bytes) { stream << bytesText(bytes); });
  stream << " of tensors at once; collectives, parameters and contractions "
            "above are those of all stages together\n";
}

void mlir::dist::printJson(const PipelineReport &report,
                           llvm::json::OStream &json) {
  json.attributeObject("pipeline", [&] {
    json.attribute("table", report.table);
    json.attribute("axis", llvm::json::fixUTF8(report.axis));
    json.attribute("microbatches", report.microbatches);
    json.attribute("idle_share", report.idleShare);
    json.attributeArray("most_alive", [&] {
      for (int32_t alive : report.mostAlive)
        json.value(alive);
    });
    json.attributeArray("bytes_at_once", [&] {
      for (int64_t bytes : report.rankBytes)
        json.value(bytes);
    });
    json.attributeArray("stages", [&] {
      for (const StageUse &stage : report.stages)
        json.object([&] {
          json.attribute("place", stage.place);
          json.attributeArray("modules", [&] {
            for (const std::string &module : stage.modules)
              json.value(llvm::json::fixUTF8(module));
          });
          json.attribute("parameter_bytes", stage.parameterBytes);
          json.attribute("state_bytes", stage.stateBytes);
          json.attribute("forward_flops", stage.flops[0]);
          json.attribute("backward_flops", stage.flops[1]);
          json.attribute("weight_flops", stage.flops[2]);
        });
    });
    json.attributeArray("transfers", [&] {
      for (const StageTransfer &one : report.transfers)
        json.object([&] {
          json.attribute("source", one.source);
          json.attribute("target", one.target);
          json.attribute("what", one.what);
          json.attribute("values", one.values);
          json.attribute("bytes_sent_per_rank", one.bytes);
          json.attribute("count", one.count);
        });
    });
  });
}
