//===- Report.cpp - What an SPMD program sends, holds and computes --------===//
//
// One walk a function: collectives with their loops, contractions' work.
//
//===----------------------------------------------------------------------===//

#include "passes/report/Report.h"
#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/Utils/Packing.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Support/DebugStringHelper.h"
#include "passes/cost/Work.h"
#include "passes/report/Strategies.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::dist;

std::string mlir::dist::describeAxis(AxisRefAttr axis) {
  std::string text = axis.getName().str();
  if (axis.isSubAxis())
    text += "(" + std::to_string(axis.getPre()) + ")" +
            std::to_string(axis.getSize());
  return text;
}

//===----------------------------------------------------------------------===//
// Collectives and work
//===----------------------------------------------------------------------===//

static CollectiveUse makeUse(CollectiveOpInterface collective, MeshOp mesh,
                             int64_t count, bool inUnknownLoop) {
  Operation *op = collective;
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  CollectiveUse use;
  use.op = op->getName().stripDialect().str();
  SmallVector<AxisRefAttr> axes = getAxisRefs(collective.getAxes());
  for (AxisRefAttr axis : axes)
    use.axes.push_back(describeAxis(axis));
  if (auto kind = op->getAttrOfType<ReductionKindAttr>("reduction"))
    use.reduce = stringifyReductionKind(kind.getValue()).str();
  use.shape.assign(type.getShape().begin(), type.getShape().end());
  use.dtype = debugString(type.getElementType());
  use.bytesSentPerRank =
      collective.getBytesSentPerRank(getGroupSize(axes, mesh.getAxes()));
  use.packedBytesPerRank = count * getPackedBytes(op);
  use.count = count;
  use.inUnknownLoop = inUnknownLoop;
  use.isMost = isa<GatherRowsOp, ReduceRowsOp>(op);
  if (auto scope = op->getAttrOfType<StringAttr>(kScopeAttr))
    use.scope = scope.str();
  if (StringAttr cause = collective.getCauseAttr())
    use.cause = cause.str();
  use.location = describeLocation(op->getLoc());
  return use;
}

namespace {
/// Bytes that transposes copy for collectives of one kind in one module of the
/// model.
using Packs = llvm::MapVector<std::pair<StringRef, StringRef>, int64_t>;
} // namespace

/// Adds the bytes that are copied for collectives to the first of their kind in
/// the same module.
static void addPacks(const Packs &packs, FunctionReport &report) {
  Packs left = packs;
  for (CollectiveUse &use : report.collectives) {
    int64_t &bytes = left[{use.op, use.scope}];
    use.packedBytesPerRank += std::exchange(bytes, 0);
    report.packedBytes += use.packedBytesPerRank;
  }
  for (auto &[key, bytes] : left)
    report.packedBytes += bytes;
}

/// Adds the values that a block, which runs `count` times, keeps for backward.
static void addBackward(Block &block, int64_t count, FunctionReport &report) {
  for (BackwardUse &use : getBackwardUses(block)) {
    // Repeated runs: kept values are kept again each time.
    use.addedFlops *= count;
    use.addedBytes *= count;
    use.addedBytesSent *= count;
    auto same = llvm::find_if(report.backward, [&](const BackwardUse &known) {
      return known.scope == use.scope;
    });
    if (same == report.backward.end())
      report.backward.push_back(use);
    else
      same->add(use);
  }
}

/// Adds the communication and computation of the ops of `region`, which runs
/// `count` times.
static LogicalResult visit(Region &region, int64_t count, bool inUnknownLoop,
                           FunctionReport &report, Packs &packs) {
  for (Block &block : region)
    addBackward(block, count, report);
  for (Operation &op : region.getOps()) {
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    if (collective && !isa<AllSliceOp>(op)) {
      MeshOp mesh = lookupMesh(&op, collective.getMeshAttr());
      if (!mesh)
        return op.emitError() << "has no mesh";
      report.collectives.push_back(
          makeUse(collective, mesh, count, inUnknownLoop));
    }
    if (auto kind = op.getAttrOfType<StringAttr>(kPacksAttr)) {
      auto scope = op.getAttrOfType<StringAttr>(kScopeAttr);
      packs[{kind.getValue(), scope ? scope.getValue() : StringRef()}] +=
          count * getTensorBytes(op.getResult(0).getType());
    }
    report.flops += count * countFlops(&op);
    if (auto call = dyn_cast<CallOpInterface>(op))
      if (auto name = dyn_cast<SymbolRefAttr>(call.getCallableForCallee()))
        report.calls.push_back({name.getLeafReference().str(), count});
    if (auto attention = dyn_cast<AttentionOp>(op))
      if (std::optional<AttentionUse> use = makeAttentionUse(attention, count))
        report.attentions.push_back(std::move(*use));
    int64_t trips = 1;
    bool unknown = inUnknownLoop;
    if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
      std::optional<llvm::APInt> known = loop.getStaticTripCount();
      trips = known ? known->getSExtValue() : 1;
      unknown |= !known;
      report.hasUnknownLoop |= !known;
    }
    if (isa<linalg::LinalgOp>(op)) // whose body computes scalars
      continue;
    for (Region &nested : op.getRegions())
      if (failed(visit(nested, count * trips, unknown, report, packs)))
        return failure();
  }
  return success();
}

static int64_t countConstantBytes(Region &region) {
  llvm::SmallDenseSet<std::pair<Attribute, Attribute>> counted;
  int64_t bytes = 0;
  region.walk([&](Operation *op) {
    ElementsAttr value;
    ShardingAttr part; // null: whole
    if (auto constant = dyn_cast<LocalConstantOp>(op)) {
      value = constant.getValue();
      part = constant.getSharding();
    } else if (!op->hasTrait<OpTrait::ConstantLike>() ||
               !matchPattern(op, m_Constant(&value)) ||
               isa<SplatElementsAttr>(value)) {
      return;
    }
    if (counted.insert({value, part}).second)
      bytes += getTensorBytes(op->getResult(0).getType());
  });
  return bytes;
}

/// Counts how often each function runs.
static void countRuns(ProgramReport &report) {
  llvm::StringMap<FunctionReport *> functions;
  for (FunctionReport &function : report.functions)
    functions[function.name] = &function;
  // Each behind those that it calls.
  SmallVector<FunctionReport *> order;
  auto addTo = [&](auto &addTo, FunctionReport *function) -> void {
    function->runs = true;
    for (const FunctionCall &call : function->calls)
      if (FunctionReport *callee = functions.lookup(call.callee);
          callee && !callee->runs)
        addTo(addTo, callee);
    order.push_back(function);
  };
  FunctionReport *entry = functions.lookup(report.entry);
  addTo(addTo, entry);
  entry->times = 1;
  llvm::SmallPtrSet<FunctionReport *, 8> counted;
  for (FunctionReport *caller : llvm::reverse(order)) {
    counted.insert(caller);
    for (const FunctionCall &call : caller->calls) {
      FunctionReport *callee = functions.lookup(call.callee);
      if (!callee || counted.contains(callee))
        continue;
      callee->times += caller->times * call.count;
    }
  }
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

void CollectiveTotal::add(const CollectiveUse &use, const LinkTime &time,
                          int64_t times) {
  count += times * use.count;
  bytesSent += times * use.count * use.bytesSentPerRank;
  packedBytes += times * use.packedBytesPerRank;
  if (time)
    seconds += times * use.count * time(use.bytesSentPerRank);
  isMost |= use.isMost;
  inUnknownLoop |= use.inUnknownLoop;
}

const FunctionReport &ProgramReport::getEntry() const {
  return *llvm::find_if(functions, [&](const FunctionReport &function) {
    return function.name == entry;
  });
}

CollectiveTotal ProgramReport::getCollectives(const LinkTime &time) const {
  CollectiveTotal total;
  for (const FunctionReport &function : functions)
    if (function.runs)
      for (const CollectiveUse &use : function.collectives)
        total.add(use, time, function.times);
  return total;
}

int64_t ProgramReport::getFlops() const {
  int64_t flops = 0;
  for (const FunctionReport &function : functions)
    flops += function.times * function.flops;
  return flops;
}

bool ProgramReport::hasUnknownLoop() const {
  return llvm::any_of(functions, [](const FunctionReport &function) {
    return function.runs && function.hasUnknownLoop;
  });
}

bool ProgramReport::fits() const {
  return getEntry().peakBytes <= simulation->memoryBytes;
}

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

FailureOr<ProgramReport> mlir::dist::makeReport(ModuleOp module) {
  assert(getLevel(module) >= 3 && "not the program of one device");
  ProgramReport report;
  FailureOr<FunctionOpInterface> entryFunction = findEntryFunction(module);
  FailureOr<MeshOp> mesh = findProgramMesh(module);
  if (failed(entryFunction) || failed(mesh))
    return failure();
  if (*mesh) {
    report.mesh = mesh->getSymName().str();
    for (MeshAxisAttr axis : mesh->getAxes())
      report.axes.emplace_back(axis.getName().str(), axis.getSize());
  }
  report.idle = getIdleDevices(*mesh);
  report.entry = entryFunction->getName().str();
  llvm::DenseMap<Operation *, std::vector<AttentionUse>> attentions;
  for (auto &[function, use] : findAttentionUses(module))
    attentions[function].push_back(std::move(use));
  for (auto function : module.getOps<FunctionOpInterface>()) {
    if (function.isExternal())
      continue;
    FunctionReport &entry = report.functions.emplace_back();
    entry.name = function.getName().str();
    int64_t argumentBytes = 0;
    for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i) {
      int64_t bytes = getTensorBytes(function.getArgumentTypes()[i]);
      argumentBytes += bytes;
      if (function.getArgAttr(i, kStateAttr))
        entry.stateBytes += bytes;
      else if (function.getArgAttr(i, kParameterAttr))
        entry.parameterBytes += bytes;
    }
    entry.constantBytes = countConstantBytes(function.getFunctionBody());
    Packs packs;
    if (failed(visit(function.getFunctionBody(), 1, false, entry, packs)))
      return failure();
    llvm::append_range(entry.attentions, attentions[function]);
    addPacks(packs, entry);
    entry.peakBytes = argumentBytes + entry.constantBytes +
                      getPeakBytes(function.getFunctionBody().front());
  }
  countRuns(report);
  auto pipeline = makePipelineReport(*entryFunction, *mesh);
  if (failed(pipeline))
    return failure();
  report.pipeline = std::move(*pipeline);
  if (report.pipeline)
    for (FunctionReport &function : report.functions)
      if (function.name == report.entry)
        function.peakBytes = *llvm::max_element(report.pipeline->rankBytes);
  return report;
}
