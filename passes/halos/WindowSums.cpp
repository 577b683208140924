//===- WindowSums.cpp - Sums of a device's iterations ---------------------===//
//
// The adjoint of readWindows, step by step. Rows that a device has summed for
// others are sent to their owners by one dist.halo_reduce and added there. The
// last dimension comes first, so that corners take the same way back. Where
// readWindows gathers, a sum is scattered.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/Interfaces/Adjoints.h"
#include "dialects/dist/Interfaces/LocalIndex.h"
#include "dialects/dist/Interfaces/Reductions.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "dialects/dist/Utils/Program.h"
#include "dialects/dist/Utils/Slices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/halos/WindowLowering.h"
#include "passes/spmd/graph/PendingReductions.h"
#include "passes/spmd/graph/PlacementText.h"
#include "passes/spmd/graph/Windows.h"
#include "passes/spmd/reshard/ReshardLowering.h"

using namespace mlir;
using namespace mlir::dist;

/// The value that replaces a tensor as the initial sum.
static Value createFilled(OpBuilder &b, Location loc, Value like,
                          RankedTensorType type, TypedAttr number) {
  SmallVector<OpFoldResult> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    sizes.push_back(type.isDynamicDim(dim)
                        ? tensor::getMixedSize(b, loc, like, dim)
                        : b.getIndexAttr(type.getDimSize(dim)));
  Value value = arith::ConstantOp::create(b, loc, number);
  Value empty = tensor::EmptyOp::create(b, loc, sizes, type.getElementType());
  return linalg::FillOp::create(b, loc, value, empty).getResult(0);
}

/// The initial value of a device's sums. It is the one-device program's initial
/// value if that adds nothing. A sum that begins with 0 is never -0; one that
/// begins with -0 moves rows, so it may be -0. Any other `init` is added to the
/// sums at the end.
static TypedAttr getStart(OpBuilder &b, Value init, bool isAddedTo) {
  Type element = getElementTypeOrSelf(init.getType());
  if (!isAddedTo)
    return b.getZeroAttr(element);
  if (isNeutral(init, ReductionKind::Sum))
    return getConstantNumber(init);
  return getNeutral(b, element, ReductionKind::Sum);
}

namespace {
class Adder {
public:
  Adder(OpBuilder &b, Location loc, const MeshLayout &layout,
        ReshardPlanner &planner, Value part, TypedAttr start, std::string why,
        Attribute scope)
      : b(b), loc(loc), layout(layout), planner(planner), value(part),
        start(start), why(std::move(why)), scope(scope) {}

  /// For a dimension of `size` elements placed as `sharding`.
  LogicalResult addSharded(const WindowRead &read, DimShardingAttr sharding,
                           int64_t size);
  void crop(const WindowRead &read) {
    int64_t size = type().getDimSize(read.window.dim);
    value = sliceAlong(b, loc, value, read.window.dim, read.low,
                       size - read.low - read.high);
  }
  Value take() { return value; }

private:
  RankedTensorType type() const {
    return cast<RankedTensorType>(value.getType());
  }
  Value constant(int64_t number) {
    return arith::ConstantIndexOp::create(b, loc, number);
  }
  Value insert(Value part, Value into, int64_t dim, OpFoldResult offset);
  Value computePlace(const WindowPlan &plan, const Window &window,
                     DimShardingAttr sharding, int64_t before);
  void moveTo(const WindowPlan &plan, const Window &window,
              DimShardingAttr sharding);
  void sendHome(const WindowPlan &plan, int64_t dim,
                ArrayRef<AxisRefAttr> axes);
  LogicalResult scatter(const WindowPlan &plan, int64_t dim,
                        DimShardingAttr sharding);

  OpBuilder &b;
  Location loc;
  const MeshLayout &layout;
  ReshardPlanner &planner;
  Value value;
  /// The value of rows that the device adds nothing to.
  TypedAttr start;
  std::string why;
  Attribute scope;
};
} // namespace

Value Adder::insert(Value part, Value into, int64_t dim, OpFoldResult offset) {
  int64_t rank = type().getRank();
  SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0)),
      ones(rank, b.getIndexAttr(1));
  offsets[dim] = offset;
  return tensor::InsertSliceOp::create(
      b, loc, part, into, offsets, tensor::getMixedSizes(b, loc, part), ones);
}

/// The position of the device's rows, `before` elements behind the first one
/// that it has room for.
Value Adder::computePlace(const WindowPlan &plan, const Window &window,
                          DimShardingAttr sharding, int64_t before) {
  auto getStart = [&](const Blocks &blocks) {
    return getGlobalIndex(b, loc, layout, sharding, blocks.size, constant(0))
        .index;
  };
  Value place = getStart(plan.iterations);
  if (window.stride != 1)
    place = arith::MulIOp::create(b, loc, place, constant(window.stride));
  int64_t more = window.offset + before + (plan.isExchanged ? plan.low : 0);
  place = arith::AddIOp::create(b, loc, place, constant(more));
  if (plan.isExchanged)
    place = arith::SubIOp::create(b, loc, place, getStart(plan.rows));
  return place;
}

/// Adds the device's sums at their positions: among its rows and those that it
/// sends on both sides, or, if these are not exchanged, in the whole dimension.
/// Others are dropped.
void Adder::moveTo(const WindowPlan &plan, const Window &window,
                   DimShardingAttr sharding) {
  int64_t dim = window.dim, length = type().getDimSize(dim);
  int64_t room = plan.isExchanged ? plan.low + plan.rows.extent + plan.high
                                  : plan.rows.size;
  int64_t before = 0, after = 0;
  SmallVector<int64_t> places;
  for (int64_t i : plan.getEnds()) {
    int64_t at = plan.isExchanged ? plan.rows.getStart(i) - plan.low : 0;
    places.push_back(plan.iterations.getStart(i) * window.stride +
                     window.offset - at);
    before = std::max(before, -places.back());
    after = std::max(after, places.back() + length - room);
  }
  bool isFixed = llvm::all_equal(places);
  if (isFixed && before == 0 && after == 0 && length == room)
    return;
  SmallVector<int64_t> shape(type().getShape());
  shape[dim] = before + room + after;
  OpFoldResult place = b.getIndexAttr(places[0] + before);
  if (!isFixed)
    place = computePlace(plan, window, sharding, before);
  Value others = createFilled(b, loc, value, type().clone(shape), start);
  value = sliceAlong(b, loc, insert(value, others, dim, place), dim, before,
                     room);
}

/// Past the ends of the line rows are nobody's.
void Adder::sendHome(const WindowPlan &plan, int64_t dim,
                     ArrayRef<AxisRefAttr> axes) {
  if (plan.low == 0 && plan.high == 0)
    return;
  SmallVector<int64_t> shape(type().getShape());
  shape[dim] = plan.rows.extent;
  auto op = HaloReduceOp::create(
      b, loc, type().clone(shape), value, b.getI64IntegerAttr(dim),
      /*size=*/IntegerAttr(), b.getI64IntegerAttr(plan.low),
      b.getI64IntegerAttr(plan.high), /*periodic=*/UnitAttr(),
      layout.getAxesAttr(axes), layout.getName(), b.getStringAttr(why));
  if (scope)
    op->setDiscardableAttr(kScopeAttr, scope);
  value = op.getResult();
}

LogicalResult Adder::scatter(const WindowPlan &plan, int64_t dim,
                             DimShardingAttr sharding) {
  std::string because = ", scattered as blocks within blocks are uneven";
  if (plan.isLine())
    because = ", scattered as " + std::to_string(plan.low) +
              " rows before and " + std::to_string(plan.high) +
              " after blocks of " + std::to_string(plan.rows.extent) +
              " are more than all others";
  SmallVector<DimShardingAttr> from(type().getRank(), layout.none()), to = from;
  to[dim] = sharding;
  SmallVector<AxisRefAttr> axes;
  addPending(layout, axes, sharding.getAllAxes());
  auto place = [&](ArrayRef<DimShardingAttr> dims, ArrayRef<AxisRefAttr> sums) {
    return ShardingAttr::get(b.getContext(), layout.getName(), dims,
                             ReductionKind::Sum, sums);
  };
  FailureOr<Value> home =
      lowerReshard(b, loc, layout, planner, value, type(), place(from, axes),
                   place(to, {}), b.getStringAttr(why + because), scope);
  if (succeeded(home))
    value = *home;
  return home;
}

LogicalResult Adder::addSharded(const WindowRead &read,
                                DimShardingAttr sharding, int64_t size) {
  WindowPlan plan(layout, sharding, size, read.iterations, read.window);
  moveTo(plan, read.window, sharding);
  if (!plan.isExchanged)
    return scatter(plan, read.window.dim, sharding);
  sendHome(plan, read.window.dim, sharding.getAllAxes());
  return success();
}

int64_t mlir::dist::getReach(const MeshLayout &layout, DimShardingAttr dim,
                             const WindowRead &read) {
  Blocks iterations(layout, dim, read.iterations);
  return (iterations.extent - 1) * read.window.stride + read.window.extent;
}

FailureOr<Value> mlir::dist::addWindows(OpBuilder &builder, Location loc,
                                        const MeshLayout &layout,
                                        ReshardPlanner &planner, Value part,
                                        TypedAttr start, RankedTensorType whole,
                                        ShardingAttr sharding,
                                        ArrayRef<WindowRead> reads,
                                        const Twine &why, Attribute scope) {
  Adder adder(builder, loc, layout, planner, part, start, why.str(), scope);
  auto getSharding = [&](const WindowRead &read) {
    return sharding.getDims()[read.window.dim];
  };
  // Rows that are cut off are not sent.
  for (const WindowRead &read : reads)
    if (getSharding(read) == layout.none())
      adder.crop(read);
  for (const WindowRead &read : llvm::reverse(reads))
    if (getSharding(read) != layout.none() &&
        failed(adder.addSharded(read, getSharding(read),
                                whole.getDimSize(read.window.dim))))
      return failure();
  return adder.take();
}

void LocalWindows::makeRoom(DestinationStyleOpInterface op,
                            const LocalView &view, const ShardingRule &rule) {
  SmallVector<Value, 1> inits(op->getNumResults());
  for (auto [number, tensor] : llvm::enumerate(rule.results)) {
    OpOperand *init = op.getDpsInitOperand(number);
    auto type = dyn_cast<RankedTensorType>(init->get().getType());
    if (!type)
      continue;
    SmallVector<int64_t> shape(type.getShape());
    bool isShared = false;
    for (const Window &window : tensor.windows) {
      DimShardingAttr dim = view.results[number].getDims()[window.dim];
      if (dim == layout.none())
        continue;
      isShared = true;
      int64_t iterations = rule.factors[tensor.dims[window.dim][0]].size;
      shape[window.dim] = getReach(layout, dim, {window, iterations});
    }
    if (!isShared)
      continue;
    inits[number] = init->get();
    builder.setInsertionPoint(op);
    init->set(createFilled(builder, op.getLoc(), init->get(), type.clone(shape),
                           getStart(builder, init->get(), /*isAddedTo=*/true)));
  }
  if (llvm::any_of(inits, [](Value init) { return init != nullptr; }))
    roomy[op] = std::move(inits);
}

LogicalResult LocalWindows::sendHome(DestinationStyleOpInterface op,
                                     const LocalView &view,
                                     const ShardingRule &rule) {
  auto found = roomy.find(op);
  if (found == roomy.end())
    return success();
  SmallVector<Value, 1> inits = std::move(found->second);
  roomy.erase(found);
  for (auto [result, init] : llvm::zip_equal(op->getResults(), inits))
    if (init && failed(sendHome(result, init, view, rule)))
      return failure();
  return success();
}

/// The slice that cuts off rows of a result which are then not sent: only along
/// sharded dimensions that windows write.
static tensor::ExtractSliceOp findLocalCrop(OpResult result,
                                            const TensorRule &tensor,
                                            ShardingAttr sharding,
                                            const MeshLayout &layout) {
  tensor::ExtractSliceOp crop = findCrop(result);
  if (!crop)
    return crop;
  auto attr = crop->getAttrOfType<ArrayAttr>(kShardingsAttr);
  if (!attr || attr[0] != sharding)
    return {};
  RankedTensorType whole = crop.getSourceType();
  for (auto [dim, placed] : llvm::enumerate(sharding.getDims()))
    if (placed != layout.none() && !tensor.getWindow(dim) &&
        crop.getType().getDimSize(dim) != whole.getDimSize(dim))
      return {};
  return crop;
}

LogicalResult LocalWindows::sendHome(OpResult result, Value init,
                                     const LocalView &view,
                                     const ShardingRule &rule) {
  auto op = cast<DestinationStyleOpInterface>(result.getOwner());
  unsigned number = result.getResultNumber();
  OpOperand *destination = op.getDpsInitOperand(number);
  const TensorRule &tensor = rule.results[number];
  ShardingAttr sharding = view.results[number];
  RankedTensorType whole = wholes[result].type, kept = whole;
  bool isAddedTo =
      llvm::is_contained(rule.inits, destination->getOperandNumber());
  bool isNothing = !isAddedTo || isNeutral(init, ReductionKind::Sum);
  tensor::ExtractSliceOp crop;
  if (isNothing) {
    result.setType(whole); // what a slice of it is told by
    crop = findLocalCrop(result, tensor, sharding, layout);
  }
  result.setType(cast<RankedTensorType>(destination->get().getType()));
  if (crop)
    kept = crop.getType();
  SmallVector<WindowRead> reads;
  for (int64_t dim = 0; dim < whole.getRank(); ++dim) {
    WindowRead read{{static_cast<unsigned>(dim)}, 0};
    if (crop) {
      read.low = crop.getStaticOffsets()[dim];
      read.high = whole.getDimSize(dim) - read.low - kept.getDimSize(dim);
    }
    const Window *window = tensor.getWindow(dim);
    bool isShared = window && sharding.getDims()[dim] != layout.none();
    if (isShared) {
      read.iterations = rule.factors[tensor.dims[dim][0]].size;
      read.window = *window;
      read.window.offset -= read.low;
    }
    if (isShared || read.low != 0 || read.high != 0)
      reads.push_back(read);
  }
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : result.getUses())
    uses.push_back(&use);
  builder.setInsertionPointAfter(op);
  FailureOr<Value> home = addWindows(
      builder, op.getLoc(), layout, planner, result,
      getStart(builder, init, isAddedTo), kept, sharding, reads,
      describeWindows(op, "sends home rows of result " + Twine(number) +
                              ", which " + describeOp(op) +
                              " adds up in windows"),
      op->getAttr(kScopeAttr));
  if (failed(home))
    return op->emitOpError() << "writes windows of result " << number
                             << ", which has no sequence of collectives";
  if (crop) {
    cropped[crop] = *home;
    return success();
  }
  if (!isNothing)
    home = createSum(builder, op.getLoc(), init, *home);
  for (OpOperand *use : uses)
    use->set(*home);
  return success();
}
