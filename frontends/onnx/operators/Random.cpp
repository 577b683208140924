//===- Random.cpp - Converters of operators that draw random numbers ------===//
//
// Elements are drawn by their place in the whole tensor, so that a device which
// has a part of it, and a gradient that computes them again, draw the same.
//
//===----------------------------------------------------------------------===//

#include "frontends/onnx/emitting/Random.h"
#include "Converter.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist::frontend;

/// The number of the element, row by row.
static Value getElement(Emitter &e, LoopScalar &s, ArrayRef<int64_t> shape,
                        Type type) {
  Value element = s.constantInt(type, 0);
  for (auto [dim, size] : llvm::enumerate(shape))
    element =
        s.add(s.mul(element, e.numberOf(s, type, size)), s.positionInt(dim));
  return element;
}

static LogicalResult dropout(NodeContext &c) {
  if (c.has(2) && !c.number(2))
    return c.unsupported("Dropout whose mode is computed at run time");
  const Tensor &data = c.in(0);
  Emitter &e = c.emitter;
  bool isTraining = c.has(2) && *c.number(2) != 0;
  std::optional<double> ratio = 0.5;
  if (isTraining && c.has(1))
    ratio = c.number(1);
  if (!ratio)
    return c.unsupported("Dropout by a ratio computed at run time");
  if (!(*ratio >= 0 && *ratio <= 1))
    return c.invalid("the ratio is " + std::to_string(*ratio) +
                     ", and must be at least 0 and at most 1");
  if (!isTraining || *ratio == 0) {
    if (c.wants(1)) {
      HostTensor one(DType::Bool, {});
      one.setInt(0, 1);
      Tensor all;
      all.type = DType::Bool;
      all.known = one;
      c.set(1, c.broadcast(all, data.shape));
    }
    c.set(0, data);
    return success();
  }

  auto [seed, step] = e.randomKey();
  int64_t op = e.nextRandom();
  // Of 2^32 numbers, how many drop an element.
  auto threshold = static_cast<int64_t>(std::llround(std::ldexp(*ratio, 32)));
  auto isKept = [&](LoopScalar &s, Value seed, Value step) {
    Type type = seed.getType();
    Value bits =
        emitRandomBits(s, seed, step, op, getElement(e, s, data.shape, type));
    return s.compare(Compare::GE, bits, s.constantInt(type, threshold));
  };
  Type element = e.typeOf(data.type);
  double scale = *ratio < 1 ? 1 / (1 - *ratio) : 0;
  c.set(0,
        e.mapPositions({c.value(0), seed, step}, data.shape, element,
                       [&](LoopScalar &s, ArrayRef<Value> in) {
                         Value kept = isKept(s, in[1], in[2]);
                         Value scaled =
                             s.mul(in[0], s.constant(element, scale));
                         return s.select(kept, scaled, s.constant(element, 0));
                       }),
        data.type);
  if (c.wants(1))
    c.set(1,
          e.mapPositions({seed, step}, data.shape, e.typeOf(DType::Bool),
                         [&](LoopScalar &s, ArrayRef<Value> in) {
                           return isKept(s, in[0], in[1]);
                         }),
          DType::Bool);
  return success();
}

void mlir::dist::frontend::addRandomConverters(ConverterTable &table) {
  table.add("Dropout", 1, dropout);
  table.takeOpenSizes({"Dropout"});
}
