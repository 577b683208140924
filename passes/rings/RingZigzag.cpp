//===- RingZigzag.cpp - Halves of queries, exchanged end for end ----------===//
//
// Under a causal mask, the queries of device r see r + 1 of p blocks of keys.
// So the last device computes with all blocks and the first one with one. In
// zigzag, devices r and p - 1 - r exchange the first halves of their queries,
// so that each computes with (r + 1) / 2 + (p - r) / 2 blocks.
//
// Llama Team, "The Llama 3 herd of models", 2024, 3.3.2 has chunks i and
// 2p - 1 - i on one device. There the sequence is cut in that way, and keys as
// well. Here keys and all placements stay in order. That sends less. It
// balances the sum over the steps, not each step.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/Interfaces/Placement.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/attention/KeyWindow.h"
#include "passes/rings/RingWriter.h"

using namespace mlir;
using namespace mlir::dist;

Value RingWriter::exchangeWithMirrorRank(Value tensor, const Twine &what) {
  return CollectivePermuteOp::create(b, loc, tensor.getType(), tensor,
                                     ring.axes, ring.axes, b.getUnitAttr(),
                                     mesh, getCause("zigzag: " + what));
}

std::pair<Value, Value> RingWriter::exchangeWithMirrorRank(Value x, Value y,
                                                           const Twine &what) {
  if (x.getType() != y.getType())
    return {exchangeWithMirrorRank(x, what), exchangeWithMirrorRank(y, what)};
  RankedTensorType type = typeOf(x);
  SmallVector<int64_t> shape = {1};
  llvm::append_range(shape, type.getShape());
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    groups.push_back(dim == 0 ? ReassociationIndices{0, 1}
                              : ReassociationIndices{dim + 1});
  auto expand = [&](Value tensor) -> Value {
    return tensor::ExpandShapeOp::create(b, loc, type.clone(shape), tensor,
                                         groups);
  };
  Value both = exchangeWithMirrorRank(
      tensor::ConcatOp::create(b, loc, /*dim=*/0,
                               ValueRange{expand(x), expand(y)}),
      what);
  auto take = [&](int64_t number) -> Value {
    SmallVector<OpFoldResult> offsets(shape.size(), b.getIndexAttr(0)),
        sizes = getAsIndexOpFoldResult(b.getContext(), shape),
        strides(shape.size(), b.getIndexAttr(1));
    offsets[0] = b.getIndexAttr(number);
    return tensor::ExtractSliceOp::create(b, loc, type, both, offsets, sizes,
                                          strides);
  };
  return {take(0), take(1)};
}

Value RingWriter::cutHalf(Value tensor, int64_t dim, bool isFirst) {
  RankedTensorType type = typeOf(tensor);
  SmallVector<int64_t> shape(type.getShape());
  int64_t half = getFirstHalf(shape[dim]);
  SmallVector<OpFoldResult> offsets(shape.size(), b.getIndexAttr(0)),
      strides(shape.size(), b.getIndexAttr(1));
  if (!isFirst)
    offsets[dim] = b.getIndexAttr(half);
  shape[dim] = isFirst ? half : shape[dim] - half;
  return tensor::ExtractSliceOp::create(
      b, loc, type.clone(shape), tensor, offsets,
      getAsIndexOpFoldResult(b.getContext(), shape), strides);
}

Value RingWriter::join(Value firstHalf, Value secondHalf, int64_t dim) {
  return tensor::ConcatOp::create(b, loc, dim,
                                  ValueRange{firstHalf, secondHalf});
}

Queries RingWriter::getOwn(Queries::Kind kind) {
  auto cut = [&](unsigned operand) -> Value {
    Value tensor = op->getOperand(operand);
    std::optional<unsigned> place = placeOf(operand, op.getQueryDim());
    if (kind == Queries::Own || !place)
      return tensor;
    return cutHalf(tensor, *place, /*isFirst=*/false);
  };
  Queries queries;
  queries.kind = kind;
  if (kind == Queries::OwnSecondHalf)
    queries.first = getFirstHalf(op.getDimSizes()[op.getQueryDim()]);
  queries.tensor = cut(0);
  for (unsigned number = 0; number < op.getExtras().size(); ++number)
    queries.extras.push_back(padExtra(number, cut(3 + number)));
  return queries;
}

/// Whether all devices of the ring have the same.
bool RingWriter::isSameForAll(Value value) const {
  Operation *maker = value.getDefiningOp();
  return ring.uniform->contains(value) ||
         (maker && maker->hasTrait<OpTrait::ConstantLike>());
}

/// The value, on the device at the other end, of a scalar that depends on
/// coordinates; null if it is unknown.
Value RingWriter::getMirrors(Value scalar, IRMapping &known) {
  if (Value there = known.lookupOrNull(scalar))
    return there;
  if (isSameForAll(scalar))
    return scalar;
  Operation *maker = scalar.getDefiningOp();
  if (!maker)
    return {};
  if (auto coordinate = dyn_cast<AxisIndexOp>(maker)) {
    SmallVector<AxisRefAttr> axes = getAxisRefs(coordinate.getAxes()),
                             along = getAxisRefs(ring.axes);
    if (!llvm::all_of(axes, [&](AxisRefAttr axis) {
          return llvm::is_contained(along, axis);
        }))
      return llvm::any_of(
                 axes,
                 [&](AxisRefAttr axis) { return anyOverlap(axis, along); })
                 ? Value()
                 : scalar;
    int64_t size = getGroupSize(
        axes, lookupMesh(coordinate, coordinate.getMeshAttr()).getAxes());
    Value there = arith::SubIOp::create(b, loc, index(size - 1), scalar);
    known.map(scalar, there);
    return there;
  }
  if (!isPure(maker) || maker->getNumRegions() > 0 ||
      llvm::any_of(maker->getOperandTypes(), llvm::IsaPred<ShapedType>))
    return {};
  IRMapping operands;
  for (Value operand : maker->getOperands()) {
    Value there = getMirrors(operand, known);
    if (!there)
      return {};
    operands.map(operand, there);
  }
  b.clone(*maker, operands);
  for (Value result : maker->getResults())
    known.map(result, operands.lookup(result));
  return known.lookup(scalar);
}

LogicalResult RingWriter::getMirrors(Queries &queries) {
  queries.kind = Queries::MirrorsFirstHalf;
  auto get = [&](unsigned operand, const Twine &what) {
    Value tensor = op->getOperand(operand);
    std::optional<unsigned> place = placeOf(operand, op.getQueryDim());
    if (!place && isSameForAll(tensor))
      return tensor;
    Value &came = mirrored[tensor];
    if (!came)
      came = exchangeWithMirrorRank(
          place ? cutHalf(tensor, *place, /*isFirst=*/true) : tensor, what);
    return came;
  };
  queries.tensor = get(0, "half of the queries");
  for (unsigned number = 0; number < op.getExtras().size(); ++number)
    queries.extras.push_back(
        padExtra(number, get(3 + number, "what scores of half of the queries "
                                         "are masked or shifted by")));
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(op->getRegions(), used);
  for (Value value : used) {
    Value there = getMirrors(value, queries.outside);
    if (!there) {
      InFlightDiagnostic error = emitUnusable();
      error << "masks or scales differ from device to device by more than "
            << "their coordinates: with zigzag, scores of another device's "
            << "queries cannot be computed: leave 'zigzag' out";
      error.attachNote(value.getLoc()) << "this value";
      return error;
    }
    if (there != value)
      queries.outside.map(value, there);
  }
  return success();
}
