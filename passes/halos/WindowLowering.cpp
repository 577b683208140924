//===- WindowLowering.cpp - What a device's iterations read ---------------===//

#include "passes/halos/WindowLowering.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/Interfaces/LocalIndex.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "dialects/dist/Utils/Slices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/halos/WholeRows.h"
#include "passes/spmd/graph/GatherRemarks.h"
#include "passes/spmd/graph/Windows.h"
#include "passes/spmd/reshard/ReshardLowering.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
class Reader {
public:
  Reader(OpBuilder &b, Location loc, const MeshLayout &layout,
         ReshardPlanner &planner, WindowSource source, Value fill,
         std::string why, Attribute scope)
      : b(b), loc(loc), layout(layout), planner(planner), source(source),
        value(source.synced ? source.synced->wide : source.local), fill(fill),
        why(std::move(why)), scope(scope) {}

  /// Leaves out rows that syncs have brought along dimensions without windows.
  void dropUnread(ArrayRef<WindowRead> reads);

  /// Takes all rows along a dimension of which the device has only a slice, if
  /// it had all of them before.
  void takeWhole(int64_t dim);

  LogicalResult readSharded(const WindowRead &read);
  void readUnsharded(const WindowRead &read);
  Value finish();

private:
  RankedTensorType type() const {
    return cast<RankedTensorType>(value.getType());
  }
  Value constant(int64_t number) {
    return arith::ConstantIndexOp::create(b, loc, number);
  }
  Value add(Value x, int64_t y) {
    return y == 0 ? x
                  : arith::AddIOp::create(b, loc, x, constant(y)).getResult();
  }
  /// Where the device's block begins in the whole dimension.
  Value getStart(DimShardingAttr dim, const Blocks &blocks) {
    return getGlobalIndex(b, loc, layout, dim, blocks.size, constant(0)).index;
  }
  void pad(int64_t dim, int64_t low, int64_t high);
  LogicalResult bring(const WindowPlan &plan, const WindowRead &read,
                      ArrayRef<AxisRefAttr> axes);
  void exchange(const WindowPlan &plan, int64_t dim,
                ArrayRef<AxisRefAttr> axes);
  LogicalResult takeSynced(SyncedRows &rows, const WindowPlan &plan,
                           const WindowRead &read);
  bool isFilled(const WindowPlan &plan, int64_t dim) const;
  SyncedRows *findSynced(int64_t dim) const {
    return source.synced ? source.synced->find(dim) : nullptr;
  }
  LogicalResult gather(int64_t dim, const WindowPlan &plan);

  OpBuilder &b;
  Location loc;
  const MeshLayout &layout;
  ReshardPlanner &planner;
  WindowSource source;
  Value value;
  Value fill;
  std::string why;
  Attribute scope;
  /// Dimensions with elements that must be filled in yet: where the part begins
  /// in the whole dimension, and the size of that.
  struct Mask {
    int64_t dim;
    Value start;
    int64_t size;
  };
  SmallVector<Mask, 2> masks;
  /// Dimensions of which the device has all rows.
  llvm::SmallDenseSet<int64_t> present;
};
} // namespace

void Reader::pad(int64_t dim, int64_t low, int64_t high) {
  if (low == 0 && high == 0)
    return;
  SmallVector<OpFoldResult> lows(type().getRank(), b.getIndexAttr(0)),
      highs = lows;
  lows[dim] = b.getIndexAttr(low);
  highs[dim] = b.getIndexAttr(high);
  SmallVector<int64_t> shape(type().getShape());
  if (!type().isDynamicDim(dim))
    shape[dim] += low + high;
  Value filler = fill;
  if (!filler)
    filler = arith::ConstantOp::create(b, loc,
                                       b.getZeroAttr(type().getElementType()));
  value = tensor::PadOp::create(b, loc, type().clone(shape), value, lows, highs,
                                filler);
}

void Reader::exchange(const WindowPlan &plan, int64_t dim,
                      ArrayRef<AxisRefAttr> axes) {
  if (plan.low == 0 && plan.high == 0)
    return;
  SmallVector<int64_t> shape(type().getShape());
  shape[dim] += plan.low + plan.high;
  auto op = HaloExchangeOp::create(
      b, loc, type().clone(shape), value, b.getI64IntegerAttr(dim),
      getConstantFill(fill) && !plan.rows.isEven()
          ? b.getI64IntegerAttr(plan.rows.size)
          : IntegerAttr(),
      b.getI64IntegerAttr(plan.low), b.getI64IntegerAttr(plan.high),
      getBoundary(getConstantFill(fill)), layout.getAxesAttr(axes),
      layout.getName(), b.getStringAttr(why));
  if (scope)
    op->setDiscardableAttr(kScopeAttr, scope);
  value = op.getResult();
}

/// The rows that a sync has brought already, as many as are read.
LogicalResult Reader::takeSynced(SyncedRows &rows, const WindowPlan &plan,
                                 const WindowRead &read) {
  if (failed(rows.read(plan.low, plan.high, loc)) ||
      ((read.low != 0 || read.high != 0) && failed(rows.checkEnds(fill, loc))))
    return failure();
  value = sliceAlong(b, loc, value, read.window.dim, rows.low - plan.low,
                     plan.low + rows.block + plan.high);
  return success();
}

void Reader::dropUnread(ArrayRef<WindowRead> reads) {
  if (!source.synced)
    return;
  for (auto [dim, rows] : source.synced->dims) {
    bool isRead = llvm::any_of(reads, [dim = dim](const WindowRead &read) {
      return static_cast<int64_t>(read.window.dim) == dim;
    });
    if (!isRead)
      value = sliceAlong(b, loc, value, dim, rows->low, rows->block);
  }
}

void Reader::takeWhole(int64_t dim) {
  DimShardingAttr sharding = source.sharding.getDims()[dim];
  if (source.synced || sharding == layout.none())
    return;
  Value whole = getWholeRows(b, value, dim, source.whole.getDimSize(dim),
                             layout.getAxesAttr(sharding.getAllAxes()));
  if (!whole)
    return;
  value = whole;
  present.insert(dim);
}

LogicalResult Reader::bring(const WindowPlan &plan, const WindowRead &read,
                            ArrayRef<AxisRefAttr> axes) {
  int64_t dim = read.window.dim;
  SyncedRows *rows = findSynced(dim);
  if (rows && plan.isLine())
    return takeSynced(*rows, plan, read);
  if (rows) {
    InFlightDiagnostic error =
        rows->sync.emitOpError()
        << "'halo' brings rows of neighbours, but of dimension " << dim
        << " blocks within blocks are uneven, so that it is gathered";
    error.attachNote(loc) << "it is read here";
    return error;
  }
  if (!plan.isExchanged)
    return gather(dim, plan);
  exchange(plan, dim, axes);
  return success();
}

/// Whether the exchange has filled in the rows past the ends.
bool Reader::isFilled(const WindowPlan &plan, int64_t dim) const {
  TypedAttr constant = getConstantFill(fill);
  if (!constant)
    return false;
  if (SyncedRows *rows = findSynced(dim)) {
    BoundaryAttr said = rows->sync.getBoundaryAttr();
    BoundaryAttr has = said && said.getKind() == BoundaryKind::Constant
                           ? said
                           : BoundaryAttr();
    return has == getBoundary(constant);
  }
  return plan.low + plan.high != 0 || plan.rows.isEven();
}

LogicalResult Reader::gather(int64_t dim, const WindowPlan &plan) {
  std::string because = ", gathered whole as blocks within blocks are uneven";
  if (!plan.isLine())
    remarkGather(loc, "what is read in windows", dim,
                 getTensorBytes(type()) * (plan.rows.devices - 1),
                 "blocks within blocks are uneven");
  else
    because = ", gathered whole as " + std::to_string(plan.low) +
              " rows before and " + std::to_string(plan.high) +
              " after blocks of " + std::to_string(plan.rows.extent) +
              " are more than all others";
  // Dimensions read before have other sizes by now.
  SmallVector<int64_t> shape(source.whole.getShape());
  SmallVector<DimShardingAttr> from(shape.size(), layout.none()), to = from;
  for (auto [d, size] : llvm::enumerate(type().getShape()))
    if (static_cast<int64_t>(d) != dim)
      shape[d] = size;
  from[dim] = source.sharding.getDims()[dim];
  auto place = [&](ArrayRef<DimShardingAttr> dims) {
    return ShardingAttr::get(b.getContext(), layout.getName(), dims,
                             ReductionKind::Sum, {});
  };
  FailureOr<Value> whole = lowerReshard(
      b, loc, layout, planner, value, source.whole.clone(shape), place(from),
      place(to), b.getStringAttr(why + because), scope);
  if (failed(whole))
    return emitError(loc) << why << ": this has no sequence of collectives";
  value = *whole;
  return success();
}

LogicalResult Reader::readSharded(const WindowRead &read) {
  const Window &window = read.window;
  int64_t dim = window.dim;
  DimShardingAttr sharding = source.sharding.getDims()[dim];
  SmallVector<AxisRefAttr> axes = sharding.getAllAxes();
  WindowPlan plan(layout, sharding, source.whole.getDimSize(dim),
                  read.iterations, window);
  const Blocks &rows = plan.rows, &iterations = plan.iterations;
  plan.isExchanged |= findSynced(dim) && plan.isLine();
  int64_t low = plan.low;
  if (present.contains(dim))
    plan.isExchanged = false;
  else if (failed(bring(plan, read, axes)))
    return failure();
  // Else the ends of the line have zeros, and padding may be anything.
  bool isMasked = plan.isExchanged && fill && !isFilled(plan, dim) &&
                  (!rows.isEven() || plan.low + plan.high != 0);

  // The part [first, first + length), made larger where a device has less.
  int64_t length = (iterations.extent - 1) * window.stride + window.extent;
  int64_t have = type().getDimSize(dim);
  int64_t before = 0, after = 0;
  SmallVector<int64_t> offsets;
  for (int64_t i : plan.getEnds()) {
    // The position in the whole dimension of the device's current rows.
    int64_t at = plan.isExchanged ? rows.getStart(i) - low : 0;
    offsets.push_back(iterations.getStart(i) * window.stride + window.offset -
                      at);
    before = std::max(before, -offsets.back());
    after = std::max(after, offsets.back() + length - have);
  }
  pad(dim, before, after);
  bool isFixed = llvm::all_equal(offsets);
  Value first;
  if (isMasked || !isFixed) {
    first = getStart(sharding, iterations);
    if (window.stride != 1)
      first = arith::MulIOp::create(b, loc, first, constant(window.stride));
    first = add(first, window.offset);
  }
  if (isMasked)
    masks.push_back({dim, first, rows.size});
  int64_t rank = type().getRank();
  SmallVector<OpFoldResult> starts(rank, b.getIndexAttr(0)),
      ones(rank, b.getIndexAttr(1)),
      sizes = tensor::getMixedSizes(b, loc, value);
  sizes[dim] = b.getIndexAttr(length);
  if (isFixed) {
    starts[dim] = b.getIndexAttr(offsets[0] + before);
  } else {
    Value offset = add(first, before);
    if (plan.isExchanged)
      offset = arith::SubIOp::create(b, loc, add(offset, low),
                                     getStart(sharding, rows));
    starts[dim] = offset;
  }
  SmallVector<int64_t> shape(type().getShape());
  if (isFixed && offsets[0] + before == 0 && shape[dim] == length)
    return success();
  shape[dim] = length;
  value = tensor::ExtractSliceOp::create(b, loc, type().clone(shape), value,
                                         starts, sizes, ones);
  return success();
}

void Reader::readUnsharded(const WindowRead &read) {
  pad(read.window.dim, read.low, read.high);
}

/// Gives the elements that nobody has their value.
Value Reader::finish() {
  if (masks.empty())
    return value;
  return mapElements(
      b, loc, value, type().getElementType(),
      [&](OpBuilder &inner, Location at, ValueRange values) -> Value {
        Value inside;
        for (const Mask &mask : masks) {
          Value index = linalg::IndexOp::create(inner, at, mask.dim);
          index = arith::AddIOp::create(inner, at, index, mask.start);
          // One in front is a large number without a sign.
          Value end = arith::ConstantIndexOp::create(inner, at, mask.size);
          Value here = arith::CmpIOp::create(
              inner, at, arith::CmpIPredicate::ult, index, end);
          inside =
              inside
                  ? arith::AndIOp::create(inner, at, inside, here).getResult()
                  : here;
        }
        return arith::SelectOp::create(inner, at, inside, values[0], fill);
      });
}

FailureOr<Value> mlir::dist::readWindows(OpBuilder &builder, Location loc,
                                         const MeshLayout &layout,
                                         ReshardPlanner &planner,
                                         WindowSource source,
                                         ArrayRef<WindowRead> reads, Value fill,
                                         const Twine &why, Attribute scope) {
  Reader reader(builder, loc, layout, planner, source, fill, why.str(), scope);
  // Padding on every device is not sent.
  auto isShared = [&](const WindowRead &read) {
    DimShardingAttr dim = source.sharding.getDims()[read.window.dim];
    return Blocks(layout, dim, /*size=*/1).devices > 1;
  };
  reader.dropUnread(reads);
  for (const WindowRead &read : reads)
    reader.takeWhole(read.window.dim);
  SmallVector<WindowRead> order(reads);
  llvm::stable_sort(order, [&](const WindowRead &a, const WindowRead &b) {
    return isShared(a) > isShared(b);
  });
  for (const WindowRead &read : order)
    if (source.sharding.getDims()[read.window.dim] == layout.none())
      reader.readUnsharded(read);
    else if (failed(reader.readSharded(read)))
      return failure();
  return reader.finish();
}
