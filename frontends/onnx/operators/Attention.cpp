//===- Attention.cpp - Attention and rotary embeddings (opset 23) ---------===//
//
// Scaled dot product attention is written out as two contractions and a
// softmax.
//
//===----------------------------------------------------------------------===//

#include "Converter.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::dist::frontend;

namespace {
/// Sizes, in the operator's own words.
struct AttentionSizes {
  int64_t batch, queryHeads, keyHeads, queryLength, keyLength, keySize,
      valueSize;
};
} // namespace

/// [b, s, h * d] as [b, h, s, d]; 4-d tensors as they are.
static FailureOr<Value> splitHeads(NodeContext &c, size_t i, int64_t heads) {
  Shape shape = c.in(i).shape;
  if (shape.size() == 4)
    return c.value(i);
  if (shape.size() == 3 && isOpen(shape[2])) {
    (void)c.open(c.node.op + " of open features", shape[2]);
    return failure();
  }
  if (shape.size() != 3 || heads <= 0 || shape[2] % heads != 0) {
    (void)c.invalid("input " + Twine(i) + " of shape " + toString(shape) +
                    " for " + Twine(heads) + " heads");
    return failure();
  }
  Value apart = c.emitter.reshape(
      c.value(i), {shape[0], shape[1], heads, shape[2] / heads});
  return c.emitter.transpose(apart, {0, 2, 1, 3});
}

/// A row of the softmax that may look at nothing is zero, as in PyTorch's
/// scaled_dot_product_attention.
static Value safeSoftmax(Emitter &e, Value scores) {
  Shape shape = e.shapeOf(scores);
  int64_t axis = shape.size() - 1;
  Type element = cast<RankedTensorType>(scores.getType()).getElementType();
  Value largest = e.reduce(Reduction::Max, scores, axis, /*keep=*/true);
  Value powers = e.map(
      {scores, largest}, shape, element, [&](Scalar &s, ArrayRef<Value> in) {
        Value lowest = s.constant(element, -INFINITY);
        Value none = s.compare(Compare::EQ, in[1], lowest);
        Value base = s.select(none, s.constant(element, 0), in[1]);
        return s.apply(Function::Exp, s.sub(in[0], base));
      });
  Value sum = e.reduce(Reduction::Sum, powers, axis, /*keep=*/true);
  return e.map({powers, sum}, shape, element,
               [&](Scalar &s, ArrayRef<Value> in) {
                 Value zero = s.constant(element, 0);
                 Value none = s.compare(Compare::EQ, in[1], zero);
                 return s.select(none, zero, s.div(in[0], in[1]));
               });
}

/// Checks the mask and extends it if it is shorter than the keys: missing
/// elements are masked.
static FailureOr<Value> readMask(NodeContext &c, const AttentionSizes &sizes) {
  Shape scores{sizes.batch, sizes.queryHeads, sizes.queryLength,
               sizes.keyLength};
  const Tensor &mask = c.in(3);
  Shape shape = mask.shape;
  if (mask.type != DType::Bool && mask.type != c.in(0).type) {
    (void)c.invalid("a mask of type " + nameOf(mask.type));
    return failure();
  }
  int64_t missing =
      shape.empty() ? 0 : c.sizes().sub(sizes.keyLength, shape.back());
  if (isOpen(missing) && !c.sizes().isAtLeast(missing, 0)) {
    (void)c.disagree("are no scores and their mask", scores, shape);
    return failure();
  }
  if (!shape.empty() && (isOpen(missing) || missing > 0))
    shape.back() = sizes.keyLength;
  if (broadcastShapes(scores, shape) != scores &&
      (hasOpen(scores) || hasOpen(shape))) {
    (void)c.disagree("are no scores and their mask", scores, shape);
    return failure();
  }
  if (broadcastShapes(scores, shape) != scores) {
    (void)c.invalid("a mask of shape " + toString(mask.shape) +
                    " for scores of shape " + toString(scores));
    return failure();
  }
  if (!isOpen(missing) && missing <= 0)
    return c.value(3);
  Emitter &e = c.emitter;
  Type element = e.typeOf(mask.type);
  SmallVector<int64_t> low(shape.size(), 0), high(shape.size(), 0);
  high.back() = missing;
  return e.pad(c.value(3), low, high,
               e.scalar(element, mask.type == DType::Bool ? 0.0 : -INFINITY));
}

/// [..., heads, queries, keys] with the heads by the keys' that they share, if
/// scores have these apart.
static Value splitMask(Emitter &e, Value mask, const AttentionSizes &sizes) {
  Shape shape = e.shapeOf(mask);
  size_t rank = shape.size();
  if (sizes.queryHeads == sizes.keyHeads || rank < 3)
    return mask;
  bool isShared = shape[rank - 3] == 1;
  shape[rank - 3] = isShared ? 1 : sizes.keyHeads;
  shape.insert(shape.end() - 2,
               isShared ? 1 : sizes.queryHeads / sizes.keyHeads);
  return e.reshape(mask, shape);
}

/// Scores with what the mask and the order of the sequence forbid at -inf.
static FailureOr<Value> applyMasks(NodeContext &c, Value scores, DType inner,
                                   const AttentionSizes &sizes) {
  Emitter &e = c.emitter;
  Shape shape = e.shapeOf(scores);
  Type wide = e.typeOf(inner);
  if (c.has(3)) {
    FailureOr<Value> mask = readMask(c, sizes);
    if (failed(mask))
      return failure();
    DType maskType = c.in(3).type;
    scores =
        e.map({scores, splitMask(e, *mask, sizes)}, shape, wide,
              [&](Scalar &s, ArrayRef<Value> in) {
                if (maskType == DType::Bool)
                  return s.select(in[1], in[0], s.constant(wide, -INFINITY));
                return s.add(in[0], s.cast(in[1], maskType, inner));
              });
  }
  if (!c.boolAttr("is_causal", false))
    return scores;
  // The first query comes after the keys of earlier calls.
  int64_t past = c.has(4) ? c.in(4).shape[2] : 0;
  return e.mapPositions(
      scores, shape, wide, [&](LoopScalar &s, ArrayRef<Value> in) {
        Value row = s.positionInt(shape.size() - 2);
        if (past != 0)
          row = s.add(row, e.numberOf(s, row.getType(), past));
        Value column = s.positionInt(shape.size() - 1);
        return s.select(s.compare(Compare::LE, column, row), in[0],
                        s.constant(wide, -INFINITY));
      });
}

static LogicalResult attention(NodeContext &c) {
  DType type = c.in(0).type;
  bool flat = c.in(0).rank() == 3;
  for (size_t i : {1, 2})
    if (c.in(i).type != type || c.in(i).rank() != c.in(0).rank())
      return c.invalid("queries, keys and values of different types or ranks");
  FailureOr<Value> query = splitHeads(c, 0, c.intAttr("q_num_heads", 0));
  FailureOr<Value> key = splitHeads(c, 1, c.intAttr("kv_num_heads", 0));
  FailureOr<Value> value = splitHeads(c, 2, c.intAttr("kv_num_heads", 0));
  if (failed(query) || failed(key) || failed(value))
    return failure();
  Emitter &e = c.emitter;

  // Keys and values of earlier calls come before.
  for (auto [i, now] : {std::pair<size_t, Value *>(4, &*key), {5, &*value}}) {
    if (!c.has(i))
      continue;
    Shape past = c.in(i).shape, current = e.shapeOf(*now);
    bool fits = past.size() == 4 && current.size() == 4 && c.in(i).type == type;
    if (fits) {
      past[2] = current[2] = 0;
      fits = past == current;
    }
    if (!fits && (hasOpen(past) || hasOpen(current)))
      return c.disagree("do not continue each other", past, current);
    if (!fits)
      return c.invalid("input " + Twine(i) + " of shape " +
                       toString(c.in(i).shape) + " before " +
                       toString(e.shapeOf(*now)));
    *now = e.concat({c.value(i), *now}, 2);
  }
  if (c.has(6))
    return c.unsupported("Attention with nonpad_kv_seqlen");
  Shape q = e.shapeOf(*query), k = e.shapeOf(*key), v = e.shapeOf(*value);
  for (int64_t size : {q[1], q[3], k[1], v[3]})
    if (isOpen(size))
      return c.open("Attention of open heads or features", size);
  if ((hasOpen(q) || hasOpen(k) || hasOpen(v)) &&
      (q[0] != k[0] || q[0] != v[0] || k[2] != v[2]))
    return c.disagree("are no queries and keys", q, k);
  if (q.size() != 4 || q[0] != k[0] || q[0] != v[0] || k[1] != v[1] ||
      k[1] == 0 || q[1] % k[1] != 0 || q[3] != k[3] || k[2] != v[2] ||
      q[3] == 0)
    return c.invalid("queries " + toString(q) + ", keys " + toString(k) +
                     ", values " + toString(v));
  AttentionSizes sizes{q[0], q[1], k[1], q[2], k[2], q[3], v[3]};
  c.set(1, *key, type);
  c.set(2, *value, type);

  double softcap = c.floatAttr("softcap", 0);
  double scale = c.floatAttr("scale", 0);
  if (scale == 0)
    scale = 1 / std::sqrt(double(sizes.keySize));
  int64_t mode = c.intAttr("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3)
    return c.invalid("qk_matmul_output_mode " + Twine(mode));

  Type element = e.typeOf(type);
  DType inner = sizeOf(type) == 2 ? DType::F32 : type;
  // No definition says which is asked for where none is: at least f32.
  DType precision = static_cast<DType>(
      c.intAttr("softmax_precision", static_cast<int64_t>(inner)));
  if (precision != inner)
    return c.unsupported("Attention of " + nameOf(type) +
                         " with softmax_precision " + nameOf(precision));
  Type wide = e.typeOf(inner);
  Value scaled = e.map(*query, q, element, [&](Scalar &s, ArrayRef<Value> in) {
    return s.mul(in[0], s.constant(element, scale));
  });
  // Labels: batch 0, key head 1, query head of it 2, query 3, key 4, feature 5.
  int64_t group = sizes.queryHeads / sizes.keyHeads;
  SmallVector<int64_t> queryLabels{0, 1, 3, 5}, scoreLabels{0, 1, 3, 4},
      resultLabels{0, 1, 3, 5};
  if (group > 1) {
    scaled = e.reshape(scaled, {sizes.batch, sizes.keyHeads, group,
                                sizes.queryLength, sizes.keySize});
    for (auto *labels : {&queryLabels, &scoreLabels, &resultLabels})
      labels->insert(labels->begin() + 2, 2);
  }
  // Heads stay apart by the keys' that they share.
  Value scores =
      e.cast(e.contract(scaled, queryLabels, *key, {0, 1, 4, 5}, scoreLabels),
             type, inner);
  Shape scoreShape = e.shapeOf(scores);
  // What result 3 shows: 0 the product, 1 after the cap, 2 after the masks, 3
  // after the softmax.
  auto show = [&](int64_t step, Value value, DType from) {
    if (mode == step && c.wants(3))
      c.set(3,
            e.reshape(e.cast(value, from, type),
                      {sizes.batch, sizes.queryHeads, sizes.queryLength,
                       sizes.keyLength}),
            type);
  };
  show(0, scores, inner);
  if (softcap != 0)
    scores =
        e.map(scores, scoreShape, wide, [&](Scalar &s, ArrayRef<Value> in) {
          Value cap = s.constant(wide, softcap);
          return s.mul(s.apply(Function::Tanh, s.div(in[0], cap)), cap);
        });
  show(1, scores, inner);
  FailureOr<Value> masked = applyMasks(c, scores, inner, sizes);
  if (failed(masked))
    return failure();
  show(2, *masked, inner);
  Value weights = e.cast(safeSoftmax(e, *masked), inner, type);
  show(3, weights, type);
  Value result =
      e.contract(weights, scoreLabels, *value, {0, 1, 4, 5}, resultLabels);
  result = e.reshape(result, {sizes.batch, sizes.queryHeads, sizes.queryLength,
                              sizes.valueSize});
  if (flat)
    result = e.reshape(
        e.transpose(result, {0, 2, 1, 3}),
        {sizes.batch, sizes.queryLength, sizes.queryHeads * sizes.valueSize});
  c.set(0, result, type);
  return success();
}

/// Rotates pairs of features by angles that depend on the position (Su et al.,
/// RoFormer, 2021): halves of a head, or neighbours if interleaved.
static LogicalResult rotaryEmbedding(NodeContext &c) {
  const Tensor &input = c.in(0);
  DType type = input.type;
  bool flat = input.rank() == 3, interleaved = c.boolAttr("interleaved", false);
  FailureOr<Value> heads = splitHeads(c, 0, c.intAttr("num_heads", 0));
  if (failed(heads))
    return failure();
  Emitter &e = c.emitter;
  Shape shape = e.shapeOf(*heads); // [batch, heads, sequence, features]
  if (isOpen(shape[3]))
    return c.open("RotaryEmbedding of open features", shape[3]);
  int64_t size = shape[3], rotated = c.intAttr("rotary_embedding_dim", 0);
  if (rotated == 0)
    rotated = size;
  if (!isFloat(type) || rotated % 2 != 0 || rotated < 0 || rotated > size)
    return c.invalid("rotary_embedding_dim " + Twine(rotated) + " of " +
                     nameOf(type) + " " + toString(shape));
  int64_t half = rotated / 2;
  // The angles' cosines and sines as [batch, 1, sequence, half].
  Value angles[2];
  for (size_t i : {1, 2}) {
    const Tensor &cache = c.in(i);
    Value value = c.value(i);
    if (!cache.shape.empty() && isOpen(cache.shape.back()))
      return c.open("RotaryEmbedding of angles of open features",
                    cache.shape.back());
    bool fits = cache.type == type && !cache.shape.empty() &&
                cache.shape.back() == half;
    if (c.has(3)) {
      const Tensor &where = c.in(3);
      fits &= cache.rank() == 2 && where.shape == Shape{shape[0], shape[2]} &&
              (where.type == DType::I64 || where.type == DType::I32);
      if (fits)
        value = e.gather(value,
                         e.reshape(e.toIndices(c.value(3), cache.shape[0]),
                                   {shape[0], shape[2], 1}),
                         0);
    } else {
      fits &= cache.shape == Shape{shape[0], shape[2], half};
    }
    if (!fits && (hasOpen(cache.shape) || hasOpen(shape)))
      return c.disagree("are no angles and what they are of", cache.shape,
                        shape);
    if (!fits)
      return c.invalid("input " + Twine(i) + ", " + nameOf(cache.type) + " " +
                       toString(cache.shape) + ", for " + toString(shape));
    angles[i - 1] = e.reshape(value, {shape[0], 1, shape[2], half});
  }
  auto part = [&](int64_t from, int64_t count, int64_t step) {
    return e.sliceDim(*heads, 3, from, count, step);
  };
  Value first = part(0, half, interleaved ? 2 : 1);
  Value second = part(interleaved ? 1 : half, half, interleaved ? 2 : 1);
  Shape halfShape = e.shapeOf(first);
  auto combine = [&](Value a, Value b, bool minus) {
    return e.map({a, angles[0], b, angles[1]}, halfShape, e.typeOf(type),
                 [&](Scalar &s, ArrayRef<Value> in) {
                   Value x = s.mul(in[0], in[1]), y = s.mul(in[2], in[3]);
                   return minus ? s.sub(x, y) : s.add(x, y);
                 });
  };
  SmallVector<Value> parts{combine(first, second, true),
                           combine(second, first, false)};
  Value result;
  if (interleaved) {
    Shape apart = halfShape, pairs = halfShape;
    apart.push_back(1);
    pairs[3] = rotated;
    for (Value &value : parts)
      value = e.reshape(value, apart);
    result = e.reshape(e.concat(parts, 4), pairs);
  } else {
    result = e.concat(parts, 3);
  }
  if (rotated < size)
    result = e.concat({result, part(rotated, size - rotated, 1)}, 3);
  if (flat)
    result = e.reshape(e.transpose(result, {0, 2, 1, 3}), input.shape);
  c.set(0, result, type);
  return success();
}

void mlir::dist::frontend::addAttentionConverters(ConverterTable &table) {
  table.add("RotaryEmbedding", 3, rotaryEmbedding);
  table.add("Attention", 3, attention);
  table.takeOpenSizes({"RotaryEmbedding", "Attention"});
}
