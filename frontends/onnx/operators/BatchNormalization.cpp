//===- BatchNormalization.cpp - Batch norms and what they record ----------===//

#include "Converter.h"
#include "Normalization.h"
#include "RunningStatistics.h"

#include "mlir/Interfaces/DestinationStyleOpInterface.h"

#include <cmath>

using namespace mlir;
using namespace mlir::dist::frontend;

/// recorded * momentum + sum / count * (1 - momentum)
static Value moveStatistic(NodeContext &c, Value recorded, DType type,
                           Value sum, int64_t count) {
  double momentum = c.floatAttr("momentum", 0.9);
  DType inner = statisticsType(c.in(0).type);
  Emitter &e = c.emitter;
  Type element = e.typeOf(inner);
  return e.map({recorded, sum}, e.shapeOf(recorded), e.typeOf(type),
               [&](Scalar &s, ArrayRef<Value> in) {
                 Value old = s.mul(s.cast(in[0], type, inner),
                                   s.constant(element, momentum));
                 Value fresh =
                     count == 1 ? in[1]
                                : s.div(in[1], e.numberOf(s, element, count));
                 fresh = s.mul(fresh, s.constant(element, 1 - momentum));
                 return s.cast(s.add(old, fresh), inner, type);
               });
}

/// Whether a value is made of one parameter alone: repeated, or cast.
static bool isOfParameter(Value value, unsigned firstParameter) {
  while (Operation *op = value.getDefiningOp()) {
    Value read;
    auto style = dyn_cast<DestinationStyleOpInterface>(op);
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<RankedTensorType>(operand.get().getType()) ||
          (style && style.isDpsInit(&operand)))
        continue;
      if (read)
        return false;
      read = operand.get();
    }
    if (!read)
      return false;
    value = read;
  }
  return cast<BlockArgument>(value).getArgNumber() >= firstParameter;
}

/// What input `i` has recorded, if that is a parameter, moves on. A module that
/// is called again goes on from where the first call left it.
static void recordStatistic(NodeContext &c, size_t i, Value sum,
                            int64_t count) {
  Emitter &e = c.emitter;
  Value recorded = c.value(i);
  if (!c.in(i).recorded || !isa<BlockArgument>(recorded)) {
    std::vector<std::string> &computed = c.statistics.computed;
    StringRef name = c.node.label();
    if (!c.in(i).known &&
        isOfParameter(recorded, c.statistics.firstParameter) &&
        (computed.empty() || computed.back() != name))
      computed.push_back(name.str());
    return;
  }
  Value &current =
      c.statistics.current.try_emplace(recorded, recorded).first->second;
  Value moved = moveStatistic(c, current, c.in(i).type, sum, count);
  if (e.taken)
    moved = e.map({moved, current}, e.shapeOf(current), e.typeOf(c.in(i).type),
                  [&](Scalar &s, ArrayRef<Value> in) {
                    return s.select(e.taken, in[0], in[1]);
                  });
  current = moved;
}

/// Before opset 14 more results than one said so.
static bool isTraining(NodeContext &c) {
  if (c.opset >= 14)
    return c.boolAttr("training_mode", false);
  return llvm::any_of(llvm::seq<size_t>(1, 5),
                      [&](size_t i) { return c.wants(i); });
}

/// Statistics of the batch instead of recorded ones. Results 1 and 2 are the
/// recorded ones, moved towards them. ONNX takes the variance of the batch for
/// that of the distribution. The program keeps PyTorch's and cuDNN's estimate,
/// which is n / (n - 1) times that.
static LogicalResult batchNormTraining(NodeContext &c, double epsilon) {
  if (!std::isfinite(c.floatAttr("momentum", 0.9)))
    return c.invalid("attribute 'momentum' is no finite number");
  Shape shape = c.in(0).shape;
  DType type = c.in(0).type, inner = statisticsType(type);
  Emitter &e = c.emitter;
  SmallVector<int64_t> axes;
  Shape others;
  for (int64_t i = 0, rank = shape.size(); i < rank; ++i)
    if (i != 1) {
      axes.push_back(i);
      others.push_back(shape[i]);
    }
  auto parameter = [&](size_t i) {
    return e.cast(perChannel(c, i, shape.size()), c.in(i).type, inner);
  };
  Statistics statistics = computeStatistics(e, e.cast(c.value(0), type, inner),
                                            axes, epsilon, /*centers=*/true);
  Value result = applyNorm(e, statistics, parameter(1), parameter(2));
  c.set(0, e.cast(result, inner, type), type);

  Value mean = e.reshape(statistics.mean, {shape[1]});
  Value squares = e.reshape(statistics.squares, {shape[1]});
  int64_t count = c.sizes().product(others);
  for (size_t i : {1, 2})
    if (c.wants(i)) {
      DType recorded = c.in(i + 2).type;
      c.set(i,
            moveStatistic(c, c.value(i + 2), recorded, i == 1 ? mean : squares,
                          i == 1 ? 1 : count),
            recorded);
    }
  recordStatistic(c, 3, mean, 1);
  recordStatistic(c, 4, squares, c.sizes().max(c.sizes().sub(count, 1), 1));
  if (c.floatAttr("momentum", 0.9) == 0)
    c.statistics.forgetful.push_back(c.node.label().str());
  return success();
}

LogicalResult mlir::dist::frontend::batchNorm(NodeContext &c) {
  Shape shape = c.in(0).shape;
  if (shape.size() < 2)
    return c.invalid("shape " + toString(shape) + " has no channels");
  if (failed(checkChannels(c, 1, 4, shape[1])))
    return failure();
  double epsilon = epsilonOf(c);
  if (isTraining(c))
    return batchNormTraining(c, epsilon);
  DType type = c.in(0).type;
  Emitter &e = c.emitter;
  SmallVector<Value> operands{c.value(0)};
  for (size_t i = 1; i <= 4; ++i)
    operands.push_back(
        e.cast(perChannel(c, i, shape.size()), c.in(i).type, type));
  Type element = e.typeOf(type);
  // scale / sqrt(variance + epsilon) once a channel.
  Value factor =
      e.map({operands[1], operands[4]}, e.shapeOf(operands[1]), element,
            [&](Scalar &s, ArrayRef<Value> in) {
              Value inverse = s.apply(
                  Function::Rsqrt, s.add(in[1], s.constant(element, epsilon)));
              return s.mul(in[0], inverse);
            });
  Value result = e.map({operands[0], operands[3], factor, operands[2]}, shape,
                       element, [](Scalar &s, ArrayRef<Value> in) {
                         return s.add(s.mul(s.sub(in[0], in[1]), in[2]), in[3]);
                       });
  c.set(0, result, type);
  return success();
}
