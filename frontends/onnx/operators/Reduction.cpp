//===- Reduction.cpp - Converters of reductions ---------------------------===//

#include "Converter.h"
#include "frontends/bounds/Bounds.h"

using namespace mlir;
using namespace mlir::dist::frontend;

/// The axes of a Reduce operator: an attribute, since opset 18 (ReduceSum: 13)
/// an input. None at all means every axis, or none with noop_with_empty_axes.
static FailureOr<SmallVector<int64_t>> reducedAxes(NodeContext &c) {
  std::optional<SmallVector<int64_t>> list = c.intsAttrOrInput("axes", 1);
  if (c.has(1) && !list)
    return failure();
  int64_t rank = c.in(0).rank();
  bool meansNone = c.boolAttr("noop_with_empty_axes", false);
  if (!list || list->empty()) {
    SmallVector<int64_t> all;
    if (!meansNone)
      for (int64_t i = 0; i < rank; ++i)
        all.push_back(i);
    return all;
  }
  return c.axes(*list, rank);
}

/// Whether a ReduceMax or ReduceMin is PyTorch's max or min along a dimension,
/// which finds the place as well; amax and amin do not.
static bool findsPlace(NodeContext &c, ArrayRef<int64_t> axes) {
  if (axes.size() != 1 || !isFloat(c.in(0).type))
    return false;
  if (auto origin = c.node.metadata.find("pkg.torch.onnx.fx_node");
      origin != c.node.metadata.end())
    return StringRef(origin->second).contains("aten.max.dim") ||
           StringRef(origin->second).contains("aten.min.dim");
  int64_t rank = c.in(0).rank();
  return llvm::any_of(c.node.placeAxes, [&](int64_t axis) {
    return (axis < 0 ? axis + rank : axis) == axes.front();
  });
}

enum class Reduce {
  Sum,
  Mean,
  Prod,
  Max,
  Min,
  L1,
  L2,
  SumSquare,
  LogSum,
  LogSumExp
};

template <Reduce kind> static LogicalResult reduceOp(NodeContext &c) {
  FailureOr<SmallVector<int64_t>> axes = reducedAxes(c);
  if (failed(axes))
    return failure();
  bool keep = c.boolAttr("keepdims", true);
  DType type = c.in(0).type;
  bool plain = isUnsigned(type);
  constexpr bool isBound = kind == Reduce::Max || kind == Reduce::Min;
  if (type == DType::Bool && !isBound)
    return c.invalid("an operand of type bool");
  if (!isFloat(type) && (kind == Reduce::L2 || kind == Reduce::LogSum ||
                         kind == Reduce::LogSumExp))
    return c.unsupported(c.node.op + " of type " + nameOf(type));
  Emitter &e = c.emitter;
  // Sums are kept in f32 at least, as PyTorch keeps them.
  DType inner =
      sizeOf(type) == 2 && isFloat(type) && !isBound ? DType::F32 : type;
  Value value = e.cast(c.value(0), type, inner);
  Type element = e.typeOf(inner);
  auto each = [&](Value in, auto body) {
    return e.map(
        in, e.shapeOf(in), element,
        [&](Scalar &s, ArrayRef<Value> args) { return body(s, args[0]); });
  };
  auto log = [](Scalar &s, Value x) { return s.apply(Function::Log, x); };
  int64_t count = 1;
  for (int64_t axis : *axes)
    count = c.sizes().mul(count, c.in(0).shape[axis]);

  switch (kind) {
  case Reduce::Sum:
    value = e.reduce(Reduction::Sum, value, *axes, keep);
    break;
  case Reduce::Mean:
    value = e.reduce(Reduction::Sum, value, *axes, keep);
    value = each(value, [&](Scalar &s, Value x) {
      return s.div(x, e.numberOf(s, element, count), plain);
    });
    break;
  case Reduce::Prod:
    value = e.reduce(Reduction::Prod, value, *axes, keep);
    break;
  case Reduce::Max:
    value = e.reduce(Reduction::Max, value, *axes, keep, plain,
                     findsPlace(c, *axes));
    break;
  case Reduce::Min:
    value = e.reduce(Reduction::Min, value, *axes, keep, plain,
                     findsPlace(c, *axes));
    break;
  case Reduce::L1:
    if (!plain)
      value = each(
          value, [](Scalar &s, Value x) { return s.apply(Function::Abs, x); });
    value = e.reduce(Reduction::Sum, value, *axes, keep);
    break;
  case Reduce::L2:
  case Reduce::SumSquare:
    value = each(value, [](Scalar &s, Value x) { return s.mul(x, x); });
    value = e.reduce(Reduction::Sum, value, *axes, keep);
    if (kind == Reduce::L2)
      value = each(
          value, [](Scalar &s, Value x) { return s.apply(Function::Sqrt, x); });
    break;
  case Reduce::LogSum:
    value = each(e.reduce(Reduction::Sum, value, *axes, keep), log);
    break;
  case Reduce::LogSumExp: {
    // Relative to the largest; where that is infinite, to zero.
    Value largest = e.reduce(Reduction::Max, value, *axes, /*keep=*/true);
    largest = each(largest, [&](Scalar &s, Value x) {
      Value zero = s.constant(element, 0);
      return s.select(s.compare(Compare::EQ, s.sub(x, x), zero), x, zero);
    });
    value = e.map({value, largest}, c.in(0).shape, element,
                  [](Scalar &s, ArrayRef<Value> in) {
                    return s.apply(Function::Exp, s.sub(in[0], in[1]));
                  });
    value = e.reduce(Reduction::Sum, value, *axes, /*keep=*/true);
    value = e.map({value, largest}, e.shapeOf(value), element,
                  [&](Scalar &s, ArrayRef<Value> in) {
                    return s.add(log(s, in[0]), in[1]);
                  });
    if (!keep) {
      Shape shape;
      for (int64_t i = 0; i < c.in(0).rank(); ++i)
        if (!llvm::is_contained(*axes, i))
          shape.push_back(c.in(0).shape[i]);
      value = e.reshape(value, shape);
    }
    break;
  }
  }
  c.set(0, e.cast(value, inner, type), type);
  return success();
}

/// The position of the largest (smallest) element along `axis`, the first or
/// the last of equal ones: reduce the values, then the positions that have that
/// value. NaN counts as largest and as smallest.
static Value extremePosition(NodeContext &c, int64_t axis, bool max, bool last,
                             bool keep) {
  DType type = c.in(0).type;
  int64_t size = c.in(0).shape[axis];
  Emitter &e = c.emitter;
  Value value = c.value(0);
  Value extreme = e.reduce(max ? Reduction::Max : Reduction::Min, value, axis,
                           /*keep=*/true, isUnsigned(type));
  Type i64 = e.typeOf(DType::I64);
  Value positions =
      e.mapPositions({value, extreme}, c.in(0).shape, i64,
                     [&](LoopScalar &s, ArrayRef<Value> in) {
                       Value found = s.compare(Compare::EQ, in[0], in[1]);
                       if (isFloat(type))
                         found = s.bitOr(found, s.isNaN(in[0]));
                       return s.select(found, s.positionInt(axis),
                                       last ? s.constantInt(i64, -1)
                                            : e.numberOf(s, i64, size));
                     });
  return e.reduce(last ? Reduction::Max : Reduction::Min, positions, axis,
                  keep);
}

template <bool max> static LogicalResult argExtreme(NodeContext &c) {
  FailureOr<int64_t> axis = c.axis(c.intAttr("axis", 0), c.in(0).rank());
  if (failed(axis))
    return failure();
  if (c.in(0).shape[*axis] == 0)
    return c.invalid("axis " + Twine(*axis) + " is empty");
  c.set(0,
        extremePosition(c, *axis, max, c.boolAttr("select_last_index", false),
                        c.boolAttr("keepdims", true)),
        DType::I64);
  return success();
}

/// 1 at the first of the largest elements along an axis, else 0.
static LogicalResult hardmax(NodeContext &c) {
  FailureOr<int64_t> axis = c.axis(c.intAttr("axis", -1), c.in(0).rank());
  if (failed(axis))
    return failure();
  if (c.in(0).shape[*axis] == 0)
    return c.invalid("axis " + Twine(*axis) + " is empty");
  Value largest =
      extremePosition(c, *axis, /*max=*/true, /*last=*/false, /*keep=*/true);
  Type element = c.emitter.typeOf(c.in(0).type);
  Value result = c.emitter.mapPositions(
      largest, c.in(0).shape, element, [&](LoopScalar &s, ArrayRef<Value> in) {
        Value found = s.compare(Compare::EQ, in[0], s.positionInt(*axis));
        return s.select(found, s.constantInt(element, 1),
                        s.constantInt(element, 0));
      });
  c.set(0, result, c.in(0).type);
  return success();
}

namespace {
/// Sums of what is before each element along an axis.
struct Scan {
  int64_t axis;
  /// Whether the element itself does not count; whether what is after it does.
  bool exclusive, reverse;
};
} // namespace

/// A sum over all with a triangular condition: a loop nest like any other.
static Value scanPairs(Emitter &e, Value value, ArrayRef<int64_t> shape,
                       Scan scan) {
  Type element = cast<ShapedType>(value.getType()).getElementType();
  int64_t rank = shape.size();
  MLIRContext *context = e.getBuilder().getContext();
  // Loop `rank` runs over the summands.
  SmallVector<AffineExpr> in, out;
  for (int64_t i = 0; i < rank; ++i) {
    out.push_back(getAffineDimExpr(i, context));
    in.push_back(getAffineDimExpr(i == scan.axis ? rank : i, context));
  }
  return e.loops(value, AffineMap::get(rank + 1, 0, in, context),
                 e.filled(shape, e.scalarInt(element, 0)),
                 AffineMap::get(rank + 1, 0, out, context),
                 [&](LoopScalar &s, ArrayRef<Value> args, Value sum) {
                   Value at = s.positionInt(scan.axis);
                   Value from = s.positionInt(rank);
                   Compare order =
                       scan.reverse
                           ? (scan.exclusive ? Compare::GT : Compare::GE)
                           : (scan.exclusive ? Compare::LT : Compare::LE);
                   Value taken = s.select(s.compare(order, from, at), args[0],
                                          s.constantInt(element, 0));
                   return s.add(sum, taken);
                 });
}

/// By blocks: each block has its own sums, to which those of the blocks before
/// it are added (Blelloch, "Prefix sums and their applications", 1990). Devices
/// that shard the blocks exchange only the blocks' sums.
static Value scanBlocks(Emitter &e, Value value, Shape shape, Scan scan) {
  int64_t size = shape[scan.axis];
  if (isOpen(size) || size <= kScanBlock)
    return scanPairs(e, value, shape, scan);
  int64_t block = kScanBlock;
  while (size % block != 0)
    --block;
  if (block < 8)
    block = kScanBlock / 2;
  Type element = cast<ShapedType>(value.getType()).getElementType();
  int64_t count = llvm::divideCeil(size, block);
  Shape whole = shape, none(shape.size(), 0), more = none;
  whole[scan.axis] = count * block;
  more[scan.axis] = count * block - size;
  if (more[scan.axis] > 0)
    value = e.pad(value, none, more, e.scalarInt(element, 0));

  Shape split = whole, totals = whole;
  split[scan.axis] = totals[scan.axis] = count;
  split.insert(split.begin() + scan.axis + 1, block);
  value = e.reshape(value, split);
  Value before = scanBlocks(
      e, e.reduce(Reduction::Sum, value, scan.axis + 1, /*keep=*/false), totals,
      {scan.axis, /*exclusive=*/true, scan.reverse});
  Value inside =
      scanPairs(e, value, split, {scan.axis + 1, scan.exclusive, scan.reverse});
  totals.insert(totals.begin() + scan.axis + 1, 1);
  Value result = e.map(
      {e.reshape(before, totals), inside}, split, element,
      [](Scalar &s, ArrayRef<Value> args) { return s.add(args[0], args[1]); });
  result = e.reshape(result, whole);
  return count * block == size ? result
                               : e.sliceDim(result, scan.axis, 0, size);
}

static LogicalResult cumSum(NodeContext &c) {
  std::optional<double> given = c.number(1);
  if (!given)
    return c.unsupported("CumSum along an axis computed at run time");
  FailureOr<int64_t> axis =
      c.axis(static_cast<int64_t>(*given), c.in(0).rank());
  if (failed(axis))
    return failure();
  Scan scan{*axis, c.boolAttr("exclusive", false),
            c.boolAttr("reverse", false)};
  // Exporters write it of booleans, which PyTorch counts.
  DType type = c.in(0).type == DType::Bool ? DType::I64 : c.in(0).type;
  Emitter &e = c.emitter;
  DType inner = sizeOf(type) == 2 && isFloat(type) ? DType::F32 : type;
  Value value = e.cast(c.value(0), c.in(0).type, inner);
  Value result = scanBlocks(e, value, c.in(0).shape, scan);
  c.set(0, e.cast(result, inner, type), type);
  return success();
}

/// The k largest along an axis, in order. An element's rank is the number of
/// elements before it in that order, and the r-th result is the element of rank
/// r. This is quadratic, but a plain loop nest. Equal elements keep their
/// order, and NaN is larger than all numbers.
static LogicalResult topK(NodeContext &c) {
  std::optional<SmallVector<int64_t>> given = c.ints(1);
  FailureOr<int64_t> axis = c.axis(c.intAttr("axis", -1), c.in(0).rank());
  if (failed(axis))
    return failure();
  if (!given)
    return c.unsupported("TopK with k computed at run time");
  bool largest = c.boolAttr("largest", true);
  DType type = c.in(0).type;
  Shape shape = c.in(0).shape;
  int64_t size = shape[*axis], rank = shape.size();
  if (given->size() == 1 && isOpen(size) &&
      !c.sizes().isAtLeast(size, given->front()))
    return c.open("TopK with k = " + Twine(given->front()) + " of " +
                      c.sizes().toString(size),
                  size);
  if (given->size() != 1 || given->front() < 0 ||
      (!isOpen(size) && given->front() > size))
    return c.invalid("k = " + toString(*given) + " of " + Twine(size));
  Shape resultShape = shape;
  resultShape[*axis] = given->front();
  Emitter &e = c.emitter;
  MLIRContext *context = e.getBuilder().getContext();
  Type i64 = e.typeOf(DType::I64), element = e.typeOf(type);
  Value value = c.value(0);
  SmallVector<AffineExpr> here, there;
  for (int64_t i = 0; i < rank; ++i) {
    here.push_back(getAffineDimExpr(i, context));
    there.push_back(getAffineDimExpr(i == *axis ? rank : i, context));
  }
  AffineMap hereMap = AffineMap::get(rank + 1, 0, here, context);
  AffineMap thereMap = AffineMap::get(rank + 1, 0, there, context);
  Value ranks = e.loops(
      {value, value}, {hereMap, thereMap}, e.filled(shape, e.scalarInt(i64, 0)),
      hereMap, [&](LoopScalar &s, ArrayRef<Value> in, Value count) {
        Compare order = largest ? Compare::GT : Compare::LT;
        Value before = s.compare(order, in[1], in[0], isUnsigned(type));
        Value equal = s.compare(Compare::EQ, in[1], in[0]);
        if (isFloat(type)) {
          Value nanHere = s.isNaN(in[0]), nanThere = s.isNaN(in[1]);
          Value beats = largest ? s.bitAnd(nanThere, s.bitNot(nanHere))
                                : s.bitAnd(nanHere, s.bitNot(nanThere));
          before = s.bitOr(before, beats);
          equal = s.bitOr(equal, s.bitAnd(nanHere, nanThere));
        }
        Value earlier =
            s.compare(Compare::LT, s.positionInt(rank), s.positionInt(*axis));
        before = s.bitOr(before, s.bitAnd(equal, earlier));
        return s.add(count, s.cast(before, DType::Bool, DType::I64));
      });
  // here: the result's position; there: the candidates.
  auto pick =
      [&](ArrayRef<Value> inputs, ArrayRef<AffineMap> maps, Type type,
          llvm::function_ref<Value(LoopScalar &, ArrayRef<Value>)> what) {
        return e.loops(
            inputs, maps, e.filled(resultShape, e.scalarInt(type, 0)), hereMap,
            [&](LoopScalar &s, ArrayRef<Value> in, Value sum) {
              Value match = s.compare(Compare::EQ, in[0], s.positionInt(*axis));
              return s.add(
                  sum, s.select(match, what(s, in), s.constantInt(type, 0)));
            });
      };
  if (c.wants(0))
    c.set(0,
          pick({ranks, value}, {thereMap, thereMap}, element,
               [](LoopScalar &, ArrayRef<Value> in) { return in[1]; }),
          type);
  if (c.wants(1))
    c.set(1,
          pick(ranks, thereMap, i64,
               [&](LoopScalar &s, ArrayRef<Value>) {
                 return s.positionInt(rank);
               }),
          DType::I64);
  return success();
}

void mlir::dist::frontend::addReductionConverters(ConverterTable &table) {
  table.add("ReduceSum", 1, reduceOp<Reduce::Sum>);
  table.add("ReduceMean", 1, reduceOp<Reduce::Mean>);
  table.add("ReduceProd", 1, reduceOp<Reduce::Prod>);
  table.add("ReduceMax", 1, reduceOp<Reduce::Max>);
  table.add("ReduceMin", 1, reduceOp<Reduce::Min>);
  table.add("ReduceL1", 1, reduceOp<Reduce::L1>);
  table.add("ReduceL2", 1, reduceOp<Reduce::L2>);
  table.add("ReduceSumSquare", 1, reduceOp<Reduce::SumSquare>);
  table.add("ReduceLogSum", 1, reduceOp<Reduce::LogSum>);
  table.add("ReduceLogSumExp", 1, reduceOp<Reduce::LogSumExp>);
  table.add("ArgMax", 1, argExtreme<true>);
  table.add("ArgMin", 1, argExtreme<false>);
  table.add("Hardmax", 1, hardmax);
  table.add("CumSum", 2, cumSum);
  table.add("TopK", 2, topK);
  table.takeOpenSizes({"ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax",
                       "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare",
                       "ReduceLogSum", "ReduceLogSumExp", "ArgMax", "ArgMin",
                       "Hardmax", "CumSum", "TopK"});
}
