//===- JoinedWriter.cpp - One exchange for several layers -----------------===//

#include "passes/halos/JoinedWriter.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/Utils/DeadOps.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "dialects/dist/Utils/Slices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
class Writer {
public:
  Writer(HaloChains &chains, const DeviceLine &line)
      : chains(chains), line(line) {}

  void write(MutableArrayRef<JoinedHalos> groups);

private:
  /// A tensor with the rows of another, and so many more.
  struct Wide {
    Value value;
    Widths widths;
  };
  /// The ops that are written for one group.
  struct Group {
    JoinedHalos *joined;
    llvm::DenseMap<Rows, Wide> wide;
  };
  /// One thing to write, in the order of the block: heads first of all that
  /// stands in one place.
  struct Step {
    int64_t position;
    enum { Head, Joined, Computed } kind;
    unsigned group;
    unsigned number;
    Rows rows;
  };
  void plan(MutableArrayRef<JoinedHalos> joined);
  void writeHead(Group &group, unsigned number, int64_t position);
  void writeJoined(Group &group, unsigned number);
  void writeComputed(Group &group, Rows rows);
  Value take(Group &group, OpBuilder &b, Location loc, Rows rows,
             Widths widths);
  Value fillEnds(OpBuilder &b, ChainedHalo &halo, Value value, Widths widths);
  std::string describe(const JoinedHalos &joined, unsigned head);
  void replace(Rows rows, Wide wide) {
    replaced.push_back({rows, wide, getRowCount(rows)});
  }
  void finish();

  HaloChains &chains;
  const DeviceLine &line;
  SmallVector<Group> groups;
  std::vector<Step> steps;
  struct Replaced {
    Rows rows;
    Wide wide;
    int64_t count;
  };
  std::vector<Replaced> replaced;
};
} // namespace

/// The readers of the rows, and the cost: the exchange's cause.
std::string Writer::describe(const JoinedHalos &joined, unsigned head) {
  StringAttr own = chains.halos[head].op.getCauseAttr();
  llvm::SetVector<StringRef> names;
  for (unsigned number : joined.joined)
    if (auto scope =
            chains.halos[number].op->getAttrOfType<StringAttr>(kScopeAttr))
      names.insert(scope);
  std::string text = own ? own.str() + "; " : "";
  text += "joined with the exchanges of " +
          std::to_string(joined.joined.size()) +
          (joined.joined.size() == 1 ? " layer" : " layers") + " behind";
  if (!names.empty())
    text += " (" + llvm::join(names, ", ") + ")";
  return text + ", of whose inputs " + std::to_string(joined.rowsTwice) +
         " rows are computed twice";
}

void Writer::writeHead(Group &group, unsigned number, int64_t position) {
  ChainedHalo &halo = chains.halos[number];
  HaloExchangeOp op = halo.op;
  Widths own = halo.getWidths(), all = group.joined->brought[number];
  if (position < halo.position)
    op->moveBefore(chains.getOp(position));
  OpBuilder b(op);
  StringAttr cause = b.getStringAttr(describe(*group.joined, number));
  HaloExchangeOp wide = op;
  if (all == own) {
    op.setCauseAttr(cause);
  } else {
    RankedTensorType type = op.getOperand().getType();
    SmallVector<int64_t> shape(type.getShape());
    shape[op.getDim()] += all.getSum();
    wide = HaloExchangeOp::create(
        b, op.getLoc(), type.clone(shape), op.getOperand(), op.getDimAttr(),
        op.getSizeAttr(), b.getI64IntegerAttr(all.low),
        b.getI64IntegerAttr(all.high), op.getBoundaryAttr(), op.getAxesAttr(),
        op.getMeshAttr(), cause);
    wide->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    replace(halo.getResult(),
            {wide.getResult(), {all.low - own.low, all.high - own.high}});
  }
  group.wide[halo.getSource()] = {wide.getResult(), all};
  group.wide[halo.getResult()] = {wide.getResult(),
                                  {all.low - own.low, all.high - own.high}};
}

/// Rows past the ends as the exchange's boundary has them.
Value Writer::fillEnds(OpBuilder &b, ChainedHalo &halo, Value value,
                       Widths widths) {
  HaloExchangeOp op = halo.op;
  if (op.getBoundaryKind() == BoundaryKind::None)
    return value;
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(value.getType());
  int64_t block = getRowCount(halo.getSource());
  int64_t size = op.getSize().value_or(block * line.getDevices());
  auto index = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(b, loc, number);
  };
  Value place = AxisIndexOp::create(b, loc, b.getIndexType(), op.getAxesAttr(),
                                    op.getMeshAttr());
  Value first = arith::SubIOp::create(
      b, loc, arith::MulIOp::create(b, loc, place, index(block)),
      index(widths.low));
  TypedAttr number =
      op.getBoundary() ? op.getBoundary()->getValue() : TypedAttr();
  if (!number)
    number = cast<TypedAttr>(b.getZeroAttr(type.getElementType()));
  Value end = index(size), filler = arith::ConstantOp::create(b, loc, number);
  return mapElements(
      b, loc, value, type.getElementType(),
      [&](OpBuilder &inner, Location at, ValueRange elements) -> Value {
        Value row = arith::AddIOp::create(
            inner, at, linalg::IndexOp::create(inner, at, op.getDim()), first);
        // One in front is a large number without a sign.
        Value isThere = arith::CmpIOp::create(
            inner, at, arith::CmpIPredicate::ult, row, end);
        return arith::SelectOp::create(inner, at, isThere, elements[0], filler);
      },
      op->getAttr(kScopeAttr));
}

void Writer::writeJoined(Group &group, unsigned number) {
  ChainedHalo &halo = chains.halos[number];
  Widths own = halo.getWidths(), wider = group.joined->wider[number];
  Widths all{own.low + wider.low, own.high + wider.high};
  OpBuilder b(halo.op);
  Value rows = take(group, b, halo.op.getLoc(), halo.getSource(), all);
  Wide wide{fillEnds(b, halo, rows, all), wider};
  group.wide[halo.getResult()] = wide;
  replace(halo.getResult(), wide);
}

void Writer::writeComputed(Group &group, Rows rows) {
  Operation *op = rows.first.getDefiningOp();
  Widths widths = group.joined->computed[rows];
  OpBuilder b(op);
  Wide wide{writeWider(b, op, rows.second, chains.getRule(rows), widths,
                       [&](const RowOperand &operand, Widths some) {
                         return take(
                             group, b, op->getLoc(),
                             {op->getOperand(operand.number), operand.dim},
                             some);
                       }),
            widths};
  group.wide[rows] = wide;
  replace(rows, wide);
}

Value Writer::take(Group &group, OpBuilder &b, Location loc, Rows rows,
                   Widths widths) {
  if (widths.getSum() == 0)
    return rows.first;
  if (chains.isMadeOfNone(rows))
    return writeWider(b, rows.first.getDefiningOp(), rows.second, {}, widths,
                      [](const RowOperand &, Widths) { return Value(); });
  Wide wide = group.wide.lookup(rows);
  if (!wide.value) {
    ChainedHalo &halo = chains.halos[group.joined->taken.lookup(rows)];
    wide = {halo.op.getResult(), halo.getWidths()};
  }
  return sliceAlong(b, loc, wide.value, rows.second,
                    wide.widths.low - widths.low,
                    getRowCount(rows) + widths.getSum());
}

void Writer::plan(MutableArrayRef<JoinedHalos> all) {
  for (auto [number, joined] : llvm::enumerate(all)) {
    unsigned group = number;
    groups.emplace_back();
    groups.back().joined = &joined;
    for (auto &[head, widths] : joined.brought) {
      int64_t position = chains.halos[head].position;
      if (auto read = joined.firstReads.find(head);
          read != joined.firstReads.end())
        position = std::min(position, read->second);
      steps.push_back({position, Step::Head, group, head, {}});
    }
    for (unsigned halo : joined.joined)
      steps.push_back(
          {chains.halos[halo].position, Step::Joined, group, halo, {}});
    for (auto &[rows, widths] : joined.computed)
      steps.push_back({chains.getPosition(rows.first.getDefiningOp()),
                       Step::Computed, group, 0, rows});
  }
  llvm::sort(steps, [](const Step &a, const Step &b) {
    return std::make_tuple(a.position, a.kind, a.number) <
           std::make_tuple(b.position, b.kind, b.number);
  });
}

void Writer::write(MutableArrayRef<JoinedHalos> all) {
  plan(all);
  for (const Step &step : steps) {
    Group &group = groups[step.group];
    if (step.kind == Step::Head)
      writeHead(group, step.number, step.position);
    else if (step.kind == Step::Joined)
      writeJoined(group, step.number);
    else
      writeComputed(group, step.rows);
  }
  finish();
}

/// Gives all other readers the device's own rows, and erases ops without uses.
void Writer::finish() {
  SmallVector<Operation *> dead;
  for (Replaced &old : replaced) {
    OpBuilder b(old.rows.first.getContext());
    b.setInsertionPointAfterValue(old.wide.value);
    Value narrow =
        sliceAlong(b, old.rows.first.getLoc(), old.wide.value, old.rows.second,
                   old.wide.widths.low, old.count);
    old.rows.first.replaceAllUsesWith(narrow);
    if (Operation *op = narrow.getDefiningOp())
      dead.push_back(op);
  }
  for (Replaced &old : replaced)
    dead.push_back(old.rows.first.getDefiningOp());
  eraseDead(dead);
}

void mlir::dist::writeJoined(HaloChains &chains, const DeviceLine &line,
                             MutableArrayRef<JoinedHalos> groups) {
  Writer(chains, line).write(groups);
}
