//===- Movement.cpp - Data movement, now or at run time -------------------===//
//
// Reshapes, slices and the like of tensors that may be known: what is known
// and not too large is moved on the host, the rest becomes ops.
//
//===----------------------------------------------------------------------===//

#include "Converter.h"

using namespace mlir;
using namespace mlir::dist::frontend;

static Tensor makeTensor(const Emitter &emitter, DType type, Value value) {
  Tensor tensor;
  tensor.type = type;
  tensor.shape = emitter.shapeOf(value);
  tensor.value = value;
  return tensor;
}

static Tensor makeTensor(HostTensor known) {
  Tensor tensor;
  tensor.type = known.getType();
  tensor.shape = Shape(known.getShape());
  tensor.known = std::move(known);
  return tensor;
}

/// Whether a result of that shape is to be computed now.
static bool isNow(const Tensor &tensor, ArrayRef<int64_t> shape) {
  std::optional<int64_t> count = countElements(shape);
  return tensor.known && count && isSmall(tensor.type, *count);
}

Value NodeContext::valueOf(const Tensor &tensor) {
  return tensor.value ? tensor.value : emitter.constant(*tensor.known);
}

Tensor NodeContext::reshape(const Tensor &tensor, ArrayRef<int64_t> shape) {
  if (tensor.shape == Shape(shape))
    return tensor;
  if (tensor.known)
    return makeTensor(tensor.known->reshaped(shape));
  return makeTensor(emitter, tensor.type, emitter.reshape(tensor.value, shape));
}

Tensor NodeContext::transpose(const Tensor &tensor,
                              ArrayRef<int64_t> permutation) {
  if (isNow(tensor, tensor.shape))
    return makeTensor(tensor.known->transposed(permutation));
  return makeTensor(emitter, tensor.type,
                    emitter.transpose(valueOf(tensor), permutation));
}

Tensor NodeContext::slice(const Tensor &tensor, ArrayRef<int64_t> offsets,
                          ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) {
  if (isNow(tensor, sizes) && !hasOpen(offsets) && !hasOpen(strides)) {
    SmallVector<int64_t> steps = stridesOf(tensor.shape);
    int64_t offset = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      offset += offsets[i] * steps[i];
      steps[i] *= strides[i];
    }
    return makeTensor(tensor.known->strided(sizes, offset, steps));
  }
  return makeTensor(emitter, tensor.type,
                    emitter.slice(valueOf(tensor), offsets, sizes, strides));
}

Tensor NodeContext::concat(ArrayRef<Tensor> tensors, int64_t dim) {
  Shape shape = tensors.front().shape;
  shape[dim] = 0;
  bool known = true;
  for (const Tensor &tensor : tensors) {
    shape[dim] = sizes().add(shape[dim], tensor.shape[dim]);
    known &= tensor.known.has_value();
  }
  DType type = tensors.front().type;
  if (known && isNow(tensors.front(), shape)) {
    HostTensor result(type, shape);
    SmallVector<int64_t> steps = stridesOf(shape);
    int64_t at = 0;
    for (const Tensor &tensor : tensors) {
      result.setStrided(*tensor.known, at * steps[dim], steps);
      at += tensor.shape[dim];
    }
    return makeTensor(result);
  }
  SmallVector<Value> values;
  for (const Tensor &tensor : tensors)
    values.push_back(valueOf(tensor));
  return makeTensor(emitter, type, emitter.concat(values, dim));
}

Tensor NodeContext::broadcast(const Tensor &tensor, ArrayRef<int64_t> shape) {
  if (isNow(tensor, shape)) {
    SmallVector<int64_t> from = stridesOf(tensor.shape), steps(shape.size(), 0);
    size_t skip = shape.size() - from.size();
    for (size_t i = 0; i < from.size(); ++i)
      if (tensor.shape[i] != 1)
        steps[skip + i] = from[i];
    return makeTensor(tensor.known->strided(shape, 0, steps));
  }
  if (tensor.known && tensor.known->size() > 0 && tensor.known->isSplat())
    return makeTensor(emitter, tensor.type,
                      emitter.filled(shape, emitter.scalar(*tensor.known)));
  return makeTensor(emitter, tensor.type,
                    emitter.broadcast(valueOf(tensor), shape));
}

Tensor NodeContext::take(const Tensor &tensor, int64_t dim,
                         ArrayRef<int64_t> indices) {
  Shape shape = tensor.shape;
  shape[dim] = indices.size();
  if (isNow(tensor, shape)) {
    HostTensor result(tensor.type, shape);
    SmallVector<int64_t> from = stridesOf(tensor.shape), to = stridesOf(shape);
    Shape one = shape;
    one[dim] = 1;
    for (auto [i, index] : llvm::enumerate(indices))
      result.setStrided(tensor.known->strided(one, index * from[dim], from),
                        i * to[dim], to);
    return makeTensor(result);
  }
  return makeTensor(emitter, tensor.type,
                    emitter.take(valueOf(tensor), dim, indices));
}
