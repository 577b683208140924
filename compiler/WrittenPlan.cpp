//===- WrittenPlan.cpp - A plan that does what a schedule does ------------===//
//
// Written, read again, and both programs compared.
//
//===----------------------------------------------------------------------===//

#include "compiler/WrittenPlan.h"
#include "dialects/dist/IR/Pipeline.h"
#include "dialects/dist/IR/Random.h"
#include "passes/report/Report.h"
#include "passes/schedule/files/Include.h"
#include "passes/schedule/files/LocatedJson.h"
#include "passes/schedule/files/Plan.h"
#include "passes/schedule/files/PlanWriter.h"
#include "passes/schedule/files/Schedule.h"
#include "passes/schedule/names/NamePattern.h"
#include "passes/schedule/names/ScopeIndex.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"

#include <map>

using namespace mlir;
using namespace mlir::dist;

/// The plan as locations name it while it is tried.
static constexpr StringLiteral kPlanName = "the plan";

namespace {
/// Prevents the messages of trying a plan from being printed. Keeps the first
/// error and its line in the plan, or 0.
class Refusal : public ScopedDiagnosticHandler {
public:
  explicit Refusal(MLIRContext *context) : ScopedDiagnosticHandler(context) {
    setHandler([this](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
          text.empty()) {
        text = diagnostic.str();
        diagnostic.getLocation()->walk([this](Location location) {
          auto place = dyn_cast<FileLineColLoc>(location);
          if (!place || place.getFilename() != kPlanName)
            return WalkResult::advance();
          line = place.getLine();
          return WalkResult::interrupt();
        });
      }
      return success();
    });
  }

  std::string text;
  unsigned line = 0;
};
} // namespace

/// The model without the schedule that it was distributed by.
static OwningOpRef<ModuleOp> cloneModel(ModuleOp model) {
  OwningOpRef<ModuleOp> copy = model.clone();
  for (ScheduleOp schedule :
       llvm::make_early_inc_range(copy->getOps<ScheduleOp>()))
    schedule.erase();
  for (MeshOp mesh : llvm::make_early_inc_range(copy->getOps<MeshOp>()))
    if (SymbolTable::symbolKnownUseEmpty(mesh, *copy))
      mesh.erase();
  return copy;
}

/// Whether the list or object by axis leaves a reduction pending: "P",
/// "P(max)".
static bool leavesPending(const LocatedJson &placements) {
  return llvm::any_of(placements.items, [](const LocatedJson &item) {
    return item.kind == LocatedJson::String &&
           StringRef(item.text).starts_with("P");
  });
}

/// Behind the list or object that begins at `from`, which holds no other.
static size_t findEnd(StringRef text, size_t from) {
  bool isQuoted = false;
  for (size_t at = from + 1; at < text.size(); ++at) {
    if (text[at] == '\\')
      ++at;
    else if (text[at] == '"')
      isQuoted = !isQuoted;
    else if (!isQuoted && (text[at] == ']' || text[at] == '}'))
      return at + 1;
  }
  return text.size();
}

/// Replaces the placement that leaves a reduction pending in line `line` of the
/// plan by null. Returns the line's key, or nothing if there is no such
/// placement.
static std::optional<std::string> settle(std::string &text, unsigned line,
                                         MLIRContext *context) {
  auto plan = LocatedJson::parse(text, kPlanName, context);
  const LocatedJson *forward = plan ? plan->find("forward") : nullptr;
  if (!forward)
    return std::nullopt;
  size_t start = 0;
  for (unsigned before = 1; before < line && start != std::string::npos;
       ++before)
    start = text.find('\n', start) + 1;
  for (auto [key, lists] : llvm::zip_equal(forward->keys, forward->items)) {
    if (key.line != line)
      continue;
    bool isAny = false;
    for (const LocatedJson &list : llvm::reverse(lists.items))
      if (leavesPending(list)) {
        size_t from = start + list.column - 1;
        text.replace(from, findEnd(text, from) - from, "null");
        isAny = true;
      }
    return isAny ? std::optional(key.text) : std::nullopt;
  }
  return std::nullopt;
}

/// Moves the plan in `text` into the model, as its schedule.
static LogicalResult addPlan(ModuleOp model, StringRef text) {
  FailureOr<PlannedSchedule> planned = readPlan(text, kPlanName, model);
  if (failed(planned))
    return failure();
  planned->schedule->moveBefore(&model.getBody()->front());
  for (MeshOp mesh :
       llvm::make_early_inc_range(planned->holder->getOps<MeshOp>()))
    mesh->moveBefore(&model.getBody()->front());
  return success();
}

namespace {
/// What a rank sends: op, axes, combiner, bytes of one, and how often.
using Traffic =
    std::map<std::tuple<std::string, std::string, std::string, int64_t>,
             int64_t>;
} // namespace

static FailureOr<Traffic> getTraffic(ModuleOp module) {
  FailureOr<ProgramReport> report = makeReport(module);
  if (failed(report))
    return failure();
  Traffic traffic;
  for (const FunctionReport &function : report->functions)
    for (const CollectiveUse &use : function.collectives)
      if (function.runs)
        traffic[{use.op, llvm::join(use.axes, ","), use.reduce,
                 use.bytesSentPerRank}] += use.count;
  return traffic;
}

/// "3 collectives of 512 B"
static std::string describeTraffic(const Traffic &traffic) {
  int64_t count = 0, bytes = 0;
  for (const auto &[what, times] : traffic) {
    count += times;
    bytes += times * std::get<3>(what);
  }
  return std::to_string(count) +
         (count == 1 ? " collective of " : " collectives of ") +
         std::to_string(bytes) + " B";
}

static std::string quote(StringRef name) {
  std::string quoted;
  llvm::raw_string_ostream(quoted) << llvm::json::Value(name);
  return quoted;
}

/// The modules that a directive names.
template <typename Directive>
static SmallVector<unsigned> matchModules(const ScopeIndex &scopes,
                                          Directive directive) {
  auto match = [&](StringRef names) {
    std::string error;
    auto pattern = NamePattern::parse(names, error);
    return pattern ? scopes.match(TargetKind::Module, *pattern)
                   : SmallVector<unsigned>();
  };
  SmallVector<unsigned> modules = match(directive.getTarget());
  if (std::optional<StringRef> names = directive.getExcept()) {
    SmallVector<unsigned> except = match(*names);
    llvm::erase_if(modules, [&](unsigned scope) {
      return llvm::is_contained(except, scope);
    });
  }
  return modules;
}

/// A section of a plan: modules that directives name, and the axes. `getAxes`
/// is null for directives that do not belong to it. Empty if there are no such
/// directives.
template <typename Directive>
static std::string describeModules(ScheduleOp schedule,
                                   const ScopeIndex &scopes, StringRef name,
                                   function_ref<ArrayAttr(Directive)> getAxes) {
  std::string text;
  for (auto directive : schedule.getBody().getOps<Directive>()) {
    ArrayAttr over = getAxes(directive);
    if (!over)
      continue;
    SmallVector<AxisRefAttr> axes = getAxisRefs(over);
    if (llvm::any_of(axes, [](AxisRefAttr axis) { return axis.isSubAxis(); }))
      continue;
    auto names = llvm::map_range(
        axes, [&](AxisRefAttr axis) { return quote(axis.getName()); });
    for (unsigned scope : matchModules(scopes, directive))
      text += (text.empty() ? "" : ",") +
              ("\n    " + quote(llvm::Regex::escape(scopes.getPath(scope)))) +
              ": [" + llvm::join(names, ", ") + "]";
  }
  if (text.empty())
    return text;
  return ",\n  \"" + name.str() + "\": {" + text + "\n  }";
}

/// The modules whose heads, or experts, the schedule shards.
static std::string describeShared(ScheduleOp schedule, const ScopeIndex &scopes,
                                  ShardTarget kind) {
  return describeModules<ShardOp>(
      schedule, scopes, stringifyShardTarget(kind), [&](ShardOp directive) {
        return directive.getKind() == kind ? *directive.getAxes() : ArrayAttr();
      });
}

/// The modules in which keys and values go round, in one of both orders.
static std::string describeRings(ScheduleOp schedule, const ScopeIndex &scopes,
                                 StringRef name, bool isZigzag) {
  return describeModules<RingOp>(schedule, scopes, name, [&](RingOp directive) {
    return directive.getZigzag() == isZigzag ? directive.getAxes()
                                             : ArrayAttr();
  });
}

/// A regular expression of the modules that `targets` match: with numbers left
/// open if that matches no more.
static std::string findKey(ScopeIndex &scopes, ArrayRef<unsigned> targets) {
  SmallVector<std::string> exact, open;
  for (unsigned scope : targets) {
    SmallVector<std::string> components;
    for (StringRef component : llvm::split(scopes.getPath(scope), '.'))
      components.push_back(!component.empty() &&
                                   llvm::all_of(component, llvm::isDigit)
                               ? "\\d+"
                               : llvm::Regex::escape(component));
    std::string key = llvm::join(components, "\\.");
    exact.push_back(llvm::Regex::escape(scopes.getPath(scope)));
    if (!llvm::is_contained(open, key))
      open.push_back(key);
  }
  std::string all = llvm::join(open, "|"), error;
  auto pattern = NamePattern::parse("/" + all + "/", error);
  if (pattern &&
      scopes.match(TargetKind::Module, *pattern).size() == targets.size())
    return all;
  return llvm::join(exact, "|");
}

/// The pipeline's section. A file of a table is found from the plan's folder,
/// which is not known here.
static std::string describePipeline(ScheduleOp schedule, ScopeIndex &scopes,
                                    SmallVectorImpl<std::string> &unsaid) {
  auto all = llvm::to_vector(schedule.getOps<PipelineOp>());
  if (all.empty())
    return "";
  PipelineOp pipeline = all.front();
  if (pipeline.getFile() &&
      !llvm::sys::path::is_absolute(pipeline.getTable())) {
    unsaid.push_back(describeDirective(pipeline) +
                     " has a table that is beside the schedule: give it with "
                     "its whole path");
    return "";
  }
  std::string text =
      ",\n  \"pipeline\": {" + quote(pipeline.getFile() ? "file" : "table") +
      ": " + quote(pipeline.getTable()) +
      ", \"axis\": " + quote(getAxisRefs(pipeline.getAxes()).front().getName());
  if (pipeline.getChunks() != 1)
    text += ", \"chunks\": " + std::to_string(pipeline.getChunks());
  if (pipeline.getSplit())
    text += ", \"split\": true";
  SmallVector<std::string> cuts;
  for (auto cut : schedule.getOps<CutPipelineStageOp>())
    for (unsigned scope : matchModules(scopes, cut))
      cuts.push_back(quote(llvm::Regex::escape(scopes.getPath(scope))));
  if (!cuts.empty())
    text += ",\n    \"cuts\": [" + llvm::join(cuts, ", ") + "]";
  for (auto stages : schedule.getOps<StagesOp>()) {
    text += ",\n    \"stages\": " +
            quote(findKey(scopes, matchModules(scopes, stages)));
    if (std::optional<ArrayRef<int64_t>> sizes = stages.getSizes())
      text += ", \"sizes\": [" +
              llvm::join(llvm::map_range(
                             *sizes,
                             [](int64_t size) { return std::to_string(size); }),
                         ", ") +
              "]";
    if (stages.getBalance())
      text += ", \"balance\": true";
  }
  return text + "}";
}

/// Moves the schedule of `options` into the model. Returns the schedule to
/// apply, with its includes; null if there is no schedule.
static FailureOr<ScheduleOp>
findAppliedSchedule(ModuleOp model, DistDistributeOptions &options) {
  if (!options.schedule.empty()) {
    FailureOr<ScheduleOp> loaded =
        loadSchedule(model, options.schedule, options.scheduleName);
    if (failed(loaded))
      return failure();
    options.schedule.clear();
    options.scheduleName = loaded->getSymName().str();
  }
  if (model.getOps<ScheduleOp>().empty())
    return ScheduleOp();
  FailureOr<ScheduleOp> schedule = findSchedule(model, options.scheduleName);
  if (failed(schedule) || failed(expandIncludes(*schedule)))
    return failure();
  return schedule;
}

/// Distributes a model that is not cut into the stages of its pipeline: the
/// table may be of gradients, which the model has none of.
static LogicalResult
distributeWhole(ModuleOp model, DistDistributeOptions options, Stages &stages) {
  DistDistributeOptions placing = options;
  placing.stopPlaced = true;
  if (failed(distribute(model, placing, stages)))
    return failure();
  for (MeshOp mesh : model.getOps<MeshOp>())
    mesh->removeAttr(kPipelineAttr);
  options.bind = {};
  return distribute(model, options, stages);
}

FailureOr<WrittenPlan> mlir::dist::writePlan(ModuleOp model,
                                             DistDistributeOptions options,
                                             Stages &stages) {
  OwningOpRef<ModuleOp> original = cloneModel(model);
  FailureOr<ScheduleOp> schedule = findAppliedSchedule(model, options);
  if (failed(schedule))
    return failure();
  // What changes ops, which no placement says.
  std::string heads, others;
  SmallVector<std::string> unsaid;
  if (*schedule) {
    for (auto streams : schedule->getOps<RandomStreamsOp>())
      unsaid.push_back(describeDirective(streams) +
                       " has no words in a plan, by which random numbers are "
                       "those of one device");
    ScopeIndex scopes(model);
    heads = describeShared(*schedule, scopes, ShardTarget::Heads);
    others = describeShared(*schedule, scopes, ShardTarget::Experts) +
             describeRings(*schedule, scopes, "ring", /*isZigzag=*/false) +
             describeRings(*schedule, scopes, "ring_zigzag",
                           /*isZigzag=*/true) +
             describeModules<GraphHaloOp>(
                 *schedule, scopes, "graph_halo",
                 [](GraphHaloOp directive) { return directive.getAxes(); }) +
             describePipeline(*schedule, scopes, unsaid);
  }
  PlanWriter writer(model);
  options.stopPlaced = true;
  if (failed(distribute(model, options, stages)))
    return failure();
  DistDistributeOptions rest;
  rest.machine = options.machine;
  rest.link = options.link;
  rest.overlap = "off";
  DistDistributeOptions planned = rest;
  planned.bind = options.bind;
  stages.begin("report", "writing the plan");
  WrittenPlan plan;
  std::string notes;
  llvm::raw_string_ostream textStream(plan.text), notesStream(notes);
  if (failed(writer.write(model, textStream, notesStream)))
    return failure();
  SmallVector<StringRef> lines;
  StringRef(notes).split(lines, '\n', -1, /*KeepEmpty=*/false);
  plan.notes.assign(lines.begin(), lines.end());
  // Where placements say all of the heads, nothing else need.
  if (plan.notes.empty())
    heads.clear();
  llvm::append_range(plan.notes, unsaid);
  plan.text.insert(plan.text.rfind("\n}"), heads + others);
  OwningOpRef<ModuleOp> tried;
  while (true) {
    Refusal refusal(model.getContext());
    tried = original->clone();
    if (succeeded(addPlan(*tried, plan.text)) &&
        succeeded(distributeWhole(*tried, planned, stages)))
      break;
    auto settled = settle(plan.text, refusal.line, model.getContext());
    if (!settled) {
      printError("what was decided makes no plan: line " + Twine(refusal.line) +
                 " of it is refused: " + refusal.text);
      return failure();
    }
    plan.notes.push_back(*settled +
                         " is pending, which does not come about from what a "
                         "plan says; null in the plan");
  }
  if (failed(distributeWhole(model, rest, stages)))
    return failure();
  FailureOr<Traffic> wanted = getTraffic(model), found = getTraffic(*tried);
  if (failed(wanted) || failed(found))
    return failure();
  if (*wanted != *found)
    plan.notes.push_back("by the plan a rank sends " + describeTraffic(*found) +
                         ", by the schedule " + describeTraffic(*wanted) +
                         ": the plan does not say all that was decided");
  return plan;
}
