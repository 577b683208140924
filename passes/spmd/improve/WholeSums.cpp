//===- WholeSums.cpp - No sum over an axis is taken apart -----------------===//
//
// For an axis whose devices' work becomes turns of one device
// (--dist-unroll-axis). Ops that reduce over it get whole operands. The
// reduction is then the one that the device does without turns. Linear in the
// number of ops.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Attention.h"
#include "dialects/dist/IR/Halo.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Utils/Program.h"
#include "passes/spmd/graph/PlacedProgram.h"
#include "passes/spmd/graph/PlacementGraph.h"
#include "passes/spmd/graph/PlacementText.h"
#include "passes/spmd/improve/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_WHOLESUMSPASS
#include "passes/spmd/improve/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
class SumCompleter {
public:
  SumCompleter(const MeshLayout &layout, StringRef axis)
      : layout(layout), axis(axis), context(layout.getContext()),
        program(layout) {}

  LogicalResult visitFunction(FunctionOpInterface function);

private:
  LogicalResult visitOp(Operation *op);
  void visitReshard(ReshardOp reshard);
  void reduceWhole(Operation *op);
  Value getWhole(Value value, Operation *user);
  Value makeReshard(OpBuilder &builder, Value value, ShardingAttr from,
                    ShardingAttr to, Operation *cause);

  bool names(ArrayRef<AxisRefAttr> axes) const {
    return llvm::any_of(axes,
                        [&](AxisRefAttr ref) { return ref.getName() == axis; });
  }
  bool shardsDims(ShardingAttr sharding) const {
    return sharding && llvm::any_of(sharding.getDims(), [&](auto dim) {
             return names(dim.getAllAxes());
           });
  }
  bool isPending(ShardingAttr sharding) const {
    return sharding && names(sharding.getPartialAxes());
  }
  ShardingAttr withoutPending(ShardingAttr sharding) const;
  ShardingAttr withoutAxis(ShardingAttr sharding, RankedTensorType type) const;

  const MeshLayout &layout;
  StringRef axis;
  MLIRContext *context;
  PlacedProgram program;
  /// The whole values so far, by their block.
  llvm::DenseMap<std::pair<Value, Block *>, Value> wholes;
};
} // namespace

ShardingAttr SumCompleter::withoutPending(ShardingAttr sharding) const {
  SmallVector<AxisRefAttr> axes(sharding.getPartialAxes());
  llvm::erase_if(axes, [&](AxisRefAttr ref) { return ref.getName() == axis; });
  return ShardingAttr::get(
      context, sharding.getMesh(), sharding.getDims(),
      axes.empty() ? ReductionKind::Sum : sharding.getPartialKind(), axes);
}

/// Null if the rest has no canonical form.
ShardingAttr SumCompleter::withoutAxis(ShardingAttr sharding,
                                       RankedTensorType type) const {
  SmallVector<DimShardingAttr> dims(sharding.getDims());
  for (auto [dim, size] : llvm::zip_equal(dims, type.getShape())) {
    if (!names(dim.getAllAxes()))
      continue;
    SmallVector<Piece, 2> pieces = layout.pieces(dim, size);
    for (Piece &piece : pieces)
      llvm::erase_if(piece.axes,
                     [&](AxisRefAttr ref) { return ref.getName() == axis; });
    dim = layout.canonical(pieces);
    if (!dim)
      return {};
  }
  return ShardingAttr::get(context, sharding.getMesh(), dims,
                           sharding.getPartialKind(),
                           sharding.getPartialAxes());
}

Value SumCompleter::makeReshard(OpBuilder &builder, Value value,
                                ShardingAttr from, ShardingAttr to,
                                Operation *cause) {
  return program.makeReshard(builder, value.getLoc(), value, from, to,
                             describeOp(cause) + " reduces over \"" +
                                 axis.str() + "\", which is done whole",
                             cause->getAttr(kScopeAttr));
}

/// The value on each device along the axis. Values that need no communication
/// are created there: constants, and values computed from available ones.
Value SumCompleter::getWhole(Value value, Operation *user) {
  ShardingAttr now = program.getPlacement(value);
  if (!shardsDims(now))
    return value;
  Value &known = wholes[{value, user->getBlock()}];
  if (known)
    return known;
  auto type = cast<RankedTensorType>(value.getType());
  ShardingAttr whole = withoutAxis(now, type);
  if (!whole)
    return value;
  OpBuilder builder(user);
  Operation *op = value.getDefiningOp();
  if (auto reshard = dyn_cast_or_null<ReshardOp>(op);
      reshard && reshard.getSource() == whole)
    return known = reshard.getOperand();
  if (op && isFreeValue(value)) {
    Operation *made = builder.clone(*op);
    program.setShardings(made, whole);
    Value result = made->getResult(0);
    // For a fill: its destination.
    for (OpOperand &operand : made->getOpOperands())
      operand.set(getWhole(operand.get(), made));
    return wholes[{value, user->getBlock()}] = result;
  }
  return known = makeReshard(builder, value, now, whole, user);
}

/// Readers of the results get the old placement.
void SumCompleter::reduceWhole(Operation *op) {
  for (OpOperand &operand : op->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()))
      operand.set(getWhole(operand.get(), op));
  SmallVector<Attribute> shardings(
      op->getAttrOfType<ArrayAttr>(kShardingsAttr).getValue());
  OpBuilder builder(context);
  builder.setInsertionPointAfter(op);
  for (OpResult result : op->getResults()) {
    Attribute &entry = shardings[result.getResultNumber()];
    auto now = dyn_cast<ShardingAttr>(entry);
    if (!shardsDims(now))
      continue;
    ShardingAttr whole =
        withoutAxis(now, cast<RankedTensorType>(result.getType()));
    if (!whole)
      continue;
    entry = whole;
    Value part = makeReshard(builder, result, whole, now, op);
    result.replaceAllUsesExcept(part, part.getDefiningOp());
  }
  program.setShardings(op, shardings);
}

void SumCompleter::visitReshard(ReshardOp reshard) {
  ShardingAttr from = withoutPending(reshard.getSource()),
               to = withoutPending(reshard.getSharding());
  if (from == to) {
    reshard.getResult().replaceAllUsesWith(reshard.getOperand());
    reshard.erase();
    return;
  }
  reshard.setSourceAttr(from);
  reshard.setShardingAttr(to);
  program.setShardings(reshard, to);
}

LogicalResult SumCompleter::visitOp(Operation *op) {
  if (auto manual = dyn_cast<ManualReshardOp>(op)) {
    if (isPending(manual.getSource()) || isPending(manual.getSharding()))
      return manual.emitOpError()
             << "reduces over \"" << axis
             << "\" by code of its own; as one device is to do that axis in "
                "turns, what reduces over it must be an op";
    return success();
  }
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  RegionBranchSuccessorMapping targets;
  if (branch) {
    branch.getSuccessorOperandInputMapping(targets);
    program.readInputs(targets, branch);
  }
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &inner : llvm::make_early_inc_range(block)) {
        bool isLast = inner.hasTrait<OpTrait::IsTerminator>();
        if (failed(visitOp(&inner)))
          return failure();
        // For a condition's region: the values that the other region takes.
        if (branch && isLast)
          program.readInputs(targets, &inner);
      }
  auto array = op->getAttrOfType<ArrayAttr>(kShardingsAttr);
  if (!array)
    return success();
  if (auto reshard = dyn_cast<ReshardOp>(op)) {
    visitReshard(reshard);
    return success();
  }
  SmallVector<Attribute> shardings(array.getValue());
  bool wasPending = false;
  for (Attribute &entry : shardings)
    if (auto sharding = dyn_cast<ShardingAttr>(entry); isPending(sharding)) {
      wasPending = true;
      entry = withoutPending(sharding);
    }
  if (!wasPending)
    return success();
  program.setShardings(op, shardings);
  // One that commutes with reductions has operands where the axis shards
  // nothing. In loops it is their bodies that reduce.
  if (!branch)
    reduceWhole(op);
  return success();
}

LogicalResult SumCompleter::visitFunction(FunctionOpInterface function) {
  program.readArguments(function);
  for (Block &block : function.getFunctionBody())
    for (Operation &op : llvm::make_early_inc_range(block))
      if (failed(visitOp(&op)))
        return failure();
  return success();
}

/// Refuses directives by which devices along the axis would exchange blocks:
/// one device computes these one after another.
static LogicalResult checkExchanges(MeshOp mesh, StringRef axis) {
  std::pair<StringRef, StringRef> kinds[] = {
      {kRingsAttr, RingOp::getOperationName()},
      {kGraphHalosAttr, GraphHaloOp::getOperationName()}};
  for (auto [kind, directive] : kinds) {
    auto modules = mesh->getAttrOfType<DictionaryAttr>(kind);
    if (!modules)
      continue;
    for (NamedAttribute module : modules) {
      auto said = cast<DictionaryAttr>(module.getValue());
      if (llvm::none_of(getAxisRefs(said.getAs<ArrayAttr>("axes")),
                        [&](AxisRefAttr ref) { return ref.getName() == axis; }))
        continue;
      return emitError(said.getAs<LocationAttr>("by"))
             << directive << ": axis \"" << axis
             << "\" is done in turns: its parts are computed one after another "
                "on one device, not side by side on several, so that no block "
                "can go from one to another; name another axis here, or for "
                "the turns";
    }
  }
  return success();
}

namespace {
struct WholeSumsPass : mlir::dist::impl::WholeSumsPassBase<WholeSumsPass> {
  using WholeSumsPassBase::WholeSumsPassBase;

  void runOnOperation() override {
    FailureOr<MeshOp> mesh = findProgramMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    // If the mesh lacks the axis, --dist-unroll-axis reports it.
    if (!*mesh || (*mesh).getAxisSize(axis) == 0)
      return;
    if (failed(checkExchanges(*mesh, axis)))
      return signalPassFailure();
    MeshLayout layout(*mesh);
    SumCompleter completer(layout, axis);
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      if (!function.isExternal() && failed(completer.visitFunction(function)))
        return signalPassFailure();
  }
};
} // namespace
