//===- StagePlaces.cpp - The task of each op of a microbatch --------------===//

#include "passes/pipeline/StagePlaces.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Overlap.h"
#include "dialects/dist/Utils/Reads.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::dist;

bool mlir::dist::isLight(Operation *op) {
  if (isa<tensor::EmptyOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
          tensor::CastOp, OptimizationBarrierOp, FenceOp>(op) ||
      op->hasTrait<OpTrait::ConstantLike>())
    return true;
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return fill.getOutputs()[0].getDefiningOp<tensor::EmptyOp>() != nullptr;
  return op->getNumResults() > 0 &&
         llvm::none_of(op->getResultTypes(), llvm::IsaPred<TensorType>);
}

void mlir::dist::visitValues(Operation *op, function_ref<void(Value)> visit) {
  auto barrier = dyn_cast<OptimizationBarrierOp>(op);
  visitReads(op, [&](OpOperand &read) {
    if (!barrier || read.get() == barrier.getOperand())
      visit(read.get());
  });
}

void mlir::dist::visitBehindLight(Operation *op,
                                  function_ref<bool(Operation *)> isInside,
                                  function_ref<void(Value)> visit) {
  SmallVector<Operation *> todo{op};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!todo.empty())
    visitValues(todo.pop_back_val(), [&](Value value) {
      Operation *def = value.getDefiningOp();
      if (!def || !isLight(def) || !isInside(def))
        visit(value);
      else if (seen.insert(def).second)
        todo.push_back(def);
    });
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

OuterReads::OuterReads(func::FuncOp function, scf::ForOp loop) {
  for (BlockArgument argument : function.getArguments())
    if (unsigned number = argument.getArgNumber();
        function.getArgAttr(number, kParameterAttr))
      parameters[argument] = {number};
  for (Operation &op : function.getBody().front()) {
    if (&op == loop)
      break;
    llvm::SmallSetVector<unsigned, 2> read;
    visitReads(&op, [&](OpOperand &operand) {
      read.insert_range(getParameters(operand.get()));
    });
    SmallVector<unsigned, 1> sorted(read.begin(), read.end());
    llvm::sort(sorted);
    for (Value result : op.getResults())
      if (!sorted.empty())
        parameters[result] = sorted;
  }
}

StagePlaces::StagePlaces(scf::ForOp loop, const OuterReads &outer,
                         const PipelineNote &note)
    : block(*loop.getBody()), loop(loop), outer(outer), note(note) {
  for (auto [stage, modules] : llvm::enumerate(note.stages))
    for (StringAttr path : modules)
      stageOfModule[path.getValue()] = stage;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
}

/// The stage of the listed modules whose ops are in an op, as in a loop over
/// layers. Fails after an error if there are several.
FailureOr<std::optional<int64_t>> StagePlaces::findInside(Operation *op) {
  std::optional<int64_t> found = findListed(op);
  if (op->getNumRegions() == 0 || isa<linalg::LinalgOp>(op))
    return found;
  WalkResult walked = op->walk([&](Operation *inner) {
    std::optional<int64_t> stage = findListed(inner);
    if (stage && found && *stage != *found)
      return WalkResult::interrupt();
    if (stage)
      found = stage;
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return op->emitError("holds modules of several stages of the pipeline: a "
                         "stage cannot begin within it");
  return found;
}

/// The stage of the listed module that an op is of.
std::optional<int64_t> StagePlaces::findListed(Operation *op) {
  auto scope = op->getAttrOfType<StringAttr>(kScopeAttr);
  if (!scope)
    return std::nullopt;
  auto [known, isNew] = listed.try_emplace(scope);
  if (!isNew)
    return known->second;
  for (StringRef path = scope.getValue();; path = path.rsplit('.').first) {
    if (auto found = stageOfModule.find(path); found != stageOfModule.end())
      known->second = found->second;
    if (known->second || !path.contains('.'))
      return known->second;
  }
}

bool StagePlaces::isCarried(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner() == &block &&
         argument.getArgNumber() > 0;
}

Source StagePlaces::getSource(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && op->getBlock() == &block)
    return sources.lookup(op);
  if (value == loop.getInductionVar())
    return Source::Free;
  if (isCarried(value))
    return Source::Parameters; // a stage's own
  return outer.getParameters(value).empty() ? Source::Free : Source::Parameters;
}

Source StagePlaces::classify(Operation *op) {
  auto barrier = dyn_cast<OptimizationBarrierOp>(op);
  bool isFree = true, isAgain = false, readsForward = false;
  bool readsBackward = false, readsCarried = false;
  visitValues(op, [&](Value value) {
    Source source = getSource(value);
    readsCarried |= isCarried(value);
    isFree &= source == Source::Free;
    isAgain |= source == Source::Again;
    readsForward |= source == Source::Forward;
    readsBackward |= source == Source::Backward;
  });
  if (readsBackward)
    return Source::Backward;
  if (isFree)
    return Source::Free;
  if (barrier)
    return readsForward || isAgain ? Source::Again : Source::Parameters;
  if (op->hasAttr(kRecomputedAttr))
    return Source::Again;
  if (op->hasAttr(kBackwardAttr))
    return readsForward || isAgain ? Source::Backward : Source::Again;
  if (isAgain) // what is added to a carried sum is a gradient
    return readsCarried ? Source::Backward : Source::Again;
  return Source::Forward;
}

/// Visits what an op of the body reads, behind light ones.
void StagePlaces::visitRoots(Operation *op, function_ref<void(Value)> visit) {
  visitBehindLight(
      op, [&](Operation *def) { return def->getBlock() == &block; }, visit);
}

/// The ops of the body that read an op.
SmallVector<Operation *> StagePlaces::getReaders(Operation *op) const {
  SmallVector<Operation *> readers;
  for (OpOperand &use : op->getUses()) {
    Operation *reader = use.getOwner();
    auto barrier = dyn_cast<OptimizationBarrierOp>(reader);
    if (!barrier || use.get() == barrier.getOperand())
      readers.push_back(block.findAncestorOpInBlock(*reader));
  }
  return readers;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

static std::string describe(Operation *op) {
  std::string text = op->getName().getStringRef().str();
  if (auto scope = op->getAttrOfType<StringAttr>(kScopeAttr))
    text += " of \"" + scope.getValue().str() + "\"";
  return text;
}

LogicalResult StagePlaces::placeForward() {
  SmallVector<Operation *> late; // without an operand that has a stage
  for (Operation *op : ops) {
    Source source = sources[op] = classify(op);
    if (source != Source::Forward)
      continue;
    std::optional<int64_t> latest;
    Operation *from = nullptr;
    visitReads(op, [&](OpOperand &read) {
      auto found = stages.find(read.get().getDefiningOp());
      if (found != stages.end() && (!latest || found->second > *latest)) {
        latest = found->second;
        from = found->first;
      }
    });
    FailureOr<std::optional<int64_t>> listedIn =
        isLight(op) ? FailureOr<std::optional<int64_t>>(std::nullopt)
                    : findInside(op);
    if (failed(listedIn))
      return failure();
    std::optional<int64_t> own = *listedIn;
    if (own && latest && *latest > *own)
      return op->emitError("is in stage ")
             << *own << " of the pipeline, as " << describe(op)
             << " is, but reads what " << describe(from)
             << " computes, in the later stage " << *latest
             << "; other dist.stages keep the two together";
    if (own || latest)
      stages[op] = own ? *own : *latest;
    else
      late.push_back(op);
  }
  for (Operation *op : llvm::reverse(late)) {
    int64_t first = getNumStages();
    for (Operation *reader : getReaders(op))
      if (auto found = stages.find(reader); found != stages.end())
        first = std::min(first, found->second);
    stages[op] = first < getNumStages() ? first : 0;
  }
  return success();
}

LogicalResult StagePlaces::placeBackward() {
  // By scope, the stage of forward; -1 if there are several.
  llvm::DenseMap<Attribute, int64_t> ofScope;
  for (Operation *op : ops)
    if (sources[op] == Source::Forward && !isLight(op))
      if (Attribute scope = op->getAttr(kScopeAttr)) {
        auto [known, isNew] = ofScope.try_emplace(scope, stages[op]);
        if (!isNew && known->second != stages[op])
          known->second = -1;
      }
  // Of what is computed again, the last stage of forward that it is made of.
  llvm::DenseMap<Operation *, int64_t> again;
  for (Operation *op : ops) {
    if (sources[op] != Source::Backward && sources[op] != Source::Again)
      continue;
    int64_t end = getNumStages(), earliest = end, forward = -1;
    Operation *from = nullptr;
    visitReads(op, [&](OpOperand &read) {
      Operation *def = read.get().getDefiningOp();
      if (auto made = again.find(def); made != again.end())
        forward = std::max(forward, made->second);
      auto found = stages.find(def);
      if (found == stages.end())
        return;
      if (sources[def] == Source::Forward) {
        forward = std::max(forward, found->second);
        return;
      }
      if (found->second < earliest)
        from = def;
      earliest = std::min(earliest, found->second);
    });
    if (sources[op] == Source::Again) {
      again[op] = forward;
      continue;
    }
    FailureOr<std::optional<int64_t>> listedIn =
        isLight(op) ? FailureOr<std::optional<int64_t>>(std::nullopt)
                    : findInside(op);
    if (failed(listedIn))
      return failure();
    std::optional<int64_t> own = *listedIn;
    if (own && earliest < *own)
      return op->emitError("is in stage ")
             << *own << " of the pipeline, as " << describe(op)
             << " is, but reads gradients that " << describe(from)
             << " computes, in the earlier stage " << earliest
             << "; other dist.stages keep the two together";
    if (!own && !isLight(op))
      if (auto found = ofScope.find(op->getAttr(kScopeAttr));
          found != ofScope.end() && found->second >= 0)
        own = std::min(found->second, earliest);
    // What begins backward is the last stage's that it reads.
    stages[op] = own              ? *own
                 : earliest < end ? earliest
                 : forward >= 0   ? forward
                                  : end - 1;
  }
  return success();
}

/// Finds what of backward an earlier stage waits for.
void StagePlaces::splitBackward() {
  SmallVector<Operation *> todo;
  auto visit = [&](Operation *reader, bool isCrossing) {
    visitRoots(reader, [&](Value value) {
      Operation *def = value.getDefiningOp();
      if (def && sources.lookup(def) == Source::Backward &&
          (stages[def] != stages[reader]) == isCrossing &&
          needed.insert(def).second)
        todo.push_back(def);
    });
  };
  for (Operation *op : ops)
    if (sources[op] == Source::Backward && !isLight(op))
      visit(op, /*isCrossing=*/true);
  while (!todo.empty())
    visit(todo.pop_back_val(), /*isCrossing=*/false);
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

unsigned StagePlaces::getTask(TaskKind kind, int64_t stage) const {
  int64_t count = getNumStages();
  if (kind == TaskKind::Forward)
    return stage;
  return count + 2 * (count - 1 - stage) + (kind == TaskKind::Weight);
}

TaskKind StagePlaces::getKind(unsigned task) const {
  if (task < getNumStages())
    return TaskKind::Forward;
  return (task - getNumStages()) % 2 ? TaskKind::Weight : TaskKind::Backward;
}

int64_t StagePlaces::getStage(unsigned task) const {
  int64_t count = getNumStages();
  return task < count ? task : count - 1 - (task - count) / 2;
}

unsigned StagePlaces::getProvider(Operation *op, unsigned task) const {
  ArrayRef<unsigned> all = getTasks(op);
  for (unsigned one : all)
    if (getStage(one) == getStage(task))
      return one;
  return all.front();
}

/// What each reader may compute for itself is in the tasks of its readers: in
/// all of them if it is light, else in the first of each stage.
void StagePlaces::placeOnDemand() {
  Operation *end = block.getTerminator();
  TaskKind lastKind = note.split ? TaskKind::Weight : TaskKind::Backward;
  for (Operation *op : llvm::reverse(ops)) {
    Source source = sources[op];
    bool isFixed = !isLight(op) &&
                   (source == Source::Forward || source == Source::Backward);
    if (isa<FenceOp>(op)) // tasks are apart
      continue;
    if (isFixed) {
      TaskKind kind = source == Source::Forward            ? TaskKind::Forward
                      : note.split && !needed.contains(op) ? TaskKind::Weight
                                                           : TaskKind::Backward;
      tasks[op] = {getTask(kind, stages[op])};
      continue;
    }
    llvm::SmallSetVector<unsigned, 4> wanted;
    for (Operation *reader : getReaders(op)) {
      if (reader != end)
        wanted.insert_range(getTasks(reader));
      else // carried from microbatch to microbatch
        wanted.insert(
            getTask(source == Source::Backward || source == Source::Again
                        ? lastKind
                        : TaskKind::Forward,
                    stages.lookup(op)));
    }
    if (wanted.empty() && !isMemoryEffectFree(op))
      wanted.insert(getTask(TaskKind::Forward, stages.lookup(op)));
    SmallVector<unsigned, 2> own(wanted.begin(), wanted.end());
    llvm::sort(own);
    if (!isLight(op)) {
      llvm::SmallDenseSet<int64_t> seen;
      llvm::erase_if(own, [&](unsigned task) {
        return !seen.insert(getStage(task)).second;
      });
    }
    if (!own.empty())
      tasks[op] = std::move(own);
  }
}

LogicalResult StagePlaces::findHomes() {
  for (Value value : block.getTerminator()->getOperands()) {
    Operation *op = value.getDefiningOp();
    if (!isCarried(value) && (!op || op->getBlock() != &block))
      return loop.emitError("of a pipeline carries a value on that no "
                            "microbatch computes");
    ArrayRef<unsigned> all = getTasks(op);
    homes.push_back(all.empty() ? 0 : getStage(all.front()));
  }
  for (Operation *op : ops)
    for (unsigned task : getTasks(op)) {
      LogicalResult fits = success();
      visitValues(op, [&](Value value) {
        if (!isCarried(value) || failed(fits))
          return;
        int64_t home = homes[cast<BlockArgument>(value).getArgNumber() - 1];
        if (home != getStage(task))
          fits = op->emitError("in stage ")
                 << getStage(task) << " of the pipeline reads what stage "
                 << home << " carries from microbatch to microbatch";
      });
      if (failed(fits))
        return failure();
    }
  return success();
}

LogicalResult StagePlaces::place() {
  if (failed(placeForward()) || failed(placeBackward()))
    return failure();
  if (note.split)
    splitBackward();
  placeOnDemand();
  return success();
}
