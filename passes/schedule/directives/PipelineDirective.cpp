//===- PipelineDirective.cpp - The stages of a pipeline -------------------===//
//
// dist.stages and dist.cut_pipeline_stage: which modules a stage has. It is
// noted on the mesh until level 3, where the program is cut.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Pipeline.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Utils/SourceText.h"
#include "dist/OutputFile.h"
#include "dist/Tensor.h"
#include "passes/schedule/directives/Directives.h"
#include "passes/schedule/directives/ScheduleApplication.h"
#include "runtime/pipeline/Table.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InterleavedRange.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::dist;
// The runtime's namespace, of its host side.
namespace host = ::dist;

/// The schedule's dist.pipeline, which `directive` is of no use without.
static FailureOr<PipelineOp> findPipeline(Operation *directive) {
  auto all = cast<ScheduleOp>(directive->getParentOp()).getOps<PipelineOp>();
  if (all.empty())
    return emitError(directive->getLoc())
           << "stages of what? The schedule has no dist.pipeline, as in "
              "dist.pipeline \"1f1b\" over \"pp\"";
  return *all.begin();
}

/// The user's own table. checkPipeline has read it before.
static host::pipeline::Table readOwnTable(PipelineOp pipeline) {
  return host::pipeline::readTable(pipeline.getText()->str(),
                                   pipeline.getTable().str());
}

/// The sizes of `count` stages that `modules` are dealt out to evenly: the
/// larger ones are in the middle (Colossal-AI, Li et al. 2023).
static SmallVector<int64_t> dealOut(int64_t modules, int64_t count) {
  SmallVector<int64_t> sizes(count, modules / count);
  int64_t rest = modules % count, first = count / 2 - rest / 2;
  for (int64_t i = first; i < first + rest; ++i)
    ++sizes[i];
  return sizes;
}

/// "stage 0 h.0, stage 1 h.1 to h.3".
static std::string describe(const PipelineNote &note) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (note.balance) {
    stream << note.balance << " stages, of "
           << note.stages.front().front().getValue() << " to "
           << note.stages.back().front().getValue();
    return text;
  }
  for (auto [number, modules] : llvm::enumerate(note.stages)) {
    stream << (number ? ", stage " : "stage ") << number << " "
           << modules.front().getValue();
    if (modules.size() > 1)
      stream << " to " << modules.back().getValue();
  }
  return text;
}

/// Notes the stages, whose sizes are given, on the mesh.
static void note(PipelineOp pipeline, ScheduleApplication &application,
                 Operation *directive, ArrayRef<unsigned> modules,
                 ArrayRef<int64_t> sizes, int64_t balance = 0) {
  MLIRContext *context = pipeline.getContext();
  PipelineNote note;
  note.table = pipeline.getTableAttr();
  note.axis = StringAttr::get(
      context, getAxisRefs(pipeline.getAxes()).front().getName());
  note.chunks = pipeline.getFile()
                    ? 1
                    : countChunks(pipeline.getTable(), pipeline.getChunks());
  note.split = pipeline.getSplit() || splitsBackward(pipeline.getTable());
  if (pipeline.getFile()) {
    note.text = pipeline.getTextAttr();
    for (const auto &row : readOwnTable(pipeline).rows)
      for (const host::pipeline::Task &task : row)
        note.split |= task.kind == host::pipeline::Kind::Backward ||
                      task.kind == host::pipeline::Kind::Weight;
  }
  note.balance = balance;
  note.by = pipeline.getLoc();
  for (int64_t size : sizes) {
    auto &stage = note.stages.emplace_back();
    for (unsigned scope : modules.take_front(size))
      stage.push_back(
          StringAttr::get(context, application.getScopes().getPath(scope)));
    modules = modules.drop_front(size);
  }
  application.note(directive, describe(note));
  application.getMesh()->setAttr(kPipelineAttr, note.toAttr(context));
}

static bool isWithin(StringRef inner, StringRef outer) {
  return outer.empty() ||
         (inner.consume_front(outer) && inner.starts_with("."));
}

/// Fails if a module is within another one.
static LogicalResult checkApart(Operation *directive,
                                ScheduleApplication &application,
                                ArrayRef<unsigned> modules) {
  SmallVector<StringRef> paths;
  for (unsigned scope : modules)
    paths.push_back(application.getScopes().getPath(scope));
  llvm::StringMap<bool> all;
  for (StringRef path : paths)
    all[path] = true;
  for (StringRef path : paths)
    for (StringRef outer = path; !outer.empty();) {
      outer = outer.contains('.') ? outer.rsplit('.').first : StringRef();
      if (all.contains(outer))
        return emitError(directive->getLoc())
               << "module \"" << path << "\" is within \"" << outer
               << "\", which matches as well: a stage has either";
    }
  return success();
}

/// How many stages there are, of the axis and the chunks.
static int64_t countStages(PipelineOp pipeline,
                           ScheduleApplication &application) {
  if (pipeline.getFile())
    return readOwnTable(pipeline).stages;
  AxisRefAttr axis = getAxisRefs(pipeline.getAxes()).front();
  return application.getMesh().getAxisSize(axis.getName()) *
         countChunks(pipeline.getTable(), pipeline.getChunks());
}

namespace {
struct StagesDirective
    : ScheduleDirectiveOpInterface::ExternalModel<StagesDirective, StagesOp> {
  std::optional<int64_t> getExpected(Operation *op) const {
    return cast<StagesOp>(op).getExpect();
  }

  FailureOr<unsigned> apply(Operation *op, ScheduleApplication &application,
                            ArrayRef<unsigned> targets) const {
    auto directive = cast<StagesOp>(op);
    FailureOr<PipelineOp> pipeline = findPipeline(op);
    if (failed(pipeline) || targets.empty())
      return failed(pipeline) ? FailureOr<unsigned>(failure())
                              : FailureOr<unsigned>(0u);
    if (application.getMesh()->hasAttr(kPipelineAttr))
      return emitError(op->getLoc())
             << "the stages are known already: a pipeline has one dist.stages, "
                "or lines of dist.cut_pipeline_stage";
    if (failed(checkApart(op, application, targets)))
      return failure();
    int64_t count = countStages(*pipeline, application),
            modules = targets.size();
    if (modules < count)
      return emitError(op->getLoc())
             << "matches " << modules << (modules == 1 ? " module" : " modules")
             << ", and there are " << count
             << " stages, each of which has at least one";
    SmallVector<int64_t> sizes = dealOut(modules, count);
    if (std::optional<ArrayRef<int64_t>> given = directive.getSizes()) {
      int64_t sum = 0;
      for (int64_t size : *given)
        sum += std::min(size, modules + 1);
      if (static_cast<int64_t>(given->size()) != count || sum != modules)
        return emitError(op->getLoc())
               << "sizes [" << llvm::interleaved(*given) << "] are of "
               << given->size() << " stages and "
               << (sum > modules ? "more than " + std::to_string(modules)
                                 : std::to_string(sum))
               << " modules, but there are " << count << " stages and "
               << modules << " modules, as in sizes ["
               << llvm::interleaved(sizes) << "]";
      sizes.assign(given->begin(), given->end());
    }
    // At level 3 it is known how long they take.
    int64_t balance = directive.getBalance() ? count : 0;
    if (balance)
      sizes.assign(modules, 1);
    note(*pipeline, application, op, targets, sizes, balance);
    return targets.size();
  }
};

struct CutDirective
    : ScheduleDirectiveOpInterface::ExternalModel<CutDirective,
                                                  CutPipelineStageOp> {
  std::optional<int64_t> getExpected(Operation *op) const {
    return cast<CutPipelineStageOp>(op).getExpect();
  }

  /// The last of these directives notes what all of them say.
  FailureOr<unsigned> apply(Operation *op, ScheduleApplication &application,
                            ArrayRef<unsigned> targets) const {
    FailureOr<PipelineOp> pipeline = findPipeline(op);
    if (failed(pipeline))
      return failure();
    if (targets.size() > 1)
      return emitError(op->getLoc()) << "matches " << targets.size()
                                     << " modules: a stage begins with one";
    auto all = llvm::to_vector(
        cast<ScheduleOp>(op->getParentOp()).getOps<CutPipelineStageOp>());
    if (op != all.back())
      return targets.size();
    if (application.getMesh()->hasAttr(kPipelineAttr))
      return emitError(op->getLoc())
             << "the stages are known already, of dist.stages";
    return cut(*pipeline, op, all, application, targets.size());
  }

private:
  static StringRef getParent(StringRef path) {
    return path.contains('.') ? path.rsplit('.').first : "";
  }

  /// The modules that are in one of `parents`, in program order. One that
  /// holds others of them is none of its own.
  static SmallVector<unsigned>
  findChildren(const llvm::StringMap<bool> &parents, ScopeIndex &scopes) {
    SmallVector<unsigned> modules;
    for (unsigned scope = 1; scope < scopes.getScopeEnd(); ++scope)
      if (parents.contains(getParent(scopes.getPath(scope))))
        modules.push_back(scope);
    llvm::erase_if(modules, [&](unsigned scope) {
      return llvm::any_of(parents.keys(), [&](StringRef parent) {
        StringRef path = scopes.getPath(scope);
        return parent == path || isWithin(parent, path);
      });
    });
    llvm::DenseMap<unsigned, unsigned> first;
    for (unsigned scope : modules)
      for (Operation *op : scopes.getOps(scope)) {
        unsigned at = scopes.getPosition(op);
        auto [known, isNew] = first.try_emplace(scope, at);
        known->second = std::min(known->second, at);
      }
    llvm::stable_sort(modules, [&](unsigned a, unsigned b) {
      return first.lookup(a) < first.lookup(b);
    });
    return modules;
  }

  static FailureOr<unsigned> cut(PipelineOp pipeline, Operation *last,
                                 ArrayRef<CutPipelineStageOp> all,
                                 ScheduleApplication &application,
                                 unsigned places) {
    ScopeIndex &scopes = application.getScopes();
    llvm::StringMap<bool> parents;
    llvm::DenseMap<unsigned, CutPipelineStageOp> cuts;
    for (CutPipelineStageOp directive : all)
      for (unsigned scope : matchTargets(
               scopes, cast<ScheduleDirectiveOpInterface>(*directive))) {
        if (!cuts.try_emplace(scope, directive).second)
          return emitError(directive.getLoc())
                 << "two stages begin with \"" << scopes.getPath(scope) << "\"";
        parents[getParent(scopes.getPath(scope))] = true;
      }
    SmallVector<unsigned> modules = findChildren(parents, scopes);
    // Where the first stage would be empty it has what is before their parent.
    while (!modules.empty() && cuts.contains(modules.front())) {
      StringRef parent = getParent(scopes.getPath(modules.front()));
      if (parent.empty() ||
          !parents.try_emplace(getParent(parent), true).second)
        break;
      modules = findChildren(parents, scopes);
    }
    SmallVector<int64_t> sizes(1);
    for (unsigned scope : modules) {
      if (cuts.contains(scope)) {
        if (sizes.back() == 0)
          return emitError(cuts[scope].getLoc())
                 << "no module stands before \"" << scopes.getPath(scope)
                 << "\": the stage before it is empty";
        sizes.push_back(0);
      }
      ++sizes.back();
    }
    int64_t count = countStages(pipeline, application);
    if (static_cast<int64_t>(sizes.size()) != count)
      return emitError(last->getLoc())
             << "there are " << count << " stages, and " << sizes.size() - 1
             << (sizes.size() == 2 ? " cut" : " cuts") << ": " << count - 1
             << " are wanted";
    note(pipeline, application, last, modules, sizes);
    return places;
  }
};
} // namespace

void mlir::dist::attachPipelineDirectives(MLIRContext &context) {
  StagesOp::attachInterface<StagesDirective>(context);
  CutPipelineStageOp::attachInterface<CutDirective>(context);
}

/// Reads the table of a file, which is beside the schedule's.
static LogicalResult readFile(PipelineOp pipeline, int64_t ranks) {
  SmallString<128> path(pipeline.getTable());
  if (auto line = pipeline.getLoc()->findInstanceOf<FileLineColLoc>();
      line && llvm::sys::path::is_relative(path)) {
    path = llvm::sys::path::parent_path(line.getFilename().getValue());
    llvm::sys::path::append(path, pipeline.getTable());
  }
  // A device or a pipe may have no end.
  if (llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path))
    return emitError(pipeline.getLoc()) << path << " is no regular file";
  auto text = readText(path);
  if (!text)
    return emitError(pipeline.getLoc())
           << "cannot read the table " << path << ": "
           << llvm::toString(text.takeError());
  host::noteInput(path.str().str());
  try {
    host::pipeline::Table table =
        host::pipeline::readTable((*text)->getBuffer().str(), path.str().str());
    if (table.ranks() != ranks)
      return emitError(pipeline.getLoc())
             << "the table " << path << " has " << table.ranks()
             << (table.ranks() == 1 ? " row" : " rows") << ", and there are "
             << ranks << " devices along the axis";
  } catch (const host::Error &error) {
    return emitError(pipeline.getLoc()) << error.what();
  }
  pipeline.setText((*text)->getBuffer());
  return success();
}

LogicalResult mlir::dist::checkPipeline(ScheduleOp schedule, MeshOp mesh,
                                        bool isApplied) {
  auto all = llvm::to_vector(schedule.getOps<PipelineOp>());
  if (all.empty())
    return success();
  PipelineOp pipeline = all.front();
  if (all.size() > 1)
    return emitError(all[1].getLoc()) << "a schedule has one dist.pipeline";
  if (isApplied && !mesh->hasAttr(kPipelineAttr))
    return emitError(pipeline.getLoc())
           << "which modules do the stages have? Say so as in dist.stages "
              "\"transformer.h.*\"";
  AxisRefAttr axis = getAxisRefs(pipeline.getAxes()).front();
  if (mesh.getAxisSize(axis.getName()) == 0)
    return emitError(pipeline.getLoc())
           << "mesh @" << mesh.getSymName() << " has no axis " << axis;
  if (pipeline.getFile() && !isApplied &&
      failed(readFile(pipeline, mesh.getAxisSize(axis.getName()))))
    return failure();
  for (Operation &op : *schedule.getBody().begin())
    if (!isa<PipelineOp>(op))
      for (AxisRefAttr used : findAxes(&op))
        if (used.getName() == axis.getName())
          return emitError(op.getLoc())
                 << "is over " << used
                 << ", which the stages of the dist.pipeline are on: nothing "
                    "else is sharded over it";
  return success();
}
