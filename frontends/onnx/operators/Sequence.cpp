//===- Sequence.cpp - Converters of sequences of tensors ------------------===//
//
// Sequences exist while importing only: every operator on them picks or joins
// tensors that are known by number.
//
//===----------------------------------------------------------------------===//

#include "Converter.h"

using namespace mlir;
using namespace mlir::dist::frontend;

static Tensor makeSequence(std::vector<Tensor> elements) {
  Tensor sequence;
  sequence.isSequence = true;
  sequence.elements = std::move(elements);
  return sequence;
}

static LogicalResult checkSequence(NodeContext &c, size_t i) {
  if (c.in(i).isSequence)
    return success();
  return c.invalid("input " + Twine(i) + " is no sequence");
}

static LogicalResult splitToSequence(NodeContext &c) {
  const Tensor &data = c.in(0);
  FailureOr<int64_t> axis = c.axis(c.intAttr("axis", 0), data.rank());
  if (data.isSequence || failed(axis))
    return c.invalid("input 0 is a sequence, or axis out of range");
  // With lengths, all is kept whatever the file says.
  bool keep = c.boolAttr("keepdims", true) || c.has(1);
  int64_t dim = data.shape[*axis];
  SmallVector<int64_t> lengths;
  if (c.has(1)) {
    std::optional<SmallVector<int64_t>> given = c.ints(1);
    if (!given)
      return c.unsupported("SplitToSequence with lengths computed at run time");
    if (c.in(1).rank() == 0) {
      if (given->front() <= 0)
        return c.invalid("parts of " + Twine(given->front()));
      for (int64_t at = 0; at < dim; at += given->front())
        lengths.push_back(std::min(given->front(), dim - at));
    } else {
      lengths = *given;
    }
  } else {
    if (dim > 65536)
      return c.unsupported("a sequence of " + Twine(dim) + " tensors");
    lengths.assign(dim, 1);
  }
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (int64_t length : lengths) {
    if (length < 0 || length > dim - at)
      return c.invalid("a dimension of " + Twine(dim) + " split into " +
                       toString(lengths));
    Shape sizes = data.shape;
    SmallVector<int64_t> offsets(sizes.size(), 0), strides(sizes.size(), 1);
    sizes[*axis] = length;
    offsets[*axis] = at;
    at += length;
    Tensor part = c.slice(data, offsets, sizes, strides);
    if (!keep) {
      sizes.erase(sizes.begin() + *axis);
      part = c.reshape(part, sizes);
    }
    parts.push_back(part);
  }
  if (at != dim)
    return c.invalid("a dimension of " + Twine(dim) + " split into " +
                     toString(lengths));
  c.set(0, makeSequence(std::move(parts)));
  return success();
}

static LogicalResult sequenceConstruct(NodeContext &c) {
  std::vector<Tensor> elements;
  for (size_t i = 0; i < c.numInputs(); ++i) {
    if (!c.has(i) || c.in(i).isSequence)
      return c.invalid("input " + Twine(i) + " is missing or a sequence");
    elements.push_back(c.in(i));
  }
  c.set(0, makeSequence(std::move(elements)));
  return success();
}

static LogicalResult sequenceEmpty(NodeContext &c) {
  c.set(0, makeSequence({}));
  return success();
}

/// A known position; `size` itself is allowed for insertions.
static FailureOr<int64_t> position(NodeContext &c, size_t i, int64_t size,
                                   int64_t limit) {
  if (!c.number(i)) {
    (void)c.unsupported("a position in a sequence computed at run time");
    return failure();
  }
  double at = *c.number(i);
  if (!(at >= -size && at < limit)) {
    (void)c.invalid("position " + std::to_string(at) + " of " + Twine(size));
    return failure();
  }
  return static_cast<int64_t>(at) + (at < 0 ? size : 0);
}

static LogicalResult sequenceAt(NodeContext &c) {
  if (failed(checkSequence(c, 0)))
    return failure();
  int64_t size = c.in(0).elements.size();
  FailureOr<int64_t> at = position(c, 1, size, size);
  if (failed(at))
    return failure();
  c.set(0, c.in(0).elements[*at]);
  return success();
}

static LogicalResult sequenceInsert(NodeContext &c) {
  if (failed(checkSequence(c, 0)) || c.in(1).isSequence)
    return c.invalid("a sequence and a tensor are needed");
  std::vector<Tensor> elements = c.in(0).elements;
  int64_t size = elements.size(), at = size;
  if (c.has(2)) {
    FailureOr<int64_t> given = position(c, 2, size, size + 1);
    if (failed(given))
      return failure();
    at = *given;
  }
  elements.insert(elements.begin() + at, c.in(1));
  c.set(0, makeSequence(std::move(elements)));
  return success();
}

static LogicalResult sequenceLength(NodeContext &c) {
  if (failed(checkSequence(c, 0)))
    return failure();
  HostTensor count(DType::I64, {});
  count.setInt(0, c.in(0).elements.size());
  c.set(0, count);
  return success();
}

static LogicalResult concatFromSequence(NodeContext &c) {
  if (failed(checkSequence(c, 0)))
    return failure();
  std::vector<Tensor> elements = c.in(0).elements;
  bool adds = c.boolAttr("new_axis", false);
  if (elements.empty())
    return c.invalid("an empty sequence");
  FailureOr<int64_t> axis =
      c.axis(c.intAttr("axis", 0), elements.front().rank() + adds);
  if (failed(axis))
    return failure();
  Shape total = elements.front().shape;
  if (adds)
    total.insert(total.begin() + *axis, 1);
  total[*axis] = 0;
  for (Tensor &element : elements) {
    if (adds) {
      Shape shape = element.shape;
      if (static_cast<int64_t>(shape.size()) < *axis)
        return c.invalid("tensors of different ranks");
      shape.insert(shape.begin() + *axis, 1);
      element = c.reshape(element, shape);
    }
    Shape first = elements.front().shape, next = element.shape;
    bool fits =
        element.type == elements.front().type && next.size() == first.size();
    if (fits) {
      total[*axis] += next[*axis];
      first[*axis] = next[*axis] = 0;
      fits = first == next && countElements(total);
    }
    if (!fits)
      return c.invalid("tensors of shapes " + toString(elements.front().shape) +
                       " and " + toString(element.shape));
  }
  c.set(0, c.concat(elements, *axis));
  return success();
}

void mlir::dist::frontend::addSequenceConverters(ConverterTable &table) {
  table.add("SplitToSequence", 1, splitToSequence);
  table.add("SequenceConstruct", 1, sequenceConstruct);
  table.add("SequenceEmpty", 0, sequenceEmpty);
  table.add("SequenceAt", 2, sequenceAt, /*takesSequences=*/true);
  table.add("SequenceInsert", 2, sequenceInsert, /*takesSequences=*/true);
  table.add("SequenceLength", 1, sequenceLength, /*takesSequences=*/true);
  table.add("ConcatFromSequence", 1, concatFromSequence,
            /*takesSequences=*/true);
}
