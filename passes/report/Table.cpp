//===- Table.cpp - The report as a table for people -----------------------===//
//
// Alike collectives of modules whose paths differ in numbers only, as those of
// layers do, share a line. Causes are sentences: they stand below, numbered.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Utils/LayerPaths.h"
#include "passes/report/Columns.h"
#include "passes/report/Report.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

namespace {
/// Collectives that share a line.
struct Line {
  const CollectiveUse *first;
  /// Their cause, with the numbers in paths that they do not share as '*'.
  std::string cause;
  int64_t count = 0;
  LayerPaths paths;
};
} // namespace

/// The cause, or where the op stands if nobody gave one.
static StringRef getCause(const CollectiveUse &use) {
  return use.cause.empty() ? use.location : use.cause;
}

static std::vector<Line> makeLines(const FunctionReport &function, bool all) {
  std::vector<Line> lines;
  llvm::StringMap<size_t> numberOf;
  for (const CollectiveUse &use : function.collectives) {
    std::string path = LayerPaths::getPattern(use.scope);
    std::string cause = LayerPaths::getPattern(getCause(use));
    std::string key;
    llvm::raw_string_ostream stream(key);
    stream << use.op << '\n'
           << use.reduce << '\n'
           << use.dtype << '\n'
           << path << '\n'
           << cause << '\n'
           << use.bytesSentPerRank << '\n'
           << use.packedBytesPerRank / std::max<int64_t>(1, use.count) << '\n'
           << use.inUnknownLoop << '\n'
           << llvm::join(use.axes, ",") << '\n';
    llvm::interleave(use.shape, stream, ",");
    auto [entry, inserted] = numberOf.try_emplace(key, lines.size());
    if (inserted || all) {
      entry->second = lines.size();
      lines.push_back({&use, getCause(use).str(), 0, {}});
    }
    Line &line = lines[entry->second];
    if (line.cause != getCause(use))
      line.cause = cause;
    line.count += use.count;
    line.paths.add(use.scope);
  }
  return lines;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// The strategies for local attentions; equal ones appear once.
static void printAttentions(ArrayRef<AttentionUse> uses,
                            llvm::raw_ostream &stream) {
  Columns columns("llrrrl");
  columns.add({"attention", "axes", "sent", "busiest rank", "times", "module"});
  struct Alike {
    const AttentionUse *first;
    int64_t count = 0;
    LayerPaths paths = {};
  };
  std::vector<Alike> all;
  llvm::StringMap<size_t> numberOf;
  for (const AttentionUse &use : uses) {
    std::string key;
    llvm::raw_string_ostream text(key);
    text << LayerPaths::getPattern(use.scope) << llvm::join(use.axes, ",");
    for (const AttentionWay &way : use.ways)
      text << '\n' << way.name << way.bytesSentPerRank << ' ' << way.flops;
    auto [entry, isNew] = numberOf.try_emplace(key, all.size());
    if (isNew)
      all.push_back({&use});
    Alike &alike = all[entry->second];
    alike.count += use.count;
    alike.paths.add(use.scope);
  }
  for (const Alike &alike : all) {
    for (const AttentionWay &way : alike.first->ways) {
      bool isKnown = way.problem.empty();
      columns.add({(way.isChosen ? "* " : "  ") + way.name,
                   llvm::join(alike.first->axes, ","),
                   isKnown ? bytesText(way.bytesSentPerRank) : "",
                   isKnown ? flopsText(way.flops) : "",
                   std::to_string(alike.count),
                   isKnown ? alike.paths.describe() : way.problem});
    }
  }
  stream << "\n";
  columns.print(stream);
  stream << "  * what the program does\n";
}

/// Values that are kept for backward and those that are recomputed, by module:
/// figures of similar modules are added, unless `all` is set.
static void printBackward(const FunctionReport &function, bool all,
                          llvm::raw_ostream &stream) {
  if (function.backward.empty())
    return;
  struct Group {
    BackwardUse sum = {};
    LayerPaths paths = {};
  };
  std::vector<Group> groups;
  llvm::StringMap<size_t> numberOf;
  BackwardUse total;
  for (const BackwardUse &use : function.backward) {
    auto [entry, inserted] = numberOf.try_emplace(
        all ? use.scope : LayerPaths::getPattern(use.scope), groups.size());
    if (inserted)
      groups.emplace_back();
    Group &group = groups[entry->second];
    group.sum.add(use);
    group.paths.add(use.scope);
    total.add(use);
  }
  Columns columns("lrrrrr");
  columns.add({"for backward", "kept", "spared", "computed again",
               "written again", "sent again"});
  auto add = [&](std::string name, const BackwardUse &use) {
    columns.add({std::move(name), bytesText(use.keptBytes),
                 bytesText(use.sparedBytes), flopsText(use.addedFlops),
                 bytesText(use.addedBytes), bytesText(use.addedBytesSent)});
  };
  for (const Group &group : groups) {
    std::string path = group.paths.describe();
    add(path.empty() ? "outside of modules" : path, group.sum);
  }
  if (groups.size() > 1)
    add("sum", total);
  stream << "\n";
  columns.print(stream);
}

static void printMostNote(llvm::raw_ostream &stream) {
  stream << "  gather_rows, reduce_rows: at most; how many rows indices name "
            "is known when the program runs (dist-run --trace)\n";
}

static void printFunction(const FunctionReport &function, StringRef entry,
                          const LinkTime &time, bool all,
                          llvm::raw_ostream &stream) {
  stream << "\n@" << function.name;
  if (!function.runs)
    stream << " (does not run: @" << entry << " does not call it)";
  stream << "\n";
  bool packs = function.packedBytes > 0;
  CollectiveTotal sum;
  if (function.collectives.empty()) {
    stream << "  no communication\n";
  } else {
    Columns columns(packs ? "lllrrrll" : "lllrrll");
    std::vector<std::string> head{"collective", "axes",  "local tensor",
                                  "sent",       "times", "module",
                                  "cause"};
    if (packs)
      head.insert(head.begin() + 4, "packed");
    columns.add(head);
    llvm::MapVector<StringRef, size_t> causes;
    std::vector<Line> lines = makeLines(function, all);
    for (const Line &line : lines) {
      const CollectiveUse &use = *line.first;
      std::string shape;
      for (int64_t size : use.shape)
        shape += std::to_string(size) + "x";
      size_t cause =
          causes.try_emplace(line.cause, causes.size() + 1).first->second;
      std::vector<std::string> row{
          use.op + (use.reduce.empty() ? "" : " " + use.reduce),
          llvm::join(use.axes, ","),
          shape + use.dtype,
          bytesText(use.bytesSentPerRank),
          std::to_string(line.count) + (use.inUnknownLoop ? "+" : ""),
          line.paths.describe(),
          "(" + std::to_string(cause) + ")"};
      if (packs)
        row.insert(row.begin() + 4, bytesText(use.packedBytesPerRank /
                                              std::max<int64_t>(1, use.count)));
      columns.add(row);
    }
    columns.print(stream);
    stream << "\n";
    for (const auto &[cause, number] : causes)
      stream << "  (" << number << ") " << cause << "\n";
  }

  if (!function.collectives.empty()) {
    llvm::MapVector<StringRef, CollectiveTotal> totals;
    for (const CollectiveUse &use : function.collectives) {
      totals[use.op].add(use, time);
      sum.add(use, time);
    }
    std::vector<std::string> head{"in all", "times", "sent by a rank"};
    if (packs)
      head.push_back("packed by a rank");
    if (time)
      head.push_back("on the link");
    Columns columns("l" + std::string(head.size() - 1, 'r'));
    columns.add(head);
    auto add = [&](StringRef name, const CollectiveTotal &total) {
      std::vector<std::string> row{name.str(), std::to_string(total.count),
                                   bytesText(total.bytesSent)};
      if (packs)
        row.push_back(bytesText(total.packedBytes));
      if (time)
        row.push_back(secondsText(total.seconds));
      columns.add(std::move(row));
    };
    for (const auto &[op, total] : totals)
      add(op, total);
    if (totals.size() > 1)
      add("sum", sum);
    stream << "\n";
    columns.print(stream);
  }
  if (!function.attentions.empty())
    printAttentions(function.attentions, stream);
  if (sum.isMost)
    printMostNote(stream);
  if (sum.inUnknownLoop)
    stream << "  + in a loop of unknown trip count: one iteration is "
              "counted\n";
  printBackward(function, all, stream);
  stream << "\n  a rank holds " << bytesText(function.parameterBytes)
         << " of parameters, ";
  if (function.stateBytes)
    stream << bytesText(function.stateBytes) << " of optimizer states, ";
  if (function.constantBytes)
    stream << bytesText(function.constantBytes) << " of constants, ";
  stream << "at most " << bytesText(function.peakBytes)
         << " of tensors at once, and does " << flopsText(function.flops)
         << " in contractions\n";
}

static void printUnknownType(StringRef machine, StringRef type,
                             llvm::raw_ostream &stream) {
  stream << "  " << machine << " has no figure for products of " << type
         << ": that of its slowest type is taken\n";
}

static std::string percentText(double share) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.1f%%", 100 * share);
  return text;
}

/// Of a schedule that `name` names: "tp.mlir: ".
static void printUndivided(const ProgramReport &report, StringRef name,
                           llvm::raw_ostream &stream) {
  for (const std::string &axis : report.idle.axes)
    stream << "  " << name << "nothing is split over " << axis
           << ": its ranks all do the same\n";
}

static void printDevicesLeftOut(const Simulation &simulation, StringRef name,
                                llvm::raw_ostream &stream) {
  // One link joins any number of devices.
  if (simulation.devices < simulation.machineDevices &&
      simulation.machineDevices < std::numeric_limits<int64_t>::max())
    stream << "  " << name << "the mesh has " << simulation.devices
           << " of the machine's " << simulation.machineDevices
           << " devices\n";
}

static void printSimulation(const ProgramReport &report,
                            llvm::raw_ostream &stream) {
  const Simulation &simulation = *report.simulation;
  const SimulatedTime &time = simulation.time;
  stream << "\nsimulated on " << simulation.machine << ": "
         << secondsText(time.getTotal()) << " a step\n";
  Columns columns("lrr");
  auto add = [&](std::string name, double seconds) {
    std::string share;
    llvm::raw_string_ostream(share) << llvm::format(
        "%.1f%%", time.getTotal() > 0 ? 100 * seconds / time.getTotal() : 0.0);
    columns.add({std::move(name), secondsText(seconds), share});
  };
  add("products", time.products);
  add("memory", time.memory);
  add("starting kernels", time.starts);
  for (const auto &[axes, seconds] : simulation.byAxes)
    add("communication over " + axes, seconds);
  if (time.slowed > 0)
    add("computation slowed beside it", time.slowed);
  if (report.pipeline)
    add("waiting for other stages", time.waiting);
  columns.print(stream);
  if (time.hidden > 0)
    stream << "  " << secondsText(time.hidden)
           << " more of communication, beside computation\n";
  for (const std::string &type : simulation.unknownTypes)
    printUnknownType(simulation.machine, type, stream);
  if (report.idle.share > 0)
    stream << "  " << percentText(report.idle.share)
           << " of the ranks' time for products is idle: they have no part of "
              "it\n";
  printUndivided(report, "", stream);
  if (simulation.hasUnknownLoop)
    stream << "  a loop has an unknown trip count: one iteration is counted\n";
  stream << "  a device has " << bytesText(simulation.memoryBytes)
         << " of memory; a rank " << (report.fits() ? "" : "does not fit: ")
         << "needs " << bytesText(report.getEntry().peakBytes) << "\n";
  printDevicesLeftOut(simulation, "", stream);
}

/// "dp=2, tp=4"
static std::string describeMesh(const ProgramReport &report) {
  std::vector<std::string> axes;
  for (const auto &[name, size] : report.axes)
    axes.push_back(name + "=" + std::to_string(size));
  return llvm::join(axes, ", ");
}

void mlir::dist::printTable(const ProgramReport &report, const LinkTime &time,
                            bool all, llvm::raw_ostream &stream) {
  int64_t ranks = 1;
  for (const auto &axis : report.axes)
    ranks *= axis.second;
  stream << ranks << (ranks == 1 ? " rank" : " ranks");
  if (!report.mesh.empty())
    stream << ", mesh @" << report.mesh << ": " << describeMesh(report);
  stream << "\n";
  for (const FunctionReport &function : report.functions)
    printFunction(function, report.entry, time, all, stream);
  if (report.pipeline)
    printTable(*report.pipeline, stream);
  if (report.simulation)
    printSimulation(report, stream);
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

namespace {
/// A column of numbers, of which the least is best.
struct Figure {
  std::string name;
  std::function<double(const ProgramReport &)> get;
  std::string (*getText)(double);
};
} // namespace

static std::vector<Figure> getFigures(const LinkTime &time, bool isSimulated,
                                      bool hasIdle) {
  auto asSeconds = [](double value) { return secondsText(value); };
  auto asBytes = [](double value) { return bytesText(value); };
  auto asFlops = [](double value) { return flopsText(value); };
  auto asCount = [](double value) { return std::to_string(int64_t(value)); };
  using Report = const ProgramReport &;
  std::vector<Figure> figures;
  if (isSimulated)
    figures.push_back({"a step",
                       [](Report r) { return r.simulation->time.getTotal(); },
                       asSeconds});
  if (time)
    figures.push_back({"on the link",
                       [=](Report r) { return r.getCollectives(time).seconds; },
                       asSeconds});
  llvm::append_range(
      figures,
      std::initializer_list<Figure>{
          {"sent", [](Report r) { return r.getCollectives({}).bytesSent; },
           asBytes},
          {"collectives", [](Report r) { return r.getCollectives({}).count; },
           asCount},
          {"parameters", [](Report r) { return r.getEntry().parameterBytes; },
           asBytes},
          {"tensors at once", [](Report r) { return r.getEntry().peakBytes; },
           asBytes},
          {"contractions", [](Report r) { return r.getFlops(); }, asFlops}});
  // Of the ranks' time for products.
  if (hasIdle)
    figures.push_back(
        {"idle", [](Report r) { return r.idle.share; }, percentText});
  return figures;
}

void mlir::dist::printTable(ArrayRef<ScheduleReport> schedules,
                            const LinkTime &time, llvm::raw_ostream &stream) {
  // What the least figures are looked for in.
  SmallVector<const ProgramReport *> candidates;
  const Simulation *simulation = nullptr;
  llvm::SetVector<StringRef> unknownTypes;
  bool isMost = false, hasUnknownLoop = false, hasIdle = false;
  for (const ScheduleReport &one : schedules) {
    if (!one.report)
      continue;
    if (one.report->simulation) {
      simulation = &*one.report->simulation;
      for (StringRef type : simulation->unknownTypes)
        unknownTypes.insert(type);
    }
    if (!one.report->simulation || one.report->fits())
      candidates.push_back(&*one.report);
    isMost |= one.report->getCollectives(time).isMost;
    hasUnknownLoop |= one.report->hasUnknownLoop();
    hasIdle |= one.report->idle.share > 0;
  }
  std::vector<Figure> figures = getFigures(time, simulation, hasIdle);
  std::vector<std::string> head{"schedule", "mesh"};
  // None where the schedules do not differ.
  std::vector<std::optional<double>> least;
  for (const Figure &figure : figures) {
    head.push_back(figure.name);
    SmallVector<double> values = llvm::map_to_vector(
        candidates, [&](const ProgramReport *one) { return figure.get(*one); });
    least.emplace_back();
    if (!values.empty() && !llvm::all_equal(values))
      least.back() = *llvm::min_element(values);
  }
  if (simulation) {
    head.push_back("memory");
    stream << "simulated on " << simulation->machine
           << ", a device of which has " << bytesText(simulation->memoryBytes)
           << " of memory\n";
  }
  Columns columns("ll" + std::string(figures.size(), 'r') +
                  (simulation ? "l" : ""));
  columns.add(head);
  SmallVector<const ScheduleReport *> idleLeast;
  for (const ScheduleReport &one : schedules) {
    if (!one.report) {
      columns.add({one.schedule,
                   "error: " + StringRef(one.error).split('\n').first.str()});
      continue;
    }
    const ProgramReport &report = *one.report;
    std::vector<std::string> row{one.schedule +
                                     (report.hasUnknownLoop() ? " +" : ""),
                                 describeMesh(report)};
    for (auto [figure, best] : llvm::zip_equal(figures, least)) {
      double value = figure.get(report);
      bool isLeast = value == best && llvm::is_contained(candidates, &report);
      row.push_back((isLeast ? "* " : "") + figure.getText(value));
      if (isLeast && report.idle.share > 0 &&
          !llvm::is_contained(idleLeast, &one))
        idleLeast.push_back(&one);
    }
    if (simulation)
      row.push_back(report.fits() ? "fits" : "does not fit");
    columns.add(std::move(row));
  }
  columns.print(stream);
  if (llvm::any_of(least, [](const auto &best) { return best.has_value(); }))
    stream << "  * the least"
           << (simulation ? " of the schedules that fit the memory" : "")
           << "\n";
  for (const ScheduleReport *one : idleLeast)
    stream << "    " << one->schedule << " has a star, and leaves "
           << percentText(one->report->idle.share)
           << " of the ranks' time for products idle\n";
  if (isMost)
    printMostNote(stream);
  if (hasUnknownLoop)
    stream << "  + a loop has an unknown trip count: one iteration is "
              "counted\n";
  for (const ScheduleReport &one : schedules) {
    if (!one.report)
      continue;
    std::string name = one.schedule + ": ";
    printUndivided(*one.report, name, stream);
    if (one.report->simulation)
      printDevicesLeftOut(*one.report->simulation, name, stream);
  }
  for (StringRef type : unknownTypes)
    printUnknownType(simulation->machine, type, stream);
}
