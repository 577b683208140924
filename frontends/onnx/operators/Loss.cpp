//===- Loss.cpp - Converters of losses ------------------------------------===//
//
// Cross entropy as sums over the classes, so that the classes can be sharded.
// Only a maximum, a sum and the number of the label are reduced for each row,
// and no logit leaves its device (Megatron-LM's vocabulary-parallel cross
// entropy).
//
//===----------------------------------------------------------------------===//

#include "Converter.h"

using namespace mlir;
using namespace mlir::dist::frontend;

/// Labels as i64, all of them classes, or the one that is ignored.
static Value checkLabels(NodeContext &c, int64_t classes,
                         std::optional<int64_t> ignored) {
  Emitter &e = c.emitter;
  Type i64 = e.getBuilder().getI64Type();
  Value labels = e.cast(c.value(1), c.in(1).type, DType::I64);
  std::string message =
      "a label is out of range: labels must be at least 0 and "
      "less than the number of classes";
  if (!isOpen(classes))
    message += ", " + std::to_string(classes);
  if (ignored)
    message += ", or " + std::to_string(*ignored);
  return e.map(labels, c.in(1).shape, i64, [&](Scalar &s, ArrayRef<Value> in) {
    Value zero = s.constantInt(i64, 0), label = e.whereTaken(s, in[0], 0);
    Value holds =
        s.bitAnd(s.compare(Compare::GE, label, zero),
                 s.compare(Compare::LT, label, e.numberOf(s, i64, classes)));
    if (ignored)
      holds = s.bitOr(
          holds, s.compare(Compare::EQ, label, s.constantInt(i64, *ignored)));
    s.require(holds, message);
    return label;
  });
}

/// Scores [n, classes, …] and labels [n, …]: minus the score of the label,
/// times the label's weight.
template <bool takesLogits> static LogicalResult crossEntropy(NodeContext &c) {
  const Tensor &scores = c.in(0), &labels = c.in(1);
  int64_t rank = scores.rank();
  if (rank < 2)
    return c.invalid("scores of shape " + toString(scores.shape));
  Shape rows = scores.shape;
  rows.erase(rows.begin() + 1);
  int64_t classes = scores.shape[1];
  if (labels.shape != rows)
    return c.disagree("scores and labels of shapes", scores.shape,
                      labels.shape);
  bool isWeighted = c.has(2);
  if (isWeighted && c.in(2).shape != Shape{classes})
    return c.disagree("classes and weights of shapes", Shape{classes},
                      c.in(2).shape);
  std::optional<int64_t> ignored;
  if (c.hasAttr("ignore_index"))
    ignored = c.intAttr("ignore_index", 0);
  StringRef reduction = c.stringAttr("reduction", "mean");
  if (reduction != "mean" && reduction != "sum" && reduction != "none")
    return c.invalid("reduction '" + reduction + "'");

  Emitter &e = c.emitter;
  DType type = scores.type,
        inner = type == DType::F64 ? DType::F64 : DType::F32;
  Type element = e.typeOf(inner), i64 = e.getBuilder().getI64Type();
  Value logs = e.cast(c.value(0), type, inner);
  if (takesLogits) {
    logs = emitSoftmax(e, logs, 1, /*logarithm=*/true);
    if (c.wants(1))
      c.set(1, e.cast(logs, inner, type), type);
  }
  Value where = checkLabels(c, classes, ignored);
  auto counts = [&](Scalar &s, Value label) {
    return s.compare(Compare::NE, label, s.constantInt(i64, *ignored));
  };

  // Loops are the dimensions of the scores.
  MLIRContext *context = element.getContext();
  AffineMap all = AffineMap::getMultiDimIdentityMap(rank, context);
  AffineMap ofRows = all.dropResult(1), ofClasses = all.getSubMap(1);
  Value none = e.filled(rows, e.scalar(element, 0));
  auto pick = [&](ArrayRef<Value> inputs, ArrayRef<AffineMap> maps,
                  llvm::function_ref<Value(Scalar &, ArrayRef<Value>)> what) {
    return e.loops(inputs, maps, none, ofRows,
                   [&](LoopScalar &s, ArrayRef<Value> in, Value sum) {
                     Value isIt =
                         s.compare(Compare::EQ, s.positionInt(1), in[0]);
                     if (ignored)
                       isIt = s.bitAnd(isIt, counts(s, in[0]));
                     return s.add(sum, s.select(isIt, what(s, in.drop_front()),
                                                s.constant(element, 0)));
                   });
  };
  Value loss, weight;
  if (isWeighted) {
    Value weights = e.cast(c.value(2), c.in(2).type, inner);
    loss = pick({where, logs, weights}, {ofRows, all, ofClasses},
                [](Scalar &s, ArrayRef<Value> in) {
                  return s.neg(s.mul(in[0], in[1]));
                });
    // Of every class, so that it is cut as the scores are.
    weight = pick({where, logs, weights}, {ofRows, all, ofClasses},
                  [](Scalar &s, ArrayRef<Value> in) { return in[1]; });
  } else {
    loss = pick({where, logs}, {ofRows, all},
                [](Scalar &s, ArrayRef<Value> in) { return s.neg(in[0]); });
    if (ignored)
      weight = e.map(where, rows, element, [&](Scalar &s, ArrayRef<Value> in) {
        return s.select(counts(s, in[0]), s.constant(element, 1),
                        s.constant(element, 0));
      });
  }
  if (reduction == "none") {
    c.set(0, e.cast(loss, inner, type), type);
    return success();
  }
  auto every = llvm::to_vector(llvm::seq<int64_t>(0, rank - 1));
  Value total = e.reduce(Reduction::Sum, loss, every, /*keep=*/false);
  if (reduction == "mean") {
    int64_t count = 1;
    for (int64_t size : rows)
      count = e.sizes.mul(count, size);
    Value of = weight ? e.reduce(Reduction::Sum, weight, every, /*keep=*/false)
                      : Value();
    total = e.map(
        of ? SmallVector<Value>{total, of} : SmallVector<Value>{total}, {},
        element, [&](Scalar &s, ArrayRef<Value> in) {
          Value divisor =
              of ? in[1] : s.cast(e.numberOf(s, i64, count), DType::I64, inner);
          return s.div(in[0], divisor);
        });
  }
  c.set(0, e.cast(total, inner, type), type);
  return success();
}

void mlir::dist::frontend::addLossConverters(ConverterTable &table) {
  table.add("NegativeLogLikelihoodLoss", 2, crossEntropy<false>);
  table.add("SoftmaxCrossEntropyLoss", 2, crossEntropy<true>);
  table.takeOpenSizes({"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"});
}
