//===- Placements.cpp - Random meshes, shardings, constraints, syncs ------===//

#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Interfaces/Placement.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "test/generator/RandomProgram.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

MeshOp mlir::dist::test::makeMesh(RandomProgram &p) {
  // Up to three axes and twelve devices.
  static const SmallVector<int64_t> kMeshes[] = {
      {2},       {4},       {3},    {2, 2},    {6},  {8},    {2, 3}, {4, 2},
      {2, 2, 2}, {5},       {2, 4}, {3, 2, 2}, {12}, {2, 6}, {3, 3}, {1},
      {7},       {2, 1, 3}, {4, 3}, {2, 3, 2}, {9},  {10}};
  ArrayRef<int64_t> sizes = kMeshes[p.c.below(std::size(kMeshes))];
  SmallVector<MeshAxisAttr> axes;
  MLIRContext *context = p.b.getContext();
  for (auto [i, size] : llvm::enumerate(sizes))
    axes.push_back(MeshAxisAttr::get(context, std::string(1, "xyz"[i]), size));
  p.b.setInsertionPointToStart(p.module.getBody());
  return MeshOp::create(p.b, p.loc, p.b.getStringAttr("m"),
                        MeshAxesAttr::get(context, axes));
}

static MeshOp getMesh(RandomProgram &p) {
  return *p.module.getOps<MeshOp>().begin();
}

/// The axes of the mesh, some of them cut into parts, in random order.
static SmallVector<AxisRefAttr> pickAxes(RandomProgram &p) {
  MLIRContext *context = p.b.getContext();
  SmallVector<AxisRefAttr> parts;
  for (MeshAxisAttr axis : getMesh(p).getAxes()) {
    int64_t size = axis.getSize();
    SmallVector<int64_t> factors;
    for (int64_t factor : {2, 3, 4})
      if (size % factor == 0 && size > factor)
        factors.push_back(factor);
    if (factors.empty() || !p.c.chance(25)) {
      parts.push_back(AxisRefAttr::get(context, axis.getName(), 1, 0));
      continue;
    }
    int64_t major = p.c.pick(ArrayRef(factors));
    parts.push_back(AxisRefAttr::get(context, axis.getName(), 1, major));
    parts.push_back(
        AxisRefAttr::get(context, axis.getName(), major, size / major));
  }
  SmallVector<AxisRefAttr> out;
  for (int64_t i : p.c.permutation(parts.size()))
    out.push_back(parts[i]);
  return out;
}

/// An interleaved dimension, where the sizes allow one.
static DimShardingAttr interleave(RandomProgram &p, const MeshLayout &layout,
                                  ArrayRef<AxisRefAttr> axes, int64_t size,
                                  bool isOpen) {
  int64_t devices = layout.size(axes);
  for (int64_t groups : {3, 2, 4})
    if (size % groups == 0 && size / groups % devices == 0 && size > 0) {
      MLIRContext *context = p.b.getContext();
      SubDimAttr blocks = SubDimAttr::get(context, groups, {});
      SubDimAttr rest = SubDimAttr::get(context, 0, axes);
      return DimShardingAttr::get(context, {blocks, rest}, isOpen);
    }
  return {};
}

ShardingAttr mlir::dist::test::makeSharding(RandomProgram &p,
                                            ArrayRef<int64_t> shape) {
  MLIRContext *context = p.b.getContext();
  MeshLayout layout(getMesh(p));
  SmallVector<SmallVector<AxisRefAttr>> lists(shape.size());
  if (!shape.empty())
    for (AxisRefAttr axis : pickAxes(p))
      if (!p.c.chance(35))
        lists[p.c.below(shape.size())].push_back(axis);
  SmallVector<DimShardingAttr> dims;
  unsigned openness = p.c.below(3); // closed, open, mixed
  for (auto [list, size] : llvm::zip_equal(lists, shape)) {
    bool isOpen = openness == 1 || (openness == 2 && p.c.chance(50));
    DimShardingAttr dim;
    if (!list.empty() && p.c.chance(10))
      dim = interleave(p, layout, list, size, isOpen);
    if (!dim)
      dim = DimShardingAttr::get(context, ArrayRef(list), isOpen);
    dims.push_back(dim);
  }
  return ShardingAttr::get(context, layout.getName(), dims, ReductionKind::Sum,
                           {});
}

void mlir::dist::test::placeBoundary(RandomProgram &p) {
  for (BlockArgument argument : p.function.getArguments())
    if (auto type = dyn_cast<RankedTensorType>(argument.getType()))
      if (!p.c.chance(25))
        p.function.setArgAttr(argument.getArgNumber(), kShardingAttr,
                              makeSharding(p, type.getShape()));
  for (auto [number, result] : llvm::enumerate(p.function.getResultTypes()))
    if (auto type = dyn_cast<RankedTensorType>(result))
      if (p.c.chance(40))
        p.function.setResultAttr(number, kShardingAttr,
                                 makeSharding(p, type.getShape()));
}

bool mlir::dist::test::makeConstraint(RandomProgram &p) {
  Value x = p.pickTensor();
  RankedTensorType type = p.typeOf(x);
  p.add(ShardingConstraintOp::create(p.b, p.loc, type, x,
                                     makeSharding(p, type.getShape()),
                                     StringAttr(), ArrayAttr()),
        p.rangeOf(x));
  return true;
}

/// A sync: mostly one that the placement before it allows, because a constraint
/// sets it; all_reduce and reduce_scatter after whatever may be pending.
bool mlir::dist::test::makeSync(RandomProgram &p) {
  Value x = p.pickTensor(1, 4);
  RankedTensorType type = p.typeOf(x);
  int64_t rank = type.getRank(), dim = p.c.below(rank);
  SmallVector<AxisRefAttr> axes = pickAxes(p);
  axes.resize(1);
  MLIRContext *context = p.b.getContext();
  Bounds range = p.rangeOf(x);
  unsigned which = p.c.below(5);
  SyncKind kind = which == 0   ? SyncKind::AllGather
                  : which == 1 ? SyncKind::Scatter
                  : which == 2 ? SyncKind::AllToAll
                  : which == 3 ? SyncKind::ReduceScatter
                               : SyncKind::AllReduce;
  if (kind == SyncKind::AllToAll && rank < 2)
    return false;
  bool isReduction =
      kind == SyncKind::ReduceScatter || kind == SyncKind::AllReduce;
  // Mostly after what may leave a reduction pending: others are refused.
  auto source = x.getDefiningOp<linalg::LinalgOp>();
  if (isReduction && !(source && source.getNumReductionLoops()) &&
      !p.c.chance(10))
    return false;
  if (!isReduction) {
    SmallVector<DimShardingAttr> dims(
        rank, DimShardingAttr::get(context, ArrayRef<AxisRefAttr>()));
    if (kind != SyncKind::Scatter)
      dims[dim] = DimShardingAttr::get(context, axes);
    x = ShardingConstraintOp::create(
        p.b, p.loc, type, x,
        ShardingAttr::get(context, FlatSymbolRefAttr::get(context, "m"), dims,
                          ReductionKind::Sum, {}),
        StringAttr(), ArrayAttr());
  }
  IntegerAttr from = p.b.getI64IntegerAttr(dim), to;
  if (kind == SyncKind::AllReduce)
    from = {};
  if (kind == SyncKind::AllToAll)
    to = p.b.getI64IntegerAttr((dim + 1 + p.c.below(rank - 1)) % rank);
  SmallVector<Attribute> refs(axes.begin(), axes.end());
  OperationState state(p.loc, SyncOp::getOperationName());
  SyncOp::build(p.b, state, TypeRange(type), x, StringAttr(),
                SyncModeAttr::get(context, SyncMode::FwdPost),
                /*number=*/IntegerAttr(), SyncKindAttr::get(context, kind),
                from, to,
                /*low=*/IntegerAttr(), /*high=*/IntegerAttr(), BoundaryAttr(),
                p.b.getArrayAttr(refs), p.b.getI64IntegerAttr(1),
                /*function=*/FlatSymbolRefAttr(),
                /*backward=*/FlatSymbolRefAttr(), FlatSymbolRefAttr(),
                /*except=*/StringAttr(), UnitAttr(),
                /*expect=*/IntegerAttr(), StringAttr());
  p.add(p.b.create(state)->getResult(0), range);
  return true;
}

/// Values inside the program that a constraint may follow: all but those in the
/// bodies of structured ops.
static SmallVector<Value> getTensors(ModuleOp module) {
  SmallVector<Value> out;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults())
      if (auto type = dyn_cast<RankedTensorType>(result.getType()))
        if (type.hasStaticShape() && !result.use_empty())
          out.push_back(result);
    bool isStructured =
        isa<linalg::LinalgOp, tensor::GenerateOp, tensor::PadOp, scf::ForallOp>(
            op);
    return isStructured ? WalkResult::skip() : WalkResult::advance();
  });
  return out;
}

void mlir::dist::test::placeProgram(RandomProgram &p, ModuleOp module) {
  p.module = module;
  p.function = cast<func::FuncOp>(getEntryFunction(module));
  makeMesh(p);
  placeBoundary(p);
  SmallVector<Value> tensors = getTensors(module);
  for (unsigned i = p.c.below(3); i > 0 && !tensors.empty(); --i) {
    Value x = p.c.pick(ArrayRef<Value>(tensors));
    p.b.setInsertionPointAfterValue(x);
    RankedTensorType type = p.typeOf(x);
    auto constraint = ShardingConstraintOp::create(
        p.b, p.loc, type, x, makeSharding(p, type.getShape()), StringAttr(),
        ArrayAttr());
    x.replaceAllUsesExcept(constraint, constraint);
  }
}
