//===- Constraints.cpp - Constraints and syncs become reshards ------------===//

#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/spmd/insert/ReshardInserter.h"

using namespace mlir;
using namespace mlir::dist;

/// Removes `axes` from `partial`, after cutting both at each other's borders.
/// Fails if they are not all in it.
static LogicalResult takePending(const MeshLayout &layout,
                                 ArrayRef<AxisRefAttr> axes,
                                 SmallVectorImpl<AxisRefAttr> &partial) {
  layout.refine(partial, axes);
  SmallVector<AxisRefAttr> atoms(axes);
  layout.refine(atoms, partial);
  for (AxisRefAttr axis : atoms) {
    auto *found = llvm::find(partial, axis);
    if (found == partial.end())
      return failure();
    partial.erase(found);
  }
  layout.coalesce(partial);
  return success();
}

/// Whether the same is pending, over the same axes in whatever order.
static bool haveSameSum(ShardingAttr a, ShardingAttr b) {
  ArrayRef<AxisRefAttr> first = a.getPartialAxes(), second = b.getPartialAxes();
  return first.size() == second.size() &&
         (first.empty() || a.getPartialKind() == b.getPartialKind()) &&
         std::is_permutation(first.begin(), first.end(), second.begin());
}

/// Advice on how to leave a sum over `axes` pending.
static std::string sayPending(ArrayRef<AxisRefAttr> axes) {
  return "a 'row' directive over " + printAxes(axes) +
         ", of the linear layer that makes it, leaves its sum pending";
}

/// What a directive that shards `value` names: an argument, the module that
/// makes it, or the one whose border it crosses at `sync`. Empty if nothing has
/// a name.
static std::string nameTarget(Value value, SyncOp sync) {
  auto quote = [](StringRef what, StringAttr name) {
    return (what + "\"" + name.getValue() + "\"").str();
  };
  auto isNamed = [](StringAttr name) { return name && !name.empty(); };
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (auto function =
            dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()))
      for (auto [what, attr] : {std::pair("input ", kInputAttr),
                                std::pair("parameter ", kParameterAttr)})
        if (auto name = function.getArgAttrOfType<StringAttr>(
                argument.getArgNumber(), attr);
            isNamed(name))
          return quote(what, name);
  Operation *maker = value.getDefiningOp();
  if (maker)
    if (auto scope = maker->getAttrOfType<StringAttr>(kScopeAttr);
        isNamed(scope))
      return quote("", scope) + " output";
  auto scope = sync->getAttrOfType<StringAttr>(kScopeAttr);
  if (!isNamed(scope))
    return "";
  return quote("", scope) +
         (sync.getMode() == SyncMode::FwdPre ? " input" : " output");
}

/// The directive that would have sharded what `sync` reads.
static std::string sayCut(SyncOp sync, int64_t dim,
                          ArrayRef<AxisRefAttr> axes) {
  Value value = sync.getOperand();
  // Heads that are no dimension of what the module hands on.
  if (auto expand = value.getDefiningOp<tensor::ExpandShapeOp>();
      expand && expand->getLoc() == sync.getLoc()) {
    value = expand.getSrc();
    for (auto [whole, parts] :
         llvm::enumerate(expand.getReassociationIndices()))
      if (llvm::is_contained(parts, dim)) {
        dim = whole;
        break;
      }
  }
  std::string target = nameTarget(value, sync);
  if (target.empty())
    return "a 'dist.sharding_constraint' before it shards it so";
  return "'dist.shard " + target + " [" + std::to_string(dim) + " = {" +
         printAxes(axes) + "}]' cuts it so";
}

/// A sum that a constraint wants pending must be pending already: it arises
/// from ops, and no communication creates it.
LogicalResult ReshardInserter::addPendingOf(ShardingConstraintOp constraint,
                                            ShardingAttr &wanted) {
  ShardingAttr asked = constraint.getSharding();
  SmallVector<AxisRefAttr> axes(asked.getPartialAxes());
  llvm::erase_if(axes,
                 [&](AxisRefAttr axis) { return layout.size(axis) == 1; });
  if (axes.empty())
    return success();
  Value operand = constraint.getOperand();
  ShardingAttr now = values.getPlacement(operand);
  SmallVector<AxisRefAttr> left;
  if (now)
    left.assign(now.getPartialAxes().begin(), now.getPartialAxes().end());
  if (left.empty() || now.getPartialKind() != asked.getPartialKind() ||
      failed(takePending(layout, axes, left))) {
    InFlightDiagnostic error =
        constraint.emitOpError()
        << "leaves a " << stringifyReductionKind(asked.getPartialKind())
        << " over " << printAxes(axes) << " pending, but here the value is ";
    if (now)
      error << now;
    else
      error << "a constant";
    error << ": in place of 'P' say R or S(d), or leave it alone (null)";
    if (Operation *source = operand.getDefiningOp())
      error.attachNote(source->getLoc()) << "the value is made here";
    return error;
  }
  SmallVector<AxisRefAttr, 2> pending;
  addPending(layout, pending, axes);
  wanted = values.place(wanted.getDims(), asked.getPartialKind(), pending);
  return success();
}

LogicalResult
ReshardInserter::visitConstraint(ShardingConstraintOp constraint) {
  ShardingAttr wanted = values.getTarget(constraint.getResult());
  if (failed(addPendingOf(constraint, wanted)))
    return failure();
  Value ready = values.getAs(constraint.getOperand(), wanted, constraint, [&] {
    return constraint.getCause() ? constraint.getCause()->str()
                                 : std::string("dist.sharding_constraint");
  });
  values.setConstrained(ready);
  if (ready != constraint.getOperand() && wanted.isPartial())
    exclusive.copy(constraint.getOperand(), ready);
  constraint.getResult().replaceAllUsesWith(ready);
  values.erase(constraint);
  return success();
}

/// One that was there before: an earlier run made it, or somebody by hand. It
/// brings the value to the same place, from wherever that is now.
void ReshardInserter::visitReshard(ReshardOp reshard) {
  Value value = reshard.getOperand();
  ShardingAttr wanted = reshard.getSharding();
  if (isFreeValue(value) && !values.getPlacement(value))
    value = values.makeFree(value, wanted.withoutPartial());
  ShardingAttr now = values.getPlacement(value);
  if (now == wanted) {
    reshard.getResult().replaceAllUsesWith(value);
    values.erase(reshard);
    return;
  }
  reshard.getOperandMutable().assign(value);
  values.adopt(reshard, now);
}

ShardingAttr ReshardInserter::makeCanonical(ShardingAttr sharding,
                                            Type type) const {
  SmallVector<DimShardingAttr, 4> dims;
  for (auto [dim, size] : llvm::zip_equal(
           sharding.getDims(), cast<RankedTensorType>(type).getShape()))
    dims.push_back(layout.canonical(dim, size));
  SmallVector<AxisRefAttr, 2> partial(sharding.getPartialAxes());
  llvm::erase_if(partial,
                 [&](AxisRefAttr axis) { return layout.size(axis) == 1; });
  layout.coalesce(partial);
  return values.place(dims, sharding.getPartialKind(), partial);
}

/// Pending sums are passed to it unchanged; values with other placements are
/// resharded.
LogicalResult ReshardInserter::visitManual(ManualReshardOp manual) {
  Value operand = manual.getOperand();
  ShardingAttr wanted = makeCanonical(manual.getSource(), operand.getType());
  ShardingAttr made = makeCanonical(manual.getSharding(), operand.getType());
  if (isFreeValue(operand) && !values.getPlacement(operand))
    operand = values.makeFree(operand, wanted.withoutPartial());
  ShardingAttr now = values.getPlacement(operand);
  if (!haveSameSum(now, wanted)) {
    InFlightDiagnostic error =
        manual.emitOpError()
        << "takes a value that is " << wanted << ", but here it is " << now
        << "; "
        << (wanted.isPartial() ? sayPending(wanted.getPartialAxes())
                               : "it has to take the sum as it is "
                                 "pending, or an all_reduce before it "
                                 "completes it");
    if (Operation *source = operand.getDefiningOp())
      error.attachNote(source->getLoc()) << "the value is made here";
    return error;
  }
  wanted = values.place(wanted.getDims(), now.getPartialKind(),
                        now.getPartialAxes());
  auto cause = [&] {
    return manual.getCause() ? manual.getCause()->str()
                             : std::string("dist.manual_reshard");
  };
  manual.getOperandMutable().assign(
      values.getAs(operand, wanted, manual, cause));
  manual.setSourceAttr(wanted);
  manual.setShardingAttr(made);
  values.setPlacement(manual.getResult(), made);
  values.setShardings(manual, {made});
  return success();
}

/// The placement that a sync asks for, and where.
static std::string describeSync(SyncOp sync, ArrayRef<AxisRefAttr> axes) {
  if (StringAttr cause = sync.getCauseAttr())
    return cause.str();
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "dist.sync " << stringifySyncMode(sync.getMode()) << " "
     << stringifySyncKind(sync.getKind());
  if (sync.getDim())
    os << " dim " << *sync.getDim();
  os << " over " << printAxes(axes);
  if (std::string at = describeFileLine(sync.getLoc()); !at.empty())
    os << " (" << at << ")";
  return text;
}

/// The value stays as it is, and complete; the halo is for readers in windows,
/// once ops are local.
LogicalResult ReshardInserter::visitHalo(SyncOp sync, Value operand,
                                         ArrayRef<AxisRefAttr> axes) {
  ShardingAttr wanted = values.getCompleted(operand);
  int64_t dim = *sync.getDim();
  auto type = cast<RankedTensorType>(operand.getType());
  SmallVector<Piece, 2> pieces =
      layout.pieces(wanted.getDims()[dim], type.getDimSize(dim));
  SmallVector<AxisRefAttr> has(pieces.back().axes.begin(),
                               pieces.back().axes.end()),
      asked(axes);
  layout.refine(has, axes);
  layout.refine(asked, pieces.back().axes);
  if (pieces.size() != 1 || has != asked) {
    InFlightDiagnostic error = sync.emitOpError()
                               << "'halo' over " << printAxes(axes)
                               << " needs a value whose dimension " << dim
                               << " is sharded over just them, but here it is "
                               << wanted << "; " << sayCut(sync, dim, axes);
    if (Operation *source = operand.getDefiningOp())
      error.attachNote(source->getLoc()) << "the value is made here";
    return error;
  }
  Value ready = values.getAs(operand, wanted, sync,
                             [&] { return describeSync(sync, axes); });
  sync.getOperandMutable().assign(ready);
  sync.setCauseAttr(StringAttr::get(context, describeSync(sync, axes)));
  values.setPlacement(sync.getResult(), wanted);
  values.setShardings(sync, {wanted});
  values.setSynced(sync.getResult());
  return success();
}

LogicalResult ReshardInserter::visitSync(SyncOp sync) {
  Value operand = sync.getOperand();
  if (isFreeValue(operand) && !values.getPlacement(operand))
    operand = values.makeFree(operand, values.replicated(operand));
  ShardingAttr now = values.getPlacement(operand);
  auto type = cast<RankedTensorType>(operand.getType());
  // Axes of one device need no communication.
  SmallVector<AxisRefAttr> axes = getAxisRefs(sync.getAxes());
  llvm::erase_if(axes,
                 [&](AxisRefAttr axis) { return layout.size(axis) == 1; });
  if (sync.getKind() == SyncKind::Halo && !axes.empty())
    return visitHalo(sync, operand, axes);
  if (sync.getKind() == SyncKind::Halo) {
    sync.getResult().replaceAllUsesWith(operand);
    values.erase(sync);
    return success();
  }
  StringRef kind = stringifySyncKind(sync.getKind());
  bool needsPartial = sync.getKind() == SyncKind::AllReduce ||
                      sync.getKind() == SyncKind::ReduceScatter;
  auto contradict = [&](const Twine &wanted,
                        const Twine &remedy) -> LogicalResult {
    InFlightDiagnostic error = sync.emitOpError()
                               << "'" << kind << "' over " << printAxes(axes)
                               << " needs a value that is " << wanted.str()
                               << ", but here it is " << now << "; "
                               << remedy.str();
    if (Operation *source = operand.getDefiningOp())
      error.attachNote(source->getLoc()) << "the value is made here";
    // The module's inputs were sharded, and its sums with them.
    if (needsPartial)
      for (auto [dim, sharding] : llvm::enumerate(now.getDims()))
        if (anyOverlap(axes, sharding.getAllAxes()))
          error.attachNote(sync.getLoc())
              << "it is computed in parts of dimension " << dim
              << ": a 'column' directive does so, where 'row' leaves a sum; or "
              << "what the module takes is cut, where 'fwd_pre all_gather dim "
              << dim << "' of the module makes it whole";
    return error;
  };
  SmallVector<DimShardingAttr, 4> dims(now.getDims());
  SmallVector<AxisRefAttr, 2> partial(now.getPartialAxes());
  if (needsPartial) {
    if (failed(takePending(layout, axes, partial)))
      return contradict("partial over them", sayPending(axes));
  }
  if (sync.getKind() == SyncKind::AllGather ||
      sync.getKind() == SyncKind::AllToAll) {
    int64_t dim = *sync.getDim();
    SmallVector<Piece, 2> pieces =
        layout.pieces(dims[dim], type.getDimSize(dim));
    auto &list = pieces.back().axes;
    SmallVector<AxisRefAttr> atoms(axes);
    layout.refine(list, atoms);
    layout.refine(atoms, list);
    if (list.size() < atoms.size() ||
        ArrayRef(list).take_back(atoms.size()) != ArrayRef(atoms))
      return contradict("sharded over them on dimension " + Twine(dim),
                        sayCut(sync, dim, axes));
    list.pop_back_n(atoms.size());
    dims[dim] = layout.canonical(pieces);
  }
  if (sync.getKind() != SyncKind::AllGather &&
      sync.getKind() != SyncKind::AllReduce) {
    int64_t dim = sync.getKind() == SyncKind::AllToAll ? *sync.getToDim()
                                                       : *sync.getDim();
    for (DimShardingAttr other : dims)
      if (anyOverlap(axes, other.getAllAxes()))
        return contradict("not sharded over them",
                          "an all_gather before it makes it whole");
    if (sync.getKind() == SyncKind::Scatter && anyOverlap(axes, partial))
      return contradict("not partial over them",
                        "'reduce_scatter' completes the sum as it cuts it");
    dims[dim] =
        layout.append(dims[dim], type.getDimSize(dim), axes, sync.getGroups());
    if (!dims[dim])
      return contradict("divided by them in each interleaved block of "
                        "dimension " +
                            Twine(dim),
                        "'groups' says how many blocks it has, which the axes "
                        "have to divide");
  }
  ShardingAttr wanted = values.place(dims, now.getPartialKind(), partial);
  Value ready = values.getAs(operand, wanted, sync,
                             [&] { return describeSync(sync, axes); });
  values.setSynced(ready);
  sync.getResult().replaceAllUsesWith(ready);
  values.erase(sync);
  return success();
}
