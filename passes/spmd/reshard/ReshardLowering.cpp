//===- ReshardLowering.cpp - A reshard as collectives ---------------------===//
//
// Interleaved dimensions are taken apart into their sub-dimensions, so that
// each collective works on one dimension; where blocks are uneven they are
// padded before and cut to size after.
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/reshard/ReshardLowering.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/Interfaces/Reductions.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "dialects/dist/Utils/Slices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/spmd/graph/PendingReductions.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
using Pieces = SmallVector<SmallVector<Piece, 2>, 4>;

class Lowering {
public:
  Lowering(OpBuilder &b, Location loc, const MeshLayout &layout,
           StringAttr cause, Attribute scope)
      : b(b), loc(loc), layout(layout), cause(cause), scope(scope) {}

  Value run(Value local, const ReshardProblem &problem,
            const ReshardPlan &plan);

private:
  int64_t extent(const Piece &piece) const {
    int64_t size = piece.size;
    for (AxisRefAttr axis : piece.axes)
      size = getBlockSize(size, layout.size(axis));
    return size;
  }
  RankedTensorType withSize(Value value, int64_t dim, int64_t size) const {
    SmallVector<int64_t> shape(typeOf(value).getShape());
    shape[dim] = size;
    return typeOf(value).clone(shape);
  }
  template <typename OpTy> Value mark(OpTy op) {
    if (scope)
      op->setDiscardableAttr(kScopeAttr, scope);
    return op.getResult();
  }
  /// Pads dimension `dim` at its end to `size`.
  Value pad(Value value, int64_t dim, int64_t size);
  /// Cuts dimension `dim` to its first `size` elements.
  Value cut(Value value, int64_t dim, int64_t size);
  Value makePartial(Value value, ArrayRef<AxisRefAttr> axes,
                    ReductionKind kind);
  Value step(Value value, const ReshardStep &step, const Pieces &before,
             ReductionKind kind);

  OpBuilder &b;
  Location loc;
  const MeshLayout &layout;
  StringAttr cause;
  Attribute scope;
};
} // namespace

Value Lowering::pad(Value value, int64_t dim, int64_t size) {
  int64_t have = typeOf(value).getDimSize(dim);
  if (have == size)
    return value;
  SmallVector<OpFoldResult> low(typeOf(value).getRank(), b.getIndexAttr(0));
  TypedAttr nothing = b.getZeroAttr(typeOf(value).getElementType());
  if (!nothing) {
    // Of elements without such an attribute (complex numbers) the padding is
    // left as it is: it may hold anything.
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, value);
    SmallVector<OpFoldResult> padded = sizes;
    padded[dim] = b.getIndexAttr(size);
    SmallVector<OpFoldResult> ones(low.size(), b.getIndexAttr(1));
    Value empty =
        tensor::EmptyOp::create(b, loc, padded, typeOf(value).getElementType());
    return tensor::InsertSliceOp::create(b, loc, value, empty, low, sizes,
                                         ones);
  }
  SmallVector<OpFoldResult> high = low;
  high[dim] = b.getIndexAttr(size - have);
  Value zero = arith::ConstantOp::create(b, loc, nothing);
  return tensor::PadOp::create(b, loc, withSize(value, dim, size), value, low,
                               high, zero);
}

Value Lowering::cut(Value value, int64_t dim, int64_t size) {
  if (typeOf(value).getDimSize(dim) == size)
    return value;
  // A slice of nothing is not legal.
  if (llvm::is_contained(typeOf(value).getShape(), 0)) {
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, value);
    sizes[dim] = b.getIndexAttr(size);
    return tensor::EmptyOp::create(b, loc, sizes,
                                   typeOf(value).getElementType());
  }
  return sliceAlong(b, loc, value, dim, 0, size);
}

Value Lowering::makePartial(Value value, ArrayRef<AxisRefAttr> axes,
                            ReductionKind kind) {
  if (isNeutral(value, kind))
    return value;
  Value coordinate =
      AxisIndexOp::create(b, loc, layout.getAxesAttr(axes), layout.getName());
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, coordinate, zero);
  Type element = typeOf(value).getElementType();
  Value neutral =
      arith::ConstantOp::create(b, loc, getNeutral(b, element, kind));
  return mapElements(
      b, loc, value, element,
      [&](OpBuilder &inner, Location at, ValueRange args) -> Value {
        return arith::SelectOp::create(inner, at, isFirst, args[0], neutral);
      });
}

Value Lowering::step(Value value, const ReshardStep &step, const Pieces &before,
                     ReductionKind kind) {
  // Dimensions of the taken-apart tensor are numbered across dimensions.
  auto flat = [&](int64_t dim, int64_t piece) {
    for (int64_t d = 0; d < dim; ++d)
      piece += before[d].size();
    return piece;
  };
  int64_t p = layout.size(step.axes);
  ArrayAttr axes = layout.getAxesAttr(step.axes);
  FlatSymbolRefAttr mesh = layout.getName();
  auto reduction = ReductionKindAttr::get(b.getContext(), kind);
  using Kind = ReshardStep::Kind;
  int64_t from = step.dimFrom < 0 ? -1 : flat(step.dimFrom, step.pieceFrom);
  int64_t to = step.dimTo < 0 ? -1 : flat(step.dimTo, step.pieceTo);
  int64_t fromAfter =
      from < 0 ? 0 : extent(step.after[step.dimFrom][step.pieceFrom]);
  int64_t toAfter = to < 0 ? 0 : extent(step.after[step.dimTo][step.pieceTo]);
  switch (step.kind) {
  case Kind::AllReduce:
    return mark(AllReduceOp::create(b, loc, value.getType(), value, reduction,
                                    axes, mesh, cause));
  case Kind::AllSlice:
    value = pad(value, to, multiplySizes(toAfter, p));
    return mark(AllSliceOp::create(b, loc, withSize(value, to, toAfter), value,
                                   b.getI64IntegerAttr(to), axes, mesh, cause));
  case Kind::ReduceScatter:
    value = pad(value, to, multiplySizes(toAfter, p));
    return mark(ReduceScatterOp::create(
        b, loc, withSize(value, to, toAfter), value, reduction,
        b.getI64IntegerAttr(to), axes, mesh, cause));
  case Kind::AllGather: {
    int64_t all = multiplySizes(typeOf(value).getDimSize(from), p);
    Value gathered =
        mark(AllGatherOp::create(b, loc, withSize(value, from, all), value,
                                 b.getI64IntegerAttr(from), axes, mesh, cause));
    return cut(gathered, from, fromAfter);
  }
  case Kind::AllToAll: {
    value = pad(value, to, multiplySizes(toAfter, p));
    SmallVector<int64_t> shape(typeOf(value).getShape());
    shape[to] = toAfter;
    shape[from] = multiplySizes(shape[from], p);
    Value moved = mark(AllToAllOp::create(
        b, loc, typeOf(value).clone(shape), value, b.getI64IntegerAttr(to),
        b.getI64IntegerAttr(from), axes, mesh, cause));
    return cut(moved, from, fromAfter);
  }
  case Kind::CollectivePermute:
    return mark(CollectivePermuteOp::create(
        b, loc, value.getType(), value, axes, layout.getAxesAttr(step.toAxes),
        /*reversed=*/UnitAttr(), mesh, cause));
  case Kind::MakePartial:
    return makePartial(value, step.axes, kind);
  }
  llvm_unreachable("all kinds of steps are handled");
}

Value Lowering::run(Value local, const ReshardProblem &problem,
                    const ReshardPlan &plan) {
  if (plan.empty())
    return local;
  // Take interleaved dimensions apart.
  SmallVector<ReassociationIndices> groups;
  SmallVector<int64_t> shape;
  for (const auto &pieces : problem.from) {
    ReassociationIndices group;
    for (const Piece &piece : pieces) {
      group.push_back(shape.size());
      shape.push_back(extent(piece));
    }
    groups.push_back(group);
  }
  bool isInterleaved = shape.size() != problem.from.size();
  Value value = local;
  if (isInterleaved)
    value = tensor::ExpandShapeOp::create(b, loc, typeOf(local).clone(shape),
                                          local, groups);
  Pieces before = problem.from;
  for (const ReshardStep &next : plan) {
    value = step(value, next, before, problem.kind);
    before = next.after;
  }
  if (isInterleaved)
    value = tensor::CollapseShapeOp::create(b, loc, value, groups);
  return value;
}

FailureOr<Value> mlir::dist::lowerReshard(OpBuilder &builder, Location loc,
                                          const MeshLayout &layout,
                                          ReshardPlanner &planner, Value local,
                                          RankedTensorType global,
                                          ShardingAttr from, ShardingAttr to,
                                          StringAttr cause, Attribute scope) {
  if (from == to)
    return local;
  const ReshardRoute *route = planner.get(global, from, to);
  if (!route)
    return failure();
  Lowering lowering(builder, loc, layout, cause, scope);
  for (const ReshardLeg &leg : route->legs)
    local = lowering.run(local, leg.problem, leg.steps);
  return local;
}
