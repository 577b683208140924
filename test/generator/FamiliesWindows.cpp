//===- FamiliesWindows.cpp - Convolutions and poolings --------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "test/generator/RandomProgram.h"

using namespace mlir;
using namespace mlir::dist::test;

/// Adds rows of `number` around a tensor, as exporters do before a window.
static Value padAround(RandomProgram &p, Value x, ArrayRef<int64_t> low,
                       ArrayRef<int64_t> high, double number) {
  RankedTensorType type = p.typeOf(x);
  SmallVector<int64_t> shape(type.getShape());
  for (auto [size, before, after] : llvm::zip_equal(shape, low, high))
    size += before + after;
  Bounds range = p.rangeOf(x);
  range.bound = std::max(range.bound, std::abs(number));
  MLIRContext *context = p.b.getContext();
  Value padded = tensor::PadOp::create(p.b, p.loc, type.clone(shape), x,
                                       getAsIndexOpFoldResult(context, low),
                                       getAsIndexOpFoldResult(context, high),
                                       p.scalar(type.getElementType(), number));
  return p.add(padded, range);
}

/// Sums or maxima over windows of one dimension, as a generic.
static bool makePooling(RandomProgram &p, Value x, int64_t axis) {
  RankedTensorType type = p.typeOf(x);
  Type element = type.getElementType();
  int64_t rank = type.getRank();
  int64_t size = type.getDimSize(axis);
  if (element.isInteger(1) || size == 0)
    return false;
  bool isMax = p.c.chance(50);
  // Some reach over several blocks.
  bool isWide = p.c.chance(30);
  if (p.c.chance(60)) {
    SmallVector<int64_t> low(rank, 0), high = low;
    low[axis] = p.c.below(isWide ? 6 : 3);
    high[axis] = p.c.below(isWide ? 6 : 3);
    x = padAround(p, x, low, high, isMax ? -8.0 : p.c.pick({0.0, 0.5}));
    type = p.typeOf(x);
    size = type.getDimSize(axis);
  }
  int64_t stride = 1 + p.c.below(3), dilation = 1 + p.c.below(2);
  int64_t window = 1 + p.c.below(isWide ? 8 : 3);
  if ((window - 1) * dilation >= size)
    window = 1;
  int64_t out = (size - (window - 1) * dilation - 1) / stride + 1;
  SmallVector<AffineExpr> from, to;
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] = out;
  SmallVector<utils::IteratorType> loops(rank + 1,
                                         utils::IteratorType::parallel);
  loops[rank] = utils::IteratorType::reduction;
  for (int64_t d = 0; d < rank; ++d) {
    to.push_back(p.dim(d));
    from.push_back(d == axis ? p.dim(d) * stride + p.dim(rank) * dilation
                             : p.dim(d));
  }
  bool isFloat = isa<FloatType>(element);
  bool isWeighed = !isMax && p.c.chance(50);
  Value size1 =
      isWeighed ? p.getTensor({window}, element) : p.empty({window}, element);
  if (isWeighed)
    size1 = p.tame(size1);
  Value init = p.filled(shape, element, isMax ? -1e6 : 0);
  Bounds range = p.rangeOf(x);
  auto op = p.generic(
      {x, size1}, {init},
      {p.map(rank + 1, from), p.map(rank + 1, p.dim(rank)),
       p.map(rank + 1, to)},
      loops, [&](OpBuilder &b, Location loc, ValueRange v) {
        Value term = v[0], out;
        if (isWeighed)
          term = isFloat
                     ? arith::MulFOp::create(b, loc, v[0], v[1]).getResult()
                     : arith::MulIOp::create(b, loc, v[0], v[1]).getResult();
        if (isMax)
          out = isFloat
                    ? arith::MaximumFOp::create(b, loc, v[2], term).getResult()
                    : arith::MaxSIOp::create(b, loc, v[2], term).getResult();
        else
          out = isFloat ? arith::AddFOp::create(b, loc, v[2], term).getResult()
                        : arith::AddIOp::create(b, loc, v[2], term).getResult();
        linalg::YieldOp::create(b, loc, out);
      });
  Bounds weight = isWeighed ? p.rangeOf(size1) : Bounds{1, 0};
  p.tame(p.add(op.getResult(0), {range.bound * weight.bound * window,
                                 range.grid + weight.grid}));
  return true;
}

static bool makePooling(RandomProgram &p) {
  Value x = p.tame(p.pickTensor(1, 3));
  return makePooling(p, x, p.c.below(p.typeOf(x).getRank()));
}

/// Rows that are repeated, each so many times, and merged: windows of these. Or
/// rows that are taken apart, of which windows are read.
static bool makeMergedWindow(RandomProgram &p) {
  int64_t period = 2 + p.c.below(2);
  bool isMerged = p.c.chance(60);
  Value x = p.tame(p.pickTensor(1, 3));
  RankedTensorType type = p.typeOf(x);
  int64_t rank = type.getRank(), axis = p.c.below(rank);
  SmallVector<int64_t> apart(type.getShape());
  if (isMerged)
    apart.insert(apart.begin() + axis + 1, period);
  SmallVector<int64_t> merged(type.getShape());
  merged[axis] *= period;
  if (type.getNumElements() == 0 || type.getNumElements() * period > 4000)
    return false;
  SmallVector<ReassociationIndices> groups;
  for (int64_t d = 0; d < rank; ++d) {
    int64_t place = d > axis ? d + 1 : d;
    groups.push_back({place});
    if (d == axis)
      groups.back().push_back(place + 1);
  }
  if (!isMerged) {
    x = p.tame(p.getTensor(merged, type.getElementType()));
    apart.insert(apart.begin() + axis + 1, period);
    Value rows = tensor::ExpandShapeOp::create(
        p.b, p.loc, RankedTensorType::get(apart, type.getElementType()), x,
        groups);
    return makePooling(p, p.add(rows, p.rangeOf(x)), axis);
  }
  SmallVector<AffineExpr> from, to;
  for (int64_t d = 0; d <= rank; ++d) {
    to.push_back(p.dim(d));
    if (d != axis + 1)
      from.push_back(p.dim(d));
  }
  auto repeated = p.generic(
      {x}, {p.empty(apart, type.getElementType())},
      {p.map(rank + 1, from), p.map(rank + 1, to)},
      SmallVector<utils::IteratorType>(rank + 1, utils::IteratorType::parallel),
      [](OpBuilder &b, Location loc, ValueRange v) {
        linalg::YieldOp::create(b, loc, v[0]);
      });
  Value rows = tensor::CollapseShapeOp::create(
      p.b, p.loc, type.clone(merged),
      p.add(repeated.getResult(0), p.rangeOf(x)), groups);
  return makePooling(p, p.add(rows, p.rangeOf(x)), axis);
}

/// Windows of rows that are padded by rows of their own: those of the other
/// end, mirrored or repeated.
static bool makePaddedWindow(RandomProgram &p) {
  Value x = p.tame(p.pickTensor(1, 3));
  RankedTensorType type = p.typeOf(x);
  int64_t rank = type.getRank(), axis = p.c.below(rank);
  int64_t size = type.getDimSize(axis);
  int64_t low = p.c.below(4), high = p.c.below(4);
  if (type.getNumElements() == 0 || std::max(low, high) >= size)
    return false;
  auto take = [&](int64_t first, int64_t count) {
    SmallVector<int64_t> offsets(rank, 0), sizes(type.getShape()),
        strides(rank, 1);
    offsets[axis] = first;
    sizes[axis] = count;
    MLIRContext *context = p.b.getContext();
    return tensor::ExtractSliceOp::create(
               p.b, p.loc, x, getAsIndexOpFoldResult(context, offsets),
               getAsIndexOpFoldResult(context, sizes),
               getAsIndexOpFoldResult(context, strides))
        .getResult();
  };
  SmallVector<Value> pieces;
  int64_t kind = p.c.below(3);
  if (kind == 0 && low != 0)
    pieces.push_back(take(size - low, low));
  for (int64_t i = 0; i < low && kind != 0; ++i)
    pieces.push_back(take(kind == 1 ? low - i : 0, 1));
  pieces.push_back(x);
  if (kind == 0 && high != 0)
    pieces.push_back(take(0, high));
  for (int64_t i = 0; i < high && kind != 0; ++i)
    pieces.push_back(take(kind == 1 ? size - 2 - i : size - 1, 1));
  Value joined = tensor::ConcatOp::create(p.b, p.loc, axis, pieces);
  return makePooling(p, p.add(joined, p.rangeOf(x)), axis);
}

/// The named convolutions and poolings.
static bool makeNamedWindow(RandomProgram &p) {
  Type element = p.b.getF64Type();
  int64_t n = p.pickSize(), c = p.pickSize(), f = p.pickSize();
  int64_t h = 3 + p.c.below(5), w = 3 + p.c.below(4), k = 1 + p.c.below(3);
  int64_t stride = 1 + p.c.below(2);
  int64_t oh = (h - k) / stride + 1, ow = (w - k) / stride + 1;
  if (n * c * h * w > 4000 || n * f * oh * ow * c * k * k > 60000)
    return false;
  auto pair = [&](int64_t value, int64_t count) {
    SmallVector<int64_t> values(count, value);
    return p.b.getI64TensorAttr(values);
  };
  Operation *op;
  Value x, weights, init;
  double terms = k * k;
  auto make = [&](auto kind, ArrayRef<int64_t> in, ArrayRef<int64_t> filter,
                  ArrayRef<int64_t> out, int64_t first, int64_t rank,
                  double start) {
    using Op = typename decltype(kind)::type;
    SmallVector<int64_t> inner(in), low(in.size(), 0), high = low;
    if (p.c.chance(60))
      for (int64_t d = first; d < first + rank; ++d) {
        low[d] = p.c.below(2);
        high[d] = p.c.below(3);
        inner[d] = std::max<int64_t>(1, inner[d] - low[d] - high[d]);
        high[d] = in[d] - inner[d] - low[d];
      }
    x = p.tame(p.getTensor(inner, element));
    if (inner != SmallVector<int64_t>(in))
      x = padAround(p, x, low, high, start < 0 ? -8 : start > 0 ? 8 : 0);
    weights = filter.size() == static_cast<size_t>(rank) && start != 0
                  ? p.empty(filter, element)
                  : p.tame(p.getTensor(filter, element));
    init = p.filled(out, element, start);
    op = Op::create(p.b, p.loc, TypeRange(init.getType()),
                    ValueRange{x, weights}, ValueRange(init),
                    pair(stride, rank), pair(1, rank));
  };
#define KIND(OP) (std::common_type<linalg::OP>())
  switch (p.c.below(6)) {
  case 0:
    make(KIND(Conv2DNchwFchwOp), {n, c, h, w}, {f, c, k, k}, {n, f, oh, ow}, 2,
         2, 0);
    terms *= c;
    break;
  case 1:
    make(KIND(Conv1DNwcWcfOp), {n, w, c}, {k, c, f}, {n, ow, f}, 1, 1, 0);
    terms *= c;
    break;
  case 2:
    make(KIND(DepthwiseConv1DNwcWcOp), {n, w, c}, {k, c}, {n, ow, c}, 1, 1, 0);
    break;
  case 3:
    make(KIND(PoolingNhwcMaxOp), {n, h, w, c}, {k, k}, {n, oh, ow, c}, 1, 2,
         -1e6);
    break;
  case 4:
    make(KIND(PoolingNchwSumOp), {n, c, h, w}, {k, k}, {n, c, oh, ow}, 2, 2, 0);
    break;
  case 5:
    make(KIND(PoolingNwcMinOp), {n, w, c}, {k}, {n, ow, c}, 1, 1, 1e6);
    break;
  }
#undef KIND
  Bounds rx = p.rangeOf(x), rw = p.rangeOf(weights);
  p.tame(p.add(op->getResult(0),
               {rx.bound * std::max(rw.bound, 1.0) * std::max(terms, 1.0),
                rx.grid + rw.grid}));
  return true;
}

/// The body of a product that is accumulated.
static void addProduct(OpBuilder &b, Location loc, ValueRange v) {
  bool isFloat = isa<FloatType>(v[2].getType());
  Value term = isFloat ? arith::MulFOp::create(b, loc, v[0], v[1]).getResult()
                       : arith::MulIOp::create(b, loc, v[0], v[1]).getResult();
  Value sum = isFloat ? arith::AddFOp::create(b, loc, v[2], term).getResult()
                      : arith::AddIOp::create(b, loc, v[2], term).getResult();
  linalg::YieldOp::create(b, loc, sum);
}

/// The gradient of a convolution's weight: the loop that moves its windows is
/// summed over.
static bool makeWeightGradient(RandomProgram &p) {
  Value x = p.tame(p.pickTensor(2, 2));
  RankedTensorType type = p.typeOf(x);
  Type element = type.getElementType();
  int64_t size = type.getDimSize(0), channels = type.getDimSize(1);
  if (element.isInteger(1) || size == 0 || channels == 0)
    return false;
  int64_t stride = 1 + p.c.below(3), dilation = 1 + p.c.below(3);
  int64_t window = 1 + p.c.below(4);
  SmallVector<int64_t> low{p.c.below(4), 0}, high{p.c.below(4), 0};
  if (p.c.chance(70)) {
    x = padAround(p, x, low, high, p.c.pick({0.0, 0.5}));
    size = p.typeOf(x).getDimSize(0);
  }
  if ((window - 1) * dilation >= size)
    window = 1;
  int64_t out = (size - (window - 1) * dilation - 1) / stride + 1;
  Value dy = p.tame(p.getTensor({out, p.pickSize()}, element));
  int64_t features = p.typeOf(dy).getDimSize(1);
  Value init = p.filled({window, channels, features}, element, 0);
  using Loop = utils::IteratorType;
  auto op = p.generic(
      {x, dy}, {init},
      {p.map(4, {p.dim(0) * stride + p.dim(1) * dilation, p.dim(2)}),
       p.map(4, {p.dim(0), p.dim(3)}),
       p.map(4, {p.dim(1), p.dim(2), p.dim(3)})},
      {Loop::reduction, Loop::parallel, Loop::parallel, Loop::parallel},
      addProduct);
  Bounds rx = p.rangeOf(x), ry = p.rangeOf(dy);
  p.tame(
      p.add(op.getResult(0), {rx.bound * ry.bound * out, rx.grid + ry.grid}));
  return true;
}

/// The gradient of what a convolution or a pooling reads: it is added up in
/// windows of the result, of which what was padded is often cut off.
static bool makeInputGradient(RandomProgram &p) {
  Value dy = p.tame(p.pickTensor(2, 2));
  RankedTensorType type = p.typeOf(dy);
  Type element = type.getElementType();
  int64_t count = type.getDimSize(0), features = type.getDimSize(1);
  if (element.isInteger(1) || count == 0 || features == 0)
    return false;
  int64_t stride = 1 + p.c.below(3), dilation = 1 + p.c.below(3);
  int64_t window = 1 + p.c.below(5), channels = p.pickSize();
  // Some rows at the end no window reaches.
  int64_t size =
      (count - 1) * stride + (window - 1) * dilation + 1 + p.c.below(stride);
  if (channels == 0 || size * channels > 4000)
    return false;
  Value weights = p.tame(p.getTensor({window, features}, element));
  bool isStarted = p.c.chance(25);
  Value init = isStarted ? p.tame(p.getTensor({size, channels}, element))
                         : p.filled({size, channels}, element, 0);
  using Loop = utils::IteratorType;
  auto op = p.generic(
      {dy, weights}, {init},
      {p.map(4, {p.dim(0), p.dim(3)}), p.map(4, {p.dim(1), p.dim(3)}),
       p.map(4, {p.dim(0) * stride + p.dim(1) * dilation, p.dim(2)})},
      {Loop::reduction, Loop::reduction, Loop::parallel, Loop::reduction},
      addProduct);
  Bounds ry = p.rangeOf(dy), rw = p.rangeOf(weights);
  Bounds range{ry.bound * rw.bound * window * features, ry.grid + rw.grid};
  if (isStarted) {
    range.bound += p.rangeOf(init).bound;
    range.grid = std::max(range.grid, p.rangeOf(init).grid);
  }
  Value result = p.add(op.getResult(0), range);
  int64_t low = p.c.below(3), high = p.c.below(3);
  if (p.c.chance(60) && size - low - high > 1) {
    auto slice = tensor::ExtractSliceOp::create(
        p.b, p.loc, result, getAsIndexOpFoldResult(p.b.getContext(), {low, 0}),
        getAsIndexOpFoldResult(p.b.getContext(), {size - low - high, channels}),
        getAsIndexOpFoldResult(p.b.getContext(), {1, 1}));
    result = p.add(slice.getResult(), range);
  }
  p.tame(result);
  return true;
}

bool mlir::dist::test::makeWindow(RandomProgram &p) {
  if (p.c.chance(25))
    return makeWeightGradient(p);
  if (p.c.chance(33))
    return makeInputGradient(p);
  int64_t kind = p.c.below(100);
  if (kind >= 50)
    return makeNamedWindow(p);
  if (kind >= 25)
    return makePooling(p);
  return kind >= 12 ? makeMergedWindow(p) : makePaddedWindow(p);
}
