//===- Recurrent.cpp - Converters of recurrent networks -------------------===//
//
// RNN, GRU and LSTM, written out step by step: the length of a sequence is
// known. What the inputs contribute is one contraction for all steps.
//
//===----------------------------------------------------------------------===//

#include "Converter.h"
#include "frontends/bounds/Bounds.h"

using namespace mlir;
using namespace mlir::dist::frontend;

namespace {
/// One direction of one node; values have no dimension for the direction.
struct Direction {
  bool reverse = false;
  /// [steps, batch, gates * hidden], with all biases that are simply added.
  Value inputs;
  /// [gates * hidden, hidden]; biases [gates * hidden], or null.
  Value recurrence, recurrenceBias;
  /// [3 * hidden], or null.
  Value peepholes;
  Value hidden, cell;
  SmallVector<Function> activations;
};

/// The node with its sizes, checked.
struct Network {
  Network(NodeContext &c, int64_t gates) : c(c), gates(gates) {}

  NodeContext &c;
  int64_t gates;
  int64_t steps = 0, batch = 0, size = 0, directions = 1;
  DType type = DType::Undefined;
  /// [batch] of i64, or null.
  Value lengths;

  Emitter &emitter() const { return c.emitter; }
  Type element() const { return c.emitter.typeOf(type); }
  Value apply(ArrayRef<Value> operands, Emitter::Body body) const {
    return c.emitter.map(operands, {batch, size}, element(), body);
  }
  /// Part `i` of the gates along dimension 1.
  Value gate(Value gates, int64_t i) const {
    return c.emitter.sliceDim(gates, 1, i * size, size);
  }
  Value times(Value hidden, Value weights) const {
    return c.emitter.contract(hidden, {0, 1}, weights, {2, 1}, {0, 2});
  }
};
} // namespace

/// Sigmoid is not a function of math; Function::Exp stands for it here.
static constexpr Function kSigmoid = Function::Exp;
static constexpr Function kRelu = Function::Abs;

static Value activate(Scalar &s, Function function, Value x) {
  if (function == kSigmoid) {
    Value one = s.constant(x.getType(), 1);
    return s.div(one, s.add(one, s.apply(Function::Exp, s.neg(x))));
  }
  if (function == kRelu)
    return s.max(x, s.constant(x.getType(), 0));
  return s.apply(function, x);
}

static LogicalResult readActivations(Network &n, ArrayRef<Function> defaults,
                                     SmallVectorImpl<Function> &all) {
  std::optional<SmallVector<StringRef>> names = n.c.stringsAttr("activations");
  for (int64_t i = 0; i < n.directions; ++i)
    all.append(defaults.begin(), defaults.end());
  if (!names)
    return success();
  if (names->size() != all.size())
    return n.c.invalid(Twine(names->size()) + " activations instead of " +
                       Twine(all.size()));
  for (auto [i, name] : llvm::enumerate(*names)) {
    std::string lower = name.lower();
    if (lower == "tanh")
      all[i] = Function::Tanh;
    else if (lower == "sigmoid")
      all[i] = kSigmoid;
    else if (lower == "relu")
      all[i] = kRelu;
    else
      return n.c.unsupported(n.c.node.op + " with activation '" + name + "'");
  }
  return success();
}

/// Checks the shapes that all three operators share.
static LogicalResult readSizes(Network &n) {
  NodeContext &c = n.c;
  StringRef direction = c.stringAttr("direction", "forward");
  if (direction != "forward" && direction != "reverse" &&
      direction != "bidirectional")
    return c.invalid("direction '" + direction + "'");
  if (c.hasAttr("clip"))
    return c.unsupported(c.node.op + " with clip");
  n.directions = direction == "bidirectional" ? 2 : 1;
  n.type = c.in(0).type;
  Shape x = c.in(0).shape, w = c.in(1).shape, r = c.in(2).shape;
  bool batchFirst = c.boolAttr("layout", false);
  if (x.size() != 3 || w.size() != 3 || r.size() != 3 || !isFloat(n.type))
    return c.invalid("inputs " + nameOf(n.type) + " " + toString(x) + ", " +
                     toString(w) + ", " + toString(r));
  n.steps = x[batchFirst ? 1 : 0];
  n.batch = x[batchFirst ? 0 : 1];
  n.size = r[2];
  if (int64_t size = c.intAttr("hidden_size", n.size); size != n.size)
    return c.invalid("hidden_size " + Twine(size) + " for weights " +
                     toString(r));
  int64_t width = n.gates * n.size;
  auto fits = [&](size_t i, Shape shape) {
    return !c.has(i) || (c.in(i).type == n.type && c.in(i).shape == shape);
  };
  Shape state{n.directions, n.batch, n.size};
  if (batchFirst)
    std::swap(state[0], state[1]);
  if (n.size < 1 || !fits(1, {n.directions, width, x[2]}) ||
      !fits(2, {n.directions, width, n.size}) ||
      !fits(3, {n.directions, 2 * width}) || !fits(5, state) ||
      (n.gates == 4 &&
       (!fits(6, state) || !fits(7, {n.directions, 3 * n.size}))) ||
      (c.has(4) && c.in(4).shape != Shape{n.batch}))
    return c.invalid("weights " + toString(w) + " and " + toString(r) +
                     ", or biases, lengths or states of other sizes, for " +
                     toString(x));
  if (n.steps * n.directions > kMostSteps)
    return c.unsupported(c.node.op + " of more than " + Twine(kMostSteps) +
                         " steps");
  if (c.has(4))
    n.lengths = c.emitter.cast(c.value(4), c.in(4).type, DType::I64);
  return success();
}

/// Part `d` of dimension 0, without it.
static Value partOf(Emitter &e, Value value, int64_t d) {
  Shape shape = e.shapeOf(value);
  return e.reshape(e.sliceDim(value, 0, d, 1),
                   ArrayRef<int64_t>(shape).drop_front());
}

static Direction readDirection(Network &n, int64_t d, bool mergesBiases) {
  NodeContext &c = n.c;
  Emitter &e = c.emitter;
  bool batchFirst = c.boolAttr("layout", false);
  int64_t width = n.gates * n.size;
  Direction result;
  result.reverse = d == 1 || c.stringAttr("direction", "forward") == "reverse";
  Value x = c.value(0);
  if (batchFirst)
    x = e.transpose(x, {1, 0, 2});
  result.inputs =
      e.contract(x, {0, 1, 2}, partOf(e, c.value(1), d), {3, 2}, {0, 1, 3});
  result.recurrence = partOf(e, c.value(2), d);
  auto addBias = [&](Value bias) {
    result.inputs = e.map(
        {result.inputs, bias}, e.shapeOf(result.inputs), n.element(),
        [](Scalar &s, ArrayRef<Value> in) { return s.add(in[0], in[1]); });
  };
  if (c.has(3)) {
    Value bias = partOf(e, c.value(3), d);
    addBias(e.sliceDim(bias, 0, 0, width));
    result.recurrenceBias = e.sliceDim(bias, 0, width, width);
    if (mergesBiases)
      addBias(result.recurrenceBias);
  }
  auto state = [&](size_t i) {
    if (!c.has(i))
      return e.filled({n.batch, n.size}, e.scalar(n.element(), 0.0));
    Value all = c.value(i);
    return partOf(e, batchFirst ? e.transpose(all, {1, 0, 2}) : all, d);
  };
  result.hidden = state(5);
  if (n.gates == 4)
    result.cell = state(6);
  if (n.gates == 4 && c.has(7))
    result.peepholes = partOf(e, c.value(7), d);
  return result;
}

/// `next` where step `t` is within the sequence, else `before`.
static Value within(const Network &n, int64_t t, Value next, Value before) {
  if (!n.lengths)
    return next;
  Value lengths = n.emitter().reshape(n.lengths, {n.batch, 1});
  return n.apply({next, before, lengths}, [&](Scalar &s, ArrayRef<Value> in) {
    Value at = s.constantInt(in[2].getType(), t);
    return s.select(s.compare(Compare::LT, at, in[2]), in[0], in[1]);
  });
}

using Step = llvm::function_ref<void(Direction &, Value inputs)>;

/// Runs all steps of all directions and sets the results.
static LogicalResult run(Network &n, ArrayRef<Function> defaults,
                         bool mergesBiases, Step step) {
  NodeContext &c = n.c;
  Emitter &e = c.emitter;
  SmallVector<Function> activations;
  if (failed(readActivations(n, defaults, activations)))
    return failure();
  bool batchFirst = c.boolAttr("layout", false);
  SmallVector<Value> outputs, hiddens, cells;
  Value zero = e.filled({n.batch, n.size}, e.scalar(n.element(), 0.0));
  for (int64_t d = 0; d < n.directions; ++d) {
    Direction direction = readDirection(n, d, mergesBiases);
    direction.activations.assign(activations.begin() + d * defaults.size(),
                                 activations.begin() +
                                     (d + 1) * defaults.size());
    SmallVector<Value> results(n.steps);
    for (int64_t i = 0; i < n.steps; ++i) {
      int64_t t = direction.reverse ? n.steps - 1 - i : i;
      Value hidden = direction.hidden, cell = direction.cell;
      step(direction, partOf(e, direction.inputs, t));
      Value output = within(n, t, direction.hidden, zero);
      direction.hidden = within(n, t, direction.hidden, hidden);
      if (cell)
        direction.cell = within(n, t, direction.cell, cell);
      results[t] = e.reshape(output, {1, 1, n.batch, n.size});
    }
    outputs.push_back(results.empty()
                          ? e.empty({0, 1, n.batch, n.size}, n.element())
                          : e.concat(results, 0));
    hiddens.push_back(e.reshape(direction.hidden, {1, n.batch, n.size}));
    if (direction.cell)
      cells.push_back(e.reshape(direction.cell, {1, n.batch, n.size}));
  }
  auto set = [&](size_t i, ArrayRef<Value> parts, int64_t dim,
                 ArrayRef<int64_t> batchFirstOrder) {
    if (!c.wants(i) || parts.empty())
      return;
    Value whole = e.concat(parts, dim);
    c.set(i, batchFirst ? e.transpose(whole, batchFirstOrder) : whole, n.type);
  };
  set(0, outputs, 1, {2, 0, 1, 3});
  set(1, hiddens, 0, {1, 0, 2});
  set(2, cells, 0, {1, 0, 2});
  return success();
}

static Value sum(const Network &n, Value a, Value b) {
  return n.c.emitter.map(
      {a, b}, n.c.emitter.shapeOf(a), n.element(),
      [](Scalar &s, ArrayRef<Value> in) { return s.add(in[0], in[1]); });
}

static LogicalResult rnn(NodeContext &c) {
  Network n(c, /*gates=*/1);
  if (failed(readSizes(n)))
    return failure();
  return run(n, {Function::Tanh}, /*mergesBiases=*/true,
             [&](Direction &d, Value inputs) {
               Value total = sum(n, inputs, n.times(d.hidden, d.recurrence));
               d.hidden = n.apply(total, [&](Scalar &s, ArrayRef<Value> in) {
                 return activate(s, d.activations[0], in[0]);
               });
             });
}

/// Gates: update z, reset r, hidden h.
static LogicalResult gru(NodeContext &c) {
  Network n(c, /*gates=*/3);
  if (failed(readSizes(n)))
    return failure();
  bool resetsAfter = c.boolAttr("linear_before_reset", false);
  Emitter &e = c.emitter;
  return run(n, {kSigmoid, Function::Tanh}, /*mergesBiases=*/!resetsAfter,
             [&](Direction &d, Value inputs) {
               auto rows = [&](Value value, int64_t from, int64_t count) {
                 return e.sliceDim(value, 0, from * n.size, count * n.size);
               };
               Value products =
                   n.times(d.hidden, resetsAfter ? d.recurrence
                                                 : rows(d.recurrence, 0, 2));
               if (resetsAfter && d.recurrenceBias)
                 products = sum(n, products, d.recurrenceBias);
               auto gate = [&](int64_t i) {
                 return n.apply({n.gate(inputs, i), n.gate(products, i)},
                                [&](Scalar &s, ArrayRef<Value> in) {
                                  return activate(s, d.activations[0],
                                                  s.add(in[0], in[1]));
                                });
               };
               Value update = gate(0), reset = gate(1), last;
               auto multiply = [](Scalar &s, ArrayRef<Value> in) {
                 return s.mul(in[0], in[1]);
               };
               if (resetsAfter)
                 last = n.apply({reset, n.gate(products, 2)}, multiply);
               else
                 last = n.times(n.apply({reset, d.hidden}, multiply),
                                rows(d.recurrence, 2, 1));
               d.hidden = n.apply(
                   {n.gate(inputs, 2), last, update, d.hidden},
                   [&](Scalar &s, ArrayRef<Value> in) {
                     Value fresh =
                         activate(s, d.activations[1], s.add(in[0], in[1]));
                     Value share = s.sub(s.constant(n.element(), 1), in[2]);
                     return s.add(s.mul(share, fresh), s.mul(in[2], in[3]));
                   });
             });
}

/// Gates: input i, output o, forget f, cell c.
static LogicalResult lstm(NodeContext &c) {
  Network n(c, /*gates=*/4);
  if (failed(readSizes(n)))
    return failure();
  if (c.boolAttr("input_forget", false))
    return c.unsupported("LSTM with input_forget");
  Emitter &e = c.emitter;
  return run(n, {kSigmoid, Function::Tanh, Function::Tanh},
             /*mergesBiases=*/true, [&](Direction &d, Value inputs) {
               Value total = sum(n, inputs, n.times(d.hidden, d.recurrence));
               // Peepholes: i, o, f.
               auto gate = [&](int64_t i, Value cell) {
                 SmallVector<Value> operands{n.gate(total, i)};
                 if (d.peepholes)
                   operands.append(
                       {e.sliceDim(d.peepholes, 0, i * n.size, n.size), cell});
                 return n.apply(operands, [&](Scalar &s, ArrayRef<Value> in) {
                   Value x = in[0];
                   if (in.size() > 1)
                     x = s.add(x, s.mul(in[1], in[2]));
                   return activate(s, d.activations[0], x);
                 });
               };
               Value input = gate(0, d.cell), forget = gate(2, d.cell);
               d.cell = n.apply(
                   {forget, d.cell, input, n.gate(total, 3)},
                   [&](Scalar &s, ArrayRef<Value> in) {
                     Value fresh = activate(s, d.activations[1], in[3]);
                     return s.add(s.mul(in[0], in[1]), s.mul(in[2], fresh));
                   });
               Value output = gate(1, d.cell);
               d.hidden = n.apply(
                   {output, d.cell}, [&](Scalar &s, ArrayRef<Value> in) {
                     return s.mul(in[0], activate(s, d.activations[2], in[1]));
                   });
             });
}

void mlir::dist::frontend::addRecurrentConverters(ConverterTable &table) {
  table.add("RNN", 3, rnn);
  table.add("GRU", 3, gru);
  table.add("LSTM", 3, lstm);
}
