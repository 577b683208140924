//===- LowerHalos.cpp - Halos by other collectives ------------------------===//
//
// A halo exchange is one call in which each device sends to several others. On
// devices without such a call, or with a slow one, it is made of shifts along
// the line of devices, or of one gather. No arithmetic is done, so all three
// give the same bits.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "dialects/dist/Utils/Program.h"
#include "dialects/dist/Utils/Slices.h"
#include "dialects/dist/Utils/Streams.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/halos/Passes.h"
#include "passes/overlap/OverlapProblem.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTLOWERHALOS
#include "passes/halos/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Writes the replacement of an exchange in front of it.
class HaloWriter {
public:
  HaloWriter(HaloExchangeOp op, MeshOp mesh);

  /// Why it cannot be made of gathers, or "".
  std::string whyNoGather();
  /// The same for shifts.
  std::string whyNoShifts();
  Value writeGather();
  Value writeShifts();
  /// The result of the last of these, in its order.
  ArrayRef<Operation *> getWritten() const { return written; }
  void erase();

private:
  struct Listener : OpBuilder::Listener {
    Block *block;
    SmallVector<Operation *> *ops;
    void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) final {
      if (op->getBlock() == block) // no part of another op
        ops->push_back(op);
    }
  };
  bool isRing() { return op.getBoundaryKind() == BoundaryKind::Periodic; }
  bool isEven() const { return size == rows * devices; }
  /// `shape` of the operand's, with so many rows.
  RankedTensorType withRows(int64_t count);
  Value slice(Value value, OpFoldResult from, int64_t count);
  Value concat(ArrayRef<Value> parts);
  Value index(int64_t number);
  /// The value of the boundary for rows that no device has.
  TypedAttr getFiller();
  Value fill(int64_t count);
  Value getAxisIndex(ArrayAttr over);
  /// The dimension's first row that the device has.
  Value getStart();
  Value receive(int64_t from, int64_t count, bool isLow);
  void addShifts(SmallVectorImpl<Value> &parts, int64_t count, bool isLow);
  Value fillEnds(Value wide);
  void finish(Operation *collective);

  HaloExchangeOp op;
  Location loc;
  SmallVector<AxisRefAttr> axes;
  SmallVector<int64_t> sizes;
  int64_t devices = 1;
  int64_t dim, rows, low, high;
  /// For the whole dimension.
  int64_t size;
  SmallVector<Operation *> written;
  Listener listener;
  OpBuilder b;
  /// Blocks of others that came, by how far before this device they are.
  DenseMap<int64_t, Value> received;
};
} // namespace

HaloWriter::HaloWriter(HaloExchangeOp op, MeshOp mesh)
    : op(op), loc(op.getLoc()), axes(getAxisRefs(op.getAxes())),
      dim(op.getDim()), rows(op.getOperand().getType().getDimSize(dim)),
      low(op.getLow()), high(op.getHigh()), b(op) {
  for (AxisRefAttr axis : axes) {
    sizes.push_back(getAxisSize(axis, mesh.getAxes()));
    devices *= sizes.back();
  }
  size = op.getSize().value_or(rows * devices);
  listener.block = op->getBlock();
  listener.ops = &written;
  b.setListener(&listener);
}

std::string HaloWriter::whyNoGather() {
  if (!op.getOperand().getType().hasStaticShape())
    return llvm::formatv("the operand, {0}, has sizes that are not known",
                         op.getOperand().getType());
  if (rows == 0)
    return "its blocks have no rows";
  return "";
}

std::string HaloWriter::whyNoShifts() {
  std::string why = whyNoGather();
  if (!why.empty() || isEven())
    return why;
  if (isRing())
    return llvm::formatv("of {0} rows in blocks of {1} the last device has "
                         "fewer, so that neighbours on the ring are not "
                         "equally far apart",
                         size, rows);
  if (axes.size() > 1)
    return llvm::formatv("{0} rows on {1} devices along {2} axes: blocks do "
                         "not begin equally far apart",
                         size, devices, axes.size());
  return "";
}

void HaloWriter::erase() {
  for (Operation *op : llvm::reverse(written))
    op->erase();
  written.clear();
}

RankedTensorType HaloWriter::withRows(int64_t count) {
  RankedTensorType type = op.getOperand().getType();
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = count;
  return type.clone(shape);
}

Value HaloWriter::slice(Value value, OpFoldResult from, int64_t count) {
  return sliceAlong(b, loc, value, dim, from, count);
}

Value HaloWriter::concat(ArrayRef<Value> parts) {
  return parts.size() == 1 ? parts.front()
                           : tensor::ConcatOp::create(b, loc, dim, parts);
}

Value HaloWriter::index(int64_t number) {
  return arith::ConstantIndexOp::create(b, loc, number);
}

TypedAttr HaloWriter::getFiller() {
  TypedAttr number =
      op.getBoundary() ? op.getBoundary()->getValue() : TypedAttr();
  return number ? number
                : b.getZeroAttr(op.getOperand().getType().getElementType());
}

Value HaloWriter::fill(int64_t count) {
  RankedTensorType type = withRows(count);
  return arith::ConstantOp::create(b, loc,
                                   DenseElementsAttr::get(type, getFiller()));
}

Value HaloWriter::getAxisIndex(ArrayAttr over) {
  return AxisIndexOp::create(b, loc, b.getIndexType(), over, op.getMeshAttr());
}

Value HaloWriter::getStart() {
  if (isEven())
    return arith::MulIOp::create(b, loc, getAxisIndex(op.getAxes()),
                                 index(rows));
  // Rounded up at each axis: it cuts the rest of the axes before it.
  Value start;
  int64_t block = size;
  for (auto [axis, count] : llvm::zip_equal(axes, sizes)) {
    block = llvm::divideCeil(block, count);
    Value part = arith::MulIOp::create(
        b, loc, getAxisIndex(b.getArrayAttr({axis})), index(block));
    start =
        start ? arith::AddIOp::create(b, loc, start, part).getResult() : part;
  }
  return start;
}

void HaloWriter::finish(Operation *collective) {
  if (Attribute scope = op->getAttr(kScopeAttr))
    collective->setAttr(kScopeAttr, scope);
}

//===----------------------------------------------------------------------===//
// One gather
//===----------------------------------------------------------------------===//

Value HaloWriter::writeGather() {
  Value whole = op.getOperand();
  auto gather = [&](ArrayAttr over, int64_t count, int64_t all) {
    auto gathered = AllGatherOp::create(
        b, loc, withRows(typeOf(whole).getDimSize(dim) * count), whole,
        b.getI64IntegerAttr(dim), over, op.getMeshAttr(), op.getCauseAttr());
    finish(gathered);
    whole = slice(gathered.getResult(), b.getIndexAttr(0), all);
  };
  // How far behind the last of the rows a window may reach.
  int64_t reach = high;
  if (isEven()) {
    gather(op.getAxes(), devices, size);
  } else {
    // The minor axes first, so that a block without its padding is gathered.
    SmallVector<int64_t> blocks = {size};
    for (int64_t count : sizes)
      blocks.push_back(llvm::divideCeil(blocks.back(), count));
    int64_t last = 0;
    for (int64_t i = axes.size(); i-- > 0;) {
      gather(b.getArrayAttr({axes[i]}), sizes[i], blocks[i]);
      last += (sizes[i] - 1) * blocks[i + 1];
    }
    reach = std::max(high, last + rows + high - size);
  }
  SmallVector<Value> parts;
  auto addRows = [&](int64_t from, int64_t count) {
    if (count > 0)
      parts.push_back(slice(whole, b.getIndexAttr(from), count));
  };
  if (isRing()) {
    addRows(size - low % size, low % size);
    parts.append(low / size + 1 + reach / size, whole);
    addRows(0, reach % size);
  } else {
    if (low > 0)
      parts.push_back(fill(low));
    parts.push_back(whole);
    if (reach > 0)
      parts.push_back(fill(reach));
  }
  return slice(concat(parts), getStart(), low + rows + high);
}

//===----------------------------------------------------------------------===//
// Shifts
//===----------------------------------------------------------------------===//

/// The last (isLow) or first `count` rows of the block of the device `from`
/// before this one; behind it if negative.
Value HaloWriter::receive(int64_t from, int64_t count, bool isLow) {
  auto take = [&](Value block) {
    int64_t all = typeOf(block).getDimSize(dim);
    return slice(block, b.getIndexAttr(isLow ? all - count : 0), count);
  };
  int64_t shift = isRing() ? from % devices : from;
  if (shift == 0)
    return take(op.getOperand());
  if (Value block = received.lookup(shift))
    return take(block);
  Value sent = take(op.getOperand());
  auto came = SendRecvOp::create(
      b, loc, sent.getType(), sent, b.getI64IntegerAttr(shift),
      isRing() ? b.getUnitAttr() : UnitAttr(), op.getAxes(), op.getMeshAttr(),
      op.getCauseAttr());
  finish(came);
  if (count == rows)
    received[shift] = came;
  return came;
}

/// The rows before or after the block, from the nearest block on.
void HaloWriter::addShifts(SmallVectorImpl<Value> &parts, int64_t count,
                           bool isLow) {
  for (int64_t from = 1; count > 0; ++from) {
    if (!isRing() && from == devices) {
      parts.push_back(fill(count)); // rows that nobody has
      break;
    }
    int64_t some = std::min(count, rows);
    parts.push_back(receive(isLow ? from : -from, some, isLow));
    count -= some;
  }
}

/// Replaces rows that the dimension does not have by the boundary.
Value HaloWriter::fillEnds(Value wide) {
  BoundaryKind boundary = op.getBoundaryKind();
  // Who has no sender gets zeros.
  if (isRing() || boundary == BoundaryKind::None ||
      (boundary == BoundaryKind::Zero && isEven()))
    return wide;
  Value first = arith::SubIOp::create(b, loc, getStart(), index(low));
  Value end = index(size), zero = index(0);
  Value filler = arith::ConstantOp::create(b, loc, getFiller());
  Value filled = mapElements(
      b, loc, wide, getElementTypeOrSelf(wide),
      [&](OpBuilder &inner, Location at, ValueRange args) -> Value {
        Value row = arith::AddIOp::create(
            inner, at, linalg::IndexOp::create(inner, at, dim), first);
        Value isBehind = arith::CmpIOp::create(
            inner, at, arith::CmpIPredicate::sge, row, zero);
        Value isBefore = arith::CmpIOp::create(
            inner, at, arith::CmpIPredicate::slt, row, end);
        Value isThere = arith::AndIOp::create(inner, at, isBehind, isBefore);
        return arith::SelectOp::create(inner, at, isThere, args[0], filler);
      });
  finish(filled.getDefiningOp());
  return filled;
}

Value HaloWriter::writeShifts() {
  received.clear();
  SmallVector<Value> before, after;
  addShifts(before, low, /*isLow=*/true);
  addShifts(after, high, /*isLow=*/false);
  SmallVector<Value> parts(llvm::reverse(before));
  parts.push_back(op.getOperand());
  parts.append(after);
  return fillEnds(concat(parts));
}

namespace {
struct LowerHalos : mlir::dist::impl::DistLowerHalosBase<LowerHalos> {
  using DistLowerHalosBase::DistLowerHalosBase;

  /// Seconds of the new ops, each by itself.
  static double getSeconds(ArrayRef<Operation *> ops, StepTimes &times) {
    double seconds = 0;
    for (Operation *op : ops)
      seconds += times.getCost(op).time.getTotal();
    return seconds;
  }

  /// The fastest of the three, or as it is.
  void choose(HaloExchangeOp op, MeshOp mesh, StepTimes &times) {
    double seconds = times.getCost(op).time.getTotal();
    std::string said =
        llvm::formatv("one exchange {0:F3} ms", seconds * 1e3).str();
    Value best = op.getResult();
    StringRef chosen = "exchange";
    HaloWriter shifts(op, mesh), gather(op, mesh);
    auto tryOne = [&](HaloWriter &writer, StringRef name, const Twine &what,
                      const std::string &why, auto write) {
      if (!why.empty()) {
        said += (", " + what + " not: " + why).str();
        return;
      }
      Value made = write();
      double cost = getSeconds(writer.getWritten(), times);
      said += llvm::formatv(", {0} {1:F3} ms", what.str(), cost * 1e3).str();
      if (cost < seconds) {
        seconds = cost;
        best = made;
        chosen = name;
      }
    };
    tryOne(shifts, "shifts", "shifts", shifts.whyNoShifts(),
           [&] { return shifts.writeShifts(); });
    tryOne(gather, "gather", "a gather", gather.whyNoGather(),
           [&] { return gather.writeGather(); });
    if (report)
      emitRemark(op.getLoc()) << "halo by " << chosen << ": " << said;
    if (chosen != "shifts")
      shifts.erase();
    if (chosen != "gather")
      gather.erase();
    if (best != op.getResult()) {
      op.getResult().replaceAllUsesWith(best);
      op.erase();
    }
  }

  LogicalResult force(HaloExchangeOp op, MeshOp mesh) {
    HaloWriter writer(op, mesh);
    bool isGather = to == "gather";
    std::string why = isGather ? writer.whyNoGather() : writer.whyNoShifts();
    if (!why.empty())
      return op.emitOpError()
             << "cannot be made of " << (isGather ? "a gather" : "shifts")
             << ": " << why << "; halos by "
             << (isGather ? "exchange" : "exchange, gather or auto") << " can";
    Value made = isGather ? writer.writeGather() : writer.writeShifts();
    op.getResult().replaceAllUsesWith(made);
    op.erase();
    return success();
  }

  void runOnOperation() override {
    Location loc = getOperation().getLoc();
    if (!llvm::is_contained({"auto", "exchange", "gather", "shifts"}, to)) {
      emitError(loc) << "--dist-lower-halos: to=" << to
                     << ": expected auto, exchange, gather or shifts";
      return signalPassFailure();
    }
    FailureOr<MeshOp> mesh = findProgramMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    if (!*mesh || to == "exchange")
      return;
    SmallVector<HaloExchangeOp> halos;
    getOperation().walk([&](HaloExchangeOp op) { halos.push_back(op); });
    for (HaloExchangeOp op : halos)
      if (getStream(op) != 0) {
        op.emitOpError() << "has '" << kStreamAttr
                         << "' already: halos are lowered before";
        return signalPassFailure();
      }
    if (to != "auto") {
      for (HaloExchangeOp op : halos)
        if (failed(force(op, *mesh)))
          return signalPassFailure();
      return;
    }
    FailureOr<Machine> machine =
        loadMachine(loc, "--dist-lower-halos", machineName, link);
    if (failed(machine))
      return signalPassFailure();
    StepTimes times(getOperation(), *machine, *mesh);
    for (HaloExchangeOp op : halos)
      choose(op, *mesh, times);
  }
};
} // namespace
