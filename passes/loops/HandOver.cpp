//===- HandOver.cpp - What backward keeps of each turn --------------------===//

#include "passes/loops/HandOver.h"
#include "dialects/dist/IR/Gradients.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/loops/Replay.h"

using namespace mlir;
using namespace mlir::dist;

bool mlir::dist::canBeKept(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.hasStaticShape() : type.isIntOrIndexOrFloat();
}

LogicalResult mlir::dist::checkKept(Value value) {
  if (canBeKept(value.getType()))
    return success();
  InFlightDiagnostic diagnostic =
      emitError(value.getLoc(), "is needed by the gradient of what is around "
                                "it, and values of type ")
      << value.getType() << " cannot be kept for it";
  if (isa<RankedTensorType>(value.getType()))
    diagnostic << ": sizes are to be known (--bind)";
  return diagnostic;
}

/// The attribute is that of each op, those within others included.
void mlir::dist::markBackward(Region &region) {
  for (Operation &op : region.front().without_terminator())
    op.setDiscardableAttr(kBackwardAttr, UnitAttr::get(op.getContext()));
}

/// A slice of no elements would begin where nothing is.
static bool hasNothing(RankedTensorType type) {
  return llvm::is_contained(type.getShape(), 0);
}

/// Offsets, sizes and strides of one round's part.
static std::array<SmallVector<OpFoldResult>, 3>
getPart(OpBuilder &b, RankedTensorType type, Value round) {
  std::array<SmallVector<OpFoldResult>, 3> out;
  out[0].assign(type.getRank() + 1, b.getIndexAttr(0));
  out[0].front() = round;
  out[1].push_back(b.getIndexAttr(1));
  llvm::append_range(out[1],
                     getAsIndexOpFoldResult(b.getContext(), type.getShape()));
  out[2].assign(type.getRank() + 1, b.getIndexAttr(1));
  return out;
}

static Value keep(OpBuilder &at, Location loc, Value value, Value all,
                  Value round) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return tensor::InsertOp::create(at, loc, value, all, round);
  if (hasNothing(type))
    return all;
  auto [offsets, sizes, strides] = getPart(at, type, round);
  return tensor::InsertSliceOp::create(at, loc, value, all, offsets, sizes,
                                       strides);
}

static Value recall(OpBuilder &at, Location loc, Value value, Value all,
                    Value round) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return tensor::ExtractOp::create(at, loc, all, round);
  if (hasNothing(type))
    return tensor::EmptyOp::create(at, loc, type.getShape(),
                                   type.getElementType());
  auto [offsets, sizes, strides] = getPart(at, type, round);
  return tensor::ExtractSliceOp::create(at, loc, type, all, offsets, sizes,
                                        strides);
}

FailureOr<scf::ForOp> mlir::dist::handOver(scf::ForOp loop, scf::ForOp backward,
                                           int64_t turns) {
  Location loc = loop.getLoc();
  Replay replay(loop.getRegion(), backward.getRegion(), loop.getInductionVar());
  for (Value value : replay.getSaved())
    if (failed(checkKept(value)))
      return failure();
  OpBuilder before(loop);
  SmallVector<Value> inits(loop.getInitArgs());
  for (Value value : replay.getSaved()) {
    SmallVector<int64_t> shape{turns};
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      llvm::append_range(shape, type.getShape());
    inits.push_back(tensor::EmptyOp::create(
        before, loc, shape, getElementTypeOrSelf(value.getType())));
  }
  auto made = scf::ForOp::create(before, loc, loop.getLowerBound(),
                                 loop.getUpperBound(), loop.getStep(), inits);
  made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  made.setUnsignedCmp(loop.getUnsignedCmp());
  made.getRegion().takeBody(loop.getRegion());
  Block &body = *made.getBody();

  // The number of the round, from 0 on.
  Value counter = made.getInductionVar();
  OpBuilder inner(loop.getContext());
  auto toIndex = [&](OpBuilder &at, Value value) -> Value {
    if (value.getType().isIndex())
      return value;
    // A number of rounds, which may fill a narrow type.
    return arith::IndexCastUIOp::create(at, loc, at.getIndexType(), value);
  };
  inner.setInsertionPointToStart(&body);
  Value round = counter;
  if (!replay.getSaved().empty() &&
      !(getConstantIntValue(made.getLowerBound()) == 0 &&
        getConstantIntValue(made.getStep()) == 1)) {
    Value past =
        arith::SubIOp::create(inner, loc, counter, made.getLowerBound());
    round = arith::DivUIOp::create(inner, loc, past, made.getStep());
  }
  if (!replay.getSaved().empty())
    round = toIndex(inner, round);
  Operation *first = round.getDefiningOp();
  SmallVector<Value> yielded(body.getTerminator()->getOperands());
  for (Value value : replay.getSaved()) {
    Value all =
        body.addArgument(inits[yielded.size()].getType(), value.getLoc());
    // Before anything overwrites it.
    Operation *maker = value.getDefiningOp();
    if (!maker)
      maker = first;
    if (maker)
      inner.setInsertionPointAfter(maker);
    else
      inner.setInsertionPointToStart(&body);
    yielded.push_back(keep(inner, loc, value, all, round));
  }
  body.getTerminator()->setOperands(yielded);

  inner.setInsertionPointToStart(backward.getBody());
  IRMapping mapping;
  Value last = arith::ConstantIndexOp::create(inner, loc, turns - 1);
  Value past =
      arith::SubIOp::create(inner, loc, last, backward.getInductionVar());
  Value steps = past;
  if (!counter.getType().isIndex())
    steps = arith::IndexCastOp::create(inner, loc, counter.getType(), past);
  Value moved = arith::MulIOp::create(inner, loc, steps, made.getStep());
  mapping.map(counter, Value(arith::AddIOp::create(inner, loc, moved,
                                                   made.getLowerBound())));
  ValueRange kept = made.getResults().drop_front(loop.getNumResults());
  for (auto [value, all] : llvm::zip_equal(replay.getSaved(), kept))
    mapping.map(value, recall(inner, loc, value, all, past));
  replay.connect(inner, mapping);
  markBackward(backward.getRegion());
  return made;
}
