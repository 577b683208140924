//===- MatMul.cpp - Converters of matrix products -------------------------===//

#include "Converter.h"

#include "llvm/ADT/SetVector.h"

#include <map>

using namespace mlir;
using namespace mlir::dist::frontend;

using Labels = SmallVector<int64_t>;

FailureOr<Value> mlir::dist::frontend::emitMatMul(NodeContext &c, Value a,
                                                  Value b) {
  Shape aShape = c.emitter.shapeOf(a), bShape = c.emitter.shapeOf(b);
  if (aShape.empty() || bShape.empty()) {
    (void)c.invalid("a scalar operand");
    return failure();
  }
  // Labels: k = 0, m = 1, n = 2, batch dimensions from the right 3, 4, ….
  auto labelsOf = [](int64_t rank, bool left) {
    Labels labels;
    for (int64_t i = 0; i < rank - 2; ++i)
      labels.push_back(3 + rank - 3 - i);
    if (rank >= 2)
      labels.append(left ? Labels{1, 0} : Labels{0, 2});
    else
      labels.push_back(0);
    return labels;
  };
  int64_t aRank = aShape.size(), bRank = bShape.size();
  int64_t k = bRank == 1 ? bShape[0] : bShape[bRank - 2];
  ArrayRef<int64_t> aBatch(aShape), bBatch(bShape);
  aBatch = aBatch.drop_back(std::min<size_t>(2, aBatch.size()));
  bBatch = bBatch.drop_back(std::min<size_t>(2, bBatch.size()));
  std::optional<Shape> batch = broadcastShapes(aBatch, bBatch);
  if (aShape.back() != k || !batch) {
    (void)c.disagree("cannot be multiplied", aShape, bShape);
    return failure();
  }
  Labels result;
  Shape shape = *batch;
  for (int64_t i = batch->size() - 1; i >= 0; --i)
    result.push_back(3 + i);
  if (aRank >= 2) {
    result.push_back(1);
    shape.push_back(aShape[aRank - 2]);
  }
  if (bRank >= 2) {
    result.push_back(2);
    shape.push_back(bShape.back());
  }
  if (!c.isPossible(shape)) {
    (void)c.invalid("a product of shape " + toString(shape));
    return failure();
  }
  return c.emitter.contract(a, labelsOf(aRank, true), b, labelsOf(bRank, false),
                            result);
}

static LogicalResult matMul(NodeContext &c) {
  FailureOr<Value> product = emitMatMul(c, c.value(0), c.value(1));
  if (failed(product))
    return failure();
  c.set(0, *product, c.in(0).type);
  return success();
}

/// alpha * A' * B' + beta * C
static LogicalResult gemm(NodeContext &c) {
  const Tensor &a = c.in(0), &b = c.in(1);
  bool transA = c.boolAttr("transA", false);
  bool transB = c.boolAttr("transB", false);
  double alpha = c.floatAttr("alpha", 1), beta = c.floatAttr("beta", 1);
  if (a.rank() == 2 && b.rank() == 2 &&
      a.shape[transA ? 0 : 1] != b.shape[transB ? 1 : 0] &&
      (hasOpen(a.shape) || hasOpen(b.shape)))
    return c.disagree("cannot be multiplied", a.shape, b.shape);
  if (a.type != b.type || a.type == DType::Bool || a.rank() != 2 ||
      b.rank() != 2 || a.shape[transA ? 0 : 1] != b.shape[transB ? 1 : 0])
    return c.invalid("operands " + nameOf(a.type) + " " + toString(a.shape) +
                     " and " + nameOf(b.type) + " " + toString(b.shape) +
                     " with transA " + Twine(transA) + ", transB " +
                     Twine(transB));
  DType type = a.type;
  Type element = c.emitter.typeOf(type);
  Shape shape{a.shape[transA ? 1 : 0], b.shape[transB ? 0 : 1]};
  Labels left{1, 0}, right{0, 2};
  if (transA)
    std::swap(left[0], left[1]);
  if (transB)
    std::swap(right[0], right[1]);
  Value result =
      c.emitter.contract(c.value(0), left, c.value(1), right, {1, 2});
  auto scale = [&](Value value, double factor) {
    if (factor == 1)
      return value;
    return c.emitter.map(value, c.emitter.shapeOf(value), element,
                         [&](Scalar &s, ArrayRef<Value> in) {
                           return s.mul(in[0], s.constant(element, factor));
                         });
  };
  result = scale(result, alpha);
  if (c.has(2) && beta != 0) {
    if (c.in(2).type == type && hasOpen(c.in(2).shape) &&
        broadcastShapes(shape, c.in(2).shape) != shape)
      return c.disagree("cannot be added", shape, c.in(2).shape);
    if (c.in(2).type != type || broadcastShapes(shape, c.in(2).shape) != shape)
      return c.invalid("a bias " + nameOf(c.in(2).type) + " " +
                       toString(c.in(2).shape) + " for a product of shape " +
                       toString(shape));
    Value bias = scale(c.value(2), beta);
    result = c.emitter.map(
        {result, bias}, shape, element,
        [](Scalar &s, ArrayRef<Value> in) { return s.add(in[0], in[1]); });
  }
  c.set(0, result, type);
  return success();
}

namespace {
struct Term {
  Value value;
  Labels labels;
};
} // namespace

/// Reads "bij, bjk -> bik"; an ellipsis becomes labels from 1000 on, counted
/// from the right.
static LogicalResult parseEquation(NodeContext &c, StringRef equation,
                                   SmallVectorImpl<Labels> &inputs,
                                   Labels &output) {
  std::string text;
  for (char letter : equation)
    if (letter != ' ')
      text += letter;
  auto [left, right] = StringRef(text).split("->");
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  if (terms.size() != c.numInputs())
    return c.invalid("equation '" + equation + "' for " + Twine(c.numInputs()) +
                     " inputs");
  auto parse = [&](StringRef term, int64_t ellipsis, Labels &labels) {
    while (!term.empty()) {
      if (term.consume_front("...")) {
        for (int64_t i = ellipsis - 1; i >= 0; --i)
          labels.push_back(1000 + i);
        continue;
      }
      if (!isalpha(static_cast<unsigned char>(term.front())))
        return false;
      labels.push_back(term.front());
      term = term.drop_front();
    }
    return true;
  };
  int64_t widest = 0;
  std::map<int64_t, int64_t> uses;
  for (auto [i, term] : llvm::enumerate(terms)) {
    int64_t letters = llvm::count_if(term, [](char l) { return l != '.'; });
    int64_t ellipsis = c.in(i).rank() - letters;
    if (ellipsis < 0 || !parse(term, ellipsis, inputs.emplace_back()) ||
        static_cast<int64_t>(inputs.back().size()) != c.in(i).rank())
      return c.invalid("equation '" + equation + "' for input " + Twine(i) +
                       " of shape " + toString(c.in(i).shape));
    if (term.contains('.'))
      widest = std::max(widest, ellipsis);
    for (int64_t label : inputs.back())
      ++uses[label];
  }
  if (text.find("->") != std::string::npos) {
    if (!parse(right, widest, output))
      return c.invalid("equation '" + equation + "'");
  } else {
    for (int64_t i = widest - 1; i >= 0; --i)
      output.push_back(1000 + i);
    for (auto [label, count] : uses)
      if (label < 1000 && count == 1)
        output.push_back(label);
  }
  return success();
}

/// Sums away what neither `wanted` nor anything else needs.
static void sumAway(NodeContext &c, Term &term,
                    llvm::function_ref<bool(int64_t)> wanted) {
  SmallVector<int64_t> axes;
  Labels kept;
  for (auto [dim, label] : llvm::enumerate(term.labels)) {
    if (wanted(label))
      kept.push_back(label);
    else
      axes.push_back(dim);
  }
  term = {c.emitter.reduce(Reduction::Sum, term.value, axes, /*keep=*/false),
          kept};
}

/// The elements whose positions along dimensions of one label are equal.
static Term takeDiagonals(NodeContext &c, Term term) {
  llvm::SmallSetVector<int64_t, 8> unique(term.labels.begin(),
                                          term.labels.end());
  if (unique.size() == term.labels.size())
    return term;
  Emitter &e = c.emitter;
  MLIRContext *context = e.getBuilder().getContext();
  Shape from = e.shapeOf(term.value), shape(unique.size(), 0);
  SmallVector<AffineExpr> in;
  for (auto [dim, label] : llvm::enumerate(term.labels)) {
    size_t loop = llvm::find(unique, label) - unique.begin();
    in.push_back(getAffineDimExpr(loop, context));
    shape[loop] = from[dim];
  }
  Type element = cast<RankedTensorType>(term.value.getType()).getElementType();
  Value diagonal = e.loops(
      term.value, AffineMap::get(unique.size(), 0, in, context),
      e.empty(shape, element),
      AffineMap::getMultiDimIdentityMap(unique.size(), context),
      [](LoopScalar &, ArrayRef<Value> args, Value) { return args[0]; });
  return {diagonal, Labels(unique.begin(), unique.end())};
}

static LogicalResult einsum(NodeContext &c) {
  StringRef equation = c.stringAttr("equation", "");
  SmallVector<Labels> inputs;
  Labels output;
  if (failed(parseEquation(c, equation, inputs, output)))
    return failure();
  DType type = c.in(0).type;
  std::map<int64_t, int64_t> sizes;
  std::vector<Term> terms;
  for (auto [i, labels] : llvm::enumerate(inputs)) {
    for (auto [label, dim] : llvm::zip(labels, c.in(i).shape)) {
      int64_t &size = sizes.try_emplace(label, 1).first->second;
      bool repeats =
          llvm::count(labels, label) > 1 &&
          c.in(i).shape[llvm::find(labels, label) - labels.begin()] != dim;
      if ((repeats || (size != dim && size != 1 && dim != 1)) &&
          hasOpen({size, dim}))
        return c.disagree("are of one label", size, dim);
      if (repeats || (size != dim && size != 1 && dim != 1))
        return c.invalid("equation '" + equation + "': sizes " + Twine(size) +
                         " and " + Twine(dim) + " for one label");
      if (dim != 1)
        size = dim;
    }
    terms.push_back(takeDiagonals(c, {c.value(i), labels}));
  }
  Shape shape;
  llvm::SmallSetVector<int64_t, 8> unique(output.begin(), output.end());
  for (int64_t label : output) {
    if (!sizes.count(label) || unique.size() != output.size())
      return c.invalid("equation '" + equation + "': its result");
    shape.push_back(sizes[label]);
  }
  if (!c.isPossible(shape))
    return c.invalid("a product of shape " + toString(shape));

  // From the left, two at a time; a sum over one operand alone comes first.
  Term sum = terms.front();
  for (size_t i = 1; i <= terms.size(); ++i) {
    auto later = [&](int64_t label, size_t from) {
      return llvm::is_contained(output, label) ||
             llvm::any_of(ArrayRef(terms).drop_front(from), [&](const Term &t) {
               return llvm::is_contained(t.labels, label);
             });
    };
    sumAway(c, sum, [&](int64_t label) { return later(label, i); });
    if (i == terms.size())
      break;
    Term next = terms[i];
    sumAway(c, next, [&](int64_t label) {
      return later(label, i + 1) || llvm::is_contained(sum.labels, label);
    });
    Labels result;
    if (i + 1 == terms.size()) {
      for (int64_t label : output)
        result.push_back(label);
    } else {
      for (int64_t label : sum.labels)
        if (later(label, i + 1))
          result.push_back(label);
      for (int64_t label : next.labels)
        if (later(label, i + 1) && !llvm::is_contained(result, label))
          result.push_back(label);
    }
    sum = {c.emitter.contract(sum.value, sum.labels, next.value, next.labels,
                              result),
           result};
  }
  // One operand: only the order may be left to set.
  SmallVector<int64_t> permutation;
  for (int64_t label : output) {
    auto at = llvm::find(sum.labels, label);
    if (at == sum.labels.end())
      return c.invalid("equation '" + equation + "': its result");
    permutation.push_back(at - sum.labels.begin());
  }
  Value value = c.emitter.transpose(sum.value, permutation);
  c.set(0, c.emitter.broadcast(value, shape), type);
  return success();
}

void mlir::dist::frontend::addContractionConverters(ConverterTable &table) {
  table.add("MatMul", 2, matMul);
  table.add("Gemm", 2, gemm);
  table.add("Einsum", 1, einsum);
  table.takeOpenSizes({"MatMul", "Gemm", "Einsum"});
}
