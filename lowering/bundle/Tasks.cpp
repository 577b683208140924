//===- Tasks.cpp - The tasks of a pipeline, each as a program -------------===//

#include "lowering/bundle/Tasks.h"
#include "dialects/dist/IR/Pipeline.h"
#include "dialects/dist/Utils/Program.h"
#include "lowering/buffers/Passes.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Transforms/RegionUtils.h"
#include "runtime/pipeline/Table.h"

using namespace mlir;
using namespace mlir::dist;
// The runtime's namespace, of its host side.
namespace host = ::dist;
using Operand = host::TaskDesc::Operand;

bool mlir::dist::hasTasks(ModuleOp module) {
  return module.walk([](TaskOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Out of the program
//===----------------------------------------------------------------------===//

namespace {
class Outline {
public:
  Outline(func::FuncOp function, MeshOp mesh, host::Manifest &manifest)
      : function(function), mesh(mesh), manifest(manifest) {}

  FailureOr<std::vector<OwningOpRef<ModuleOp>>> run();

private:
  LogicalResult findLoop();
  LogicalResult describeResults(TaskOp task);
  FailureOr<Operand> describeRead(TaskOp task, Value value);
  LogicalResult checkOrder();
  FailureOr<OwningOpRef<ModuleOp>> outline(TaskOp task, host::TaskDesc &desc);
  LogicalResult makeTable();
  int64_t addSlot(Type type, bool isOfStep);

  func::FuncOp function;
  MeshOp mesh;
  host::Manifest &manifest;
  host::PipelineDesc pipeline;
  scf::ForOp loop;
  SmallVector<TaskOp> tasks;
  llvm::DenseMap<Value, Operand> results;
  /// The task that carries a value on, and the one that updates an argument.
  llvm::DenseMap<int64_t, TaskOp> carriedBy;
  llvm::DenseMap<int64_t, unsigned> updatedBy;
};
} // namespace

static host::TaskDesc::Kind convert(TaskKind kind) {
  switch (kind) {
  case TaskKind::Begin:
    return host::TaskDesc::Begin;
  case TaskKind::Forward:
    return host::TaskDesc::Forward;
  case TaskKind::Backward:
    return host::TaskDesc::Backward;
  case TaskKind::Weight:
    return host::TaskDesc::Weight;
  case TaskKind::End:
    return host::TaskDesc::End;
  }
  return host::TaskDesc::Begin;
}

int64_t Outline::addSlot(Type type, bool isOfStep) {
  auto tensor = cast<RankedTensorType>(type);
  host::SlotDesc slot;
  slot.dtype =
      static_cast<dist_dtype>(*rt::getStorageDtype(tensor.getElementType()));
  slot.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  slot.isOfStep = isOfStep;
  pipeline.slots.push_back(std::move(slot));
  return pipeline.slots.size() - 1;
}

/// Finds the tasks, and the loop that some of them are in, whose carried values
/// have the first slots.
LogicalResult Outline::findLoop() {
  WalkResult walked = function.walk<WalkOrder::PreOrder>([&](TaskOp task) {
    tasks.push_back(task);
    auto parent = dyn_cast<scf::ForOp>(task->getParentOp());
    if (!parent && task->getParentOp() != function) {
      task.emitOpError("stands in no loop over microbatches");
      return WalkResult::interrupt();
    }
    if (parent && loop && parent != loop) {
      task.emitOpError("stands in a second loop");
      return WalkResult::interrupt();
    }
    if (parent)
      loop = parent;
    return WalkResult::skip();
  });
  if (walked.wasInterrupted())
    return failure();
  if (!loop)
    return function.emitError("has tasks, but none in a loop over "
                              "microbatches");
  std::optional<APInt> trips = loop.getStaticTripCount();
  std::optional<int64_t> low = getConstantIntValue(loop.getLowerBound()),
                         step = getConstantIntValue(loop.getStep());
  if (!trips || low != 0 || step != 1 || trips->getSExtValue() < 1 ||
      trips->getSExtValue() >= 1 << 20)
    return loop.emitError("of a pipeline goes from 0 to a constant, by 1");
  pipeline.microbatches = trips->getSExtValue();
  for (Value init : loop.getInitArgs())
    if (isa<RankedTensorType>(init.getType()))
      addSlot(init.getType(), /*isOfStep=*/true);
    else
      return loop.emitError("of a pipeline carries a value of type ")
             << init.getType() << ", which is no tensor";
  return success();
}

/// Where the results of a task go.
LogicalResult Outline::describeResults(TaskOp task) {
  for (OpResult result : task->getResults()) {
    std::optional<Operand> found;
    for (OpOperand &use : result.getUses()) {
      Operand here;
      unsigned number = use.getOperandNumber();
      if (use.getOwner() == loop) {
        here = {Operand::Slot, int64_t(number) - loop.getNumControlOperands()};
      } else if (use.getOwner() == loop.getBody()->getTerminator()) {
        here = {Operand::Slot, number};
        carriedBy[number] = task;
      } else if (isa<func::ReturnOp>(use.getOwner())) {
        here = {Operand::Result, number};
        const auto &held = manifest.results[number].held;
        if (!held || held->stage != int64_t(task.getStage()))
          return task.emitOpError("gives '")
                 << manifest.results[number].name
                 << "', which its stage does not hold";
        if (std::optional<int64_t> updates = manifest.results[number].updates)
          updatedBy[*updates] = pipeline.tasks.size();
      } else if (found && found->kind == Operand::Slot &&
                 found->index >= int64_t(loop.getInitArgs().size())) {
        continue;
      } else {
        here = {Operand::Slot,
                addSlot(result.getType(), task->getParentOp() == function)};
      }
      if (found)
        return task.emitOpError("has a result that is read in two ways: "
                                "yield it twice");
      found = here;
    }
    results[result] = found ? *found
                            : Operand{Operand::Slot,
                                      addSlot(result.getType(),
                                              task->getParentOp() == function)};
  }
  return success();
}

/// What a value is that a task reads from outside.
FailureOr<Operand> Outline::describeRead(TaskOp task, Value value) {
  if (auto transfer = value.getDefiningOp<TransferOp>())
    value = transfer.getOperand();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() == &function.getBody().front()) {
      const auto &held = manifest.arguments[argument.getArgNumber()].held;
      if (held && held->stage != int64_t(task.getStage()))
        return task.emitOpError("of stage ")
               << task.getStage() << " reads '"
               << manifest.arguments[argument.getArgNumber()].name
               << "', which stage " << held->stage << " holds";
      return Operand{Operand::Argument, argument.getArgNumber()};
    }
    if (argument == loop.getInductionVar())
      return Operand{Operand::Microbatch, 0};
    if (argument.getOwner() == loop.getBody()) {
      int64_t carried = argument.getArgNumber() - 1;
      // It would read another microbatch's value.
      if (carriedBy.lookup(carried) != task)
        return task.emitOpError("reads what another task carries from "
                                "microbatch to microbatch");
      return Operand{Operand::Slot, carried};
    }
  }
  if (value.getDefiningOp() == loop)
    return Operand{Operand::Slot,
                   int64_t(cast<OpResult>(value).getResultNumber())};
  if (auto found = results.find(value); found != results.end()) {
    if (found->second.kind == Operand::Slot)
      return found->second;
    return task.emitOpError("reads a result of the program");
  }
  return task.emitOpError("reads what no task computes: ")
         << value << "; run --dist-pipeline";
}

FailureOr<OwningOpRef<ModuleOp>> Outline::outline(TaskOp task,
                                                  host::TaskDesc &desc) {
  MLIRContext *context = task.getContext();
  OwningOpRef<ModuleOp> module = ModuleOp::create(task.getLoc());
  OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
  if (mesh)
    b.clone(*mesh)->removeAttr(kPipelineAttr);
  for (auto other :
       cast<ModuleOp>(function->getParentOp()).getOps<func::FuncOp>())
    if (other != function)
      b.clone(*other);

  SetVector<Value> all;
  getUsedValuesDefinedAbove(task.getBody(), all);
  SmallVector<Value> reads;
  SmallVector<Operation *> constants;
  for (Value value : all)
    if (Operation *op = value.getDefiningOp();
        op && op->hasTrait<OpTrait::ConstantLike>())
      constants.push_back(op); // canonicalization moves them out
    else
      reads.push_back(value);
  SmallVector<Type> inputs;
  SmallVector<Attribute> argAttrs;
  SmallVector<Location> locs;
  llvm::DenseMap<std::pair<int, int64_t>, unsigned> places;
  for (Value value : reads) {
    FailureOr<Operand> operand = describeRead(task, value);
    if (failed(operand))
      return failure();
    NamedAttrList attrs;
    if (operand->kind == Operand::Argument) {
      attrs = function.getArgAttrDict(operand->index);
      attrs.erase(kStageAttr);
    } else if (operand->kind == Operand::Microbatch) {
      attrs.set(kInputAttr, b.getStringAttr("microbatch"));
      attrs.set(kRangeAttr,
                b.getDenseI64ArrayAttr({0, pipeline.microbatches - 1}));
    } else {
      attrs.set(kInputAttr,
                b.getStringAttr("slot " + std::to_string(operand->index)));
      attrs.set(kUpdatedAttr, b.getUnitAttr());
    }
    places[{operand->kind, operand->index}] = inputs.size();
    inputs.push_back(operand->kind == Operand::Microbatch
                         ? RankedTensorType::get({}, b.getI64Type())
                         : value.getType());
    argAttrs.push_back(attrs.getDictionary(context));
    locs.push_back(value.getLoc());
    desc.arguments.push_back(*operand);
  }
  SmallVector<Attribute> resultAttrs;
  for (OpResult result : task->getResults()) {
    Operand operand = results[result];
    desc.results.push_back(operand);
    NamedAttrList attrs;
    attrs.set(
        kOutputAttr,
        b.getStringAttr("result " + std::to_string(result.getResultNumber())));
    // In place, if the task reads what it is the new value of.
    Operand target = operand;
    if (operand.kind == Operand::Result) {
      std::optional<int64_t> updates = manifest.results[operand.index].updates;
      target = {Operand::Argument, updates ? *updates : -1};
      for (StringRef name : {kShardingAttr, kGlobalTypeAttr})
        if (Attribute placed = function.getResultAttr(operand.index, name))
          attrs.set(name, placed);
    }
    if (auto found = places.find({target.kind, target.index});
        found != places.end())
      attrs.set(kUpdatesAttr, b.getI64IntegerAttr(found->second));
    resultAttrs.push_back(attrs.getDictionary(context));
  }

  auto main = func::FuncOp::create(
      b, task.getLoc(), "main",
      FunctionType::get(context, inputs, task->getResultTypes()));
  main.setArgAttrsAttr(b.getArrayAttr(argAttrs));
  main.setResAttrsAttr(b.getArrayAttr(resultAttrs));
  Block *entry = b.createBlock(&main.getBody(), {}, inputs, locs);
  IRMapping mapping;
  b.setInsertionPointToStart(entry);
  for (auto [value, argument] : llvm::zip(reads, entry->getArguments())) {
    Value inside = argument;
    if (value == loop.getInductionVar()) {
      inside =
          tensor::ExtractOp::create(b, value.getLoc(), argument, ValueRange());
      inside = arith::IndexCastOp::create(b, value.getLoc(), b.getIndexType(),
                                          inside);
    }
    mapping.map(value, inside);
  }
  for (Operation *op : constants)
    b.clone(*op, mapping);
  Block &body = task.getBody().front();
  for (Operation &op : body.without_terminator())
    b.clone(op, mapping);
  SmallVector<Value> yielded;
  for (Value value : body.getTerminator()->getOperands())
    yielded.push_back(mapping.lookupOrDefault(value));
  func::ReturnOp::create(b, task.getLoc(), yielded);
  return module;
}

/// An argument that a task updates in place has its old value no longer.
LogicalResult Outline::checkOrder() {
  for (auto [number, task] : llvm::enumerate(pipeline.tasks))
    for (const Operand &operand : task.arguments) {
      if (operand.kind != Operand::Argument)
        continue;
      auto updated = updatedBy.find(operand.index);
      if (updated != updatedBy.end() && updated->second < number)
        return tasks[number].emitOpError("reads '")
               << manifest.arguments[operand.index].name
               << "', to which a task before it has written";
    }
  return success();
}

LogicalResult Outline::makeTable() {
  std::optional<PipelineNote> note = PipelineNote::get(mesh);
  if (!note)
    return function.emitError("has tasks, but its mesh notes no '")
           << kPipelineAttr << "'";
  pipeline.name = note->table.getValue().str();
  pipeline.axis = manifest.mesh.find(note->axis.getValue().str());
  if (pipeline.axis < 0)
    return mesh.emitError("has no axis ") << note->axis;
  int32_t ranks = manifest.mesh.axes[pipeline.axis].size,
          microbatches = pipeline.microbatches;
  host::pipeline::Table table;
  try {
    table = note->text
                ? host::pipeline::readTable(note->text.getValue().str(),
                                            note->table.getValue().str())
                : host::pipeline::makeTable(note->table.getValue().str(), ranks,
                                            microbatches, note->chunks,
                                            pipeline.hasBackward());
  } catch (const host::Error &error) {
    return emitError(note->by) << error.what();
  }
  if (static_cast<size_t>(table.stages) != note->stages.size())
    return emitError(note->by) << "has " << note->stages.size()
                               << " stages, and its table " << table.stages;
  if (table.ranks() != ranks || table.microbatches != microbatches)
    return emitError(note->by)
           << "the table of the pipeline is of " << table.ranks()
           << " devices and " << table.microbatches << " microbatches, but "
           << ranks << " devices do " << microbatches << ": give "
           << (pipeline.hasBackward() ? "--accumulate " : "--microbatches ")
           << table.microbatches
           << ", or another table (dist-report --pipeline-table)";
  pipeline.placeOf.assign(table.rankOf.begin(), table.rankOf.end());
  pipeline.table = host::pipeline::writeTable(table);
  return success();
}

FailureOr<std::vector<OwningOpRef<ModuleOp>>> Outline::run() {
  if (failed(findLoop()))
    return failure();
  for (TaskOp task : tasks) {
    host::TaskDesc desc;
    desc.kind = convert(task.getKind());
    desc.stage = task.getStage();
    desc.part = task.getPart();
    if (failed(describeResults(task)))
      return failure();
    pipeline.tasks.push_back(std::move(desc));
  }
  std::vector<OwningOpRef<ModuleOp>> modules;
  for (auto [task, desc] : llvm::zip(tasks, pipeline.tasks)) {
    FailureOr<OwningOpRef<ModuleOp>> module = outline(task, desc);
    if (failed(module))
      return failure();
    modules.push_back(std::move(*module));
  }
  if (failed(checkOrder()) || failed(makeTable()))
    return failure();
  manifest.pipeline = std::move(pipeline);
  try {
    host::placeStages(manifest);
  } catch (const host::Error &error) {
    return emitError(PipelineNote::get(mesh)->by) << error.what();
  }
  if (std::string problem = host::findPipelineProblem(manifest);
      !problem.empty())
    return emitError(PipelineNote::get(mesh)->by) << problem;
  return modules;
}

FailureOr<std::vector<OwningOpRef<ModuleOp>>>
mlir::dist::outlineTasks(ModuleOp module, host::Manifest &manifest) {
  FailureOr<FunctionOpInterface> entry = findEntryFunction(module);
  FailureOr<MeshOp> mesh = findProgramMesh(module);
  if (failed(entry) || failed(mesh))
    return failure();
  if (!*mesh)
    return module.emitError("has tasks, but no mesh");
  return Outline(cast<func::FuncOp>(entry->getOperation()), *mesh, manifest)
      .run();
}

//===----------------------------------------------------------------------===//
// One program again
//===----------------------------------------------------------------------===//

static constexpr StringRef kNumbered[] = {
    rt::kCommunicatorsAttr, rt::kCollectivesAttr, rt::kChecksAttr,
    rt::kRowPlansAttr, rt::kDeviceKernelsAttr};

void mlir::dist::continueNumbers(ModuleOp before, ModuleOp task) {
  for (StringRef name : kNumbered)
    if (Attribute attr = before->getAttr(name))
      task->setAttr(name, attr);
}

void mlir::dist::noteLowered(ModuleOp task, size_t number, ModuleOp before,
                             SmallVectorImpl<Attribute> &constants,
                             host::Manifest &manifest) {
  host::TaskDesc &desc = manifest.pipeline->tasks[number];
  if (auto bytes = task->getAttrOfType<IntegerAttr>(kArenaBytesAttr))
    desc.arenaBytes = bytes.getInt();
  if (auto own = task->getAttrOfType<ArrayAttr>(rt::kConstantsAttr))
    for (Attribute constant : own) {
      auto known = llvm::find(constants, constant);
      int64_t index = known - constants.begin();
      if (known == constants.end())
        constants.push_back(constant);
      desc.arguments.push_back(
          {Operand::Argument, int64_t(manifest.arguments.size()) + index});
    }
  bool isInLoop =
      desc.kind != host::TaskDesc::Begin && desc.kind != host::TaskDesc::End;
  auto sites = task->getAttrOfType<ArrayAttr>(rt::kCollectivesAttr);
  auto sitesBefore =
      before ? before->getAttrOfType<ArrayAttr>(rt::kCollectivesAttr)
             : ArrayAttr();
  if (!isInLoop || !sites)
    return;
  Builder builder(task.getContext());
  SmallVector<Attribute> counted(sites.begin(), sites.end());
  for (Attribute &site :
       llvm::drop_begin(counted, sitesBefore ? sitesBefore.size() : 0)) {
    NamedAttrList list(cast<DictionaryAttr>(site));
    auto count = cast_or_null<IntegerAttr>(list.get("count"));
    list.set("count",
             builder.getI64IntegerAttr((count ? count.getInt() : 1) *
                                       manifest.pipeline->microbatches));
    site = list.getDictionary(task.getContext());
  }
  task->setAttr(rt::kCollectivesAttr, builder.getArrayAttr(counted));
}

/// Gives what a task defines names that no other task has; also in modules
/// within it, which keep theirs.
static void renameSymbols(ModuleOp task, size_t number) {
  for (auto inner : task.getOps<ModuleOp>())
    renameSymbols(inner, number);
  MLIRContext *context = task.getContext();
  llvm::DenseMap<StringAttr, StringAttr> names;
  std::string prefix = "task_" + std::to_string(number) + "_";
  for (Operation &op : *task.getBody()) {
    auto symbol = dyn_cast<SymbolOpInterface>(op);
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (!symbol || isa<ModuleOp>(op) || (function && function.isExternal()))
      continue;
    StringAttr name = symbol.getNameAttr();
    auto own = StringAttr::get(
        context, name == "dist_main" ? "dist_task_" + std::to_string(number)
                                     : prefix + name.getValue().str());
    names[name] = own;
    symbol.setName(own);
  }
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](FlatSymbolRefAttr reference) -> Attribute {
    auto found = names.find(reference.getAttr());
    return found == names.end() ? reference
                                : FlatSymbolRefAttr::get(found->second);
  });
  replacer.recursivelyReplaceElementsIn(task, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/false);
}

/// Moves what `from` defines to the end of `to`, modules of one name into one.
static void append(ModuleOp from, ModuleOp to) {
  llvm::DenseMap<StringAttr, Operation *> known;
  for (Operation &op : *to.getBody())
    if (auto symbol = dyn_cast<SymbolOpInterface>(op))
      known[symbol.getNameAttr()] = &op;
  for (Operation &op : llvm::make_early_inc_range(*from.getBody())) {
    auto symbol = dyn_cast<SymbolOpInterface>(op);
    auto found = symbol ? known.find(symbol.getNameAttr()) : known.end();
    // What is not a module is a declaration that both have.
    if (found == known.end())
      op.moveBefore(to.getBody(), to.getBody()->end());
    else if (auto inner = dyn_cast<ModuleOp>(op))
      append(inner, cast<ModuleOp>(found->second));
  }
}

OwningOpRef<ModuleOp>
mlir::dist::joinTasks(std::vector<OwningOpRef<ModuleOp>> tasks) {
  int64_t kernels = 0;
  for (auto [number, task] : llvm::enumerate(tasks)) {
    renameSymbols(*task, number);
    if (auto own = (*task)->getAttrOfType<IntegerAttr>(rt::kKernelsAttr))
      kernels += own.getInt();
  }
  // The last one has counted on to the end.
  DictionaryAttr attrs = (*tasks.back())->getAttrDictionary();
  OwningOpRef<ModuleOp> all = std::move(tasks.front());
  for (OwningOpRef<ModuleOp> &task : llvm::drop_begin(tasks))
    append(*task, *all);
  (*all)->setAttrs(attrs);
  Builder builder(all->getContext());
  (*all)->setAttr(rt::kKernelsAttr, builder.getI64IntegerAttr(kernels));
  return all;
}
