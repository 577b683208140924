//===- Convolution.cpp - Converters of convolutions -----------------------===//

#include "Convolution.h"
#include "Window.h"

#include "mlir/IR/AffineExpr.h"

using namespace mlir;
using namespace mlir::dist::frontend;

Value mlir::dist::frontend::addBias(NodeContext &c, size_t i, Value value) {
  if (!c.has(i))
    return value;
  Shape shape = c.emitter.shapeOf(value), channels(shape.size(), 1);
  channels[1] = c.in(i).shape[0];
  Value bias = c.emitter.reshape(c.value(i), channels);
  return c.emitter.map(
      {value, bias}, shape, c.emitter.typeOf(c.in(0).type),
      [](Scalar &s, ArrayRef<Value> in) { return s.add(in[0], in[1]); });
}

Value mlir::dist::frontend::convolveWindows(Emitter &e, Value image,
                                            Value kernel, Value init,
                                            ArrayRef<int64_t> strides,
                                            ArrayRef<int64_t> dilations,
                                            ArrayRef<int64_t> offsets) {
  MLIRContext *context = e.getBuilder().getContext();
  int64_t space = strides.size();
  // Loops: n, group, feature, space…, channel, window….
  bool isGrouped = e.shapeOf(image).size() == static_cast<size_t>(space) + 3;
  int64_t feature = isGrouped ? 2 : 1, channel = feature + 1 + space;
  int64_t loops = channel + 1 + space;
  auto dim = [&](int64_t i) { return getAffineDimExpr(i, context); };
  SmallVector<AffineExpr> in{dim(0)}, weights, out{dim(0)};
  if (isGrouped)
    for (SmallVector<AffineExpr> *map : {&in, &weights, &out})
      map->push_back(dim(1));
  in.push_back(dim(channel));
  weights.append({dim(feature), dim(channel)});
  out.push_back(dim(feature));
  for (int64_t i = 0; i < space; ++i) {
    AffineExpr place = dim(feature + 1 + i), tap = dim(channel + 1 + i);
    in.push_back(place * strides[i] + tap * dilations[i] + offsets[i]);
    weights.push_back(tap);
    out.push_back(place);
  }
  return e.loops({image, kernel},
                 {AffineMap::get(loops, 0, in, context),
                  AffineMap::get(loops, 0, weights, context)},
                 init, AffineMap::get(loops, 0, out, context),
                 [](LoopScalar &s, ArrayRef<Value> args, Value sum) {
                   return s.add(sum, s.mul(args[0], args[1]));
                 });
}

LogicalResult mlir::dist::frontend::checkConvolution(NodeContext &c,
                                                     int64_t features) {
  const Tensor &x = c.in(0), &w = c.in(1);
  if (x.rank() < 3 || w.rank() != x.rank() || x.type != w.type ||
      !isFloat(x.type))
    return c.invalid("an image " + nameOf(x.type) + " " + toString(x.shape) +
                     " and a kernel " + nameOf(w.type) + " " +
                     toString(w.shape));
  if (c.has(2) && (c.in(2).type != x.type || c.in(2).shape != Shape{features}))
    return c.invalid("a bias " + nameOf(c.in(2).type) + " " +
                     toString(c.in(2).shape) + " for " + Twine(features) +
                     " features");
  return success();
}

Value mlir::dist::frontend::splitGroups(Emitter &e, Value value, int64_t dim,
                                        int64_t groups) {
  Shape shape = e.shapeOf(value);
  shape[dim] /= groups;
  shape.insert(shape.begin() + dim, groups);
  return e.reshape(value, shape);
}

static LogicalResult conv(NodeContext &c) {
  const Tensor &x = c.in(0), &w = c.in(1);
  int64_t groups = c.intAttr("group", 1);
  if (failed(checkConvolution(c, w.shape.empty() ? 0 : w.shape[0])))
    return failure();
  if (isOpen(x.shape[1]) || hasOpen(w.shape)) {
    SmallVector<int64_t> needed(w.shape);
    needed.push_back(x.shape[1]);
    return c.open("Conv of " + c.sizes().toString(x.shape) + " with " +
                      c.sizes().toString(w.shape),
                  needed);
  }
  if (groups <= 0 || w.shape[0] % groups != 0 || w.shape[1] > (1 << 30) ||
      groups > (1 << 30) || x.shape[1] != w.shape[1] * groups)
    return c.invalid(Twine(groups) + " groups for an image " +
                     toString(x.shape) + " and a kernel " + toString(w.shape));
  ArrayRef<int64_t> kernel = ArrayRef<int64_t>(w.shape).drop_front(2);
  if (std::optional<SmallVector<int64_t>> given = c.intsAttr("kernel_shape"))
    if (ArrayRef<int64_t>(*given) != kernel)
      return c.invalid("kernel_shape " + toString(*given) +
                       " for a kernel of shape " + toString(w.shape));
  FailureOr<Windows> windows = readWindows(c, kernel);
  if (failed(windows))
    return failure();
  Emitter &e = c.emitter;
  bool narrow = sizeOf(x.type) == 2;
  DType inner = narrow ? DType::F32 : x.type;
  Type element = e.typeOf(inner);
  Value zero = e.scalar(e.typeOf(x.type), 0.0);
  bool isPlain = groups == 1 && kernel.size() <= 3;
  // Split before padding, so that windows read the padded tensor.
  Value image = isPlain ? c.value(0) : splitGroups(e, c.value(0), 1, groups);
  SmallVector<int64_t> low(isPlain ? 2 : 3, 0), high = low;
  low.append(windows->low);
  high.append(windows->high);
  image = e.cast(e.pad(image, low, high, zero), x.type, inner);
  Value weights = e.cast(c.value(1), x.type, inner);
  Shape shape{x.shape[0], w.shape[0]};
  shape.append(windows->output);
  if (!c.isPossible(shape))
    return c.invalid("a result of shape " + toString(shape));
  Value result;
  Value sum = e.scalar(element, 0.0);
  if (isPlain) {
    result = e.convolve(image, weights, e.filled(shape, sum), windows->strides,
                        windows->dilations);
  } else {
    Shape apart = shape;
    apart[1] /= groups;
    apart.insert(apart.begin() + 1, groups);
    SmallVector<int64_t> offsets(kernel.size(), 0);
    result = convolveWindows(e, image, splitGroups(e, weights, 0, groups),
                             e.filled(apart, sum), windows->strides,
                             windows->dilations, offsets);
    result = e.reshape(result, shape);
  }
  c.set(0, addBias(c, 2, e.cast(result, inner, x.type)), x.type);
  return success();
}

void mlir::dist::frontend::addConvolutionConverters(ConverterTable &table) {
  table.add("Conv", 2, conv);
  table.takeOpenSizes({"Conv"});
}
