//===- TensorOps.cpp - Ops of the tensor dialect --------------------------===//

#include "dialects/dist/IR/Gradients.h"
#include "test/generator/Interpreter.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

static SmallVector<int64_t> getShape(Type type) {
  return SmallVector<int64_t>(cast<RankedTensorType>(type).getShape());
}

/// Calls visit(offset) for all elements of the range, row-major; false where it
/// leaves the tensor.
static bool forEachInRange(const Tensor &tensor, ArrayRef<int64_t> offsets,
                           ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
                           function_ref<void(int64_t)> visit) {
  if (llvm::is_contained(sizes, 0))
    return true;
  for (auto [offset, size, stride, extent] :
       llvm::zip_equal(offsets, sizes, strides, tensor.getShape())) {
    int64_t last = offset + (size - 1) * stride;
    if (size < 0 || std::min(offset, last) < 0 ||
        std::max(offset, last) >= extent)
      return false;
  }
  SmallVector<int64_t, 6> elementStrides = tensor.getStrides();
  SmallVector<int64_t> at(sizes.size(), 0);
  do {
    int64_t offset = 0;
    for (size_t dim = 0; dim < at.size(); ++dim)
      offset += (offsets[dim] + at[dim] * strides[dim]) * elementStrides[dim];
    visit(offset);
  } while (advance(at, sizes));
  return true;
}

static std::string describeRange(const Tensor &tensor,
                                 ArrayRef<int64_t> offsets,
                                 ArrayRef<int64_t> sizes,
                                 ArrayRef<int64_t> strides) {
  return "takes " + printIndex(sizes) + " elements from " +
         printIndex(offsets) + " in steps of " + printIndex(strides) +
         " of a tensor of shape " + printIndex(tensor.getShape());
}

LogicalResult Interpreter::runExtractSlice(tensor::ExtractSliceOp op) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  return onEach(op, [&](std::vector<PerDevice> &results) -> LogicalResult {
    const Tensor &source = get(op.getSource());
    auto offsets = getInts(op.getMixedOffsets());
    auto sizes = getInts(op.getMixedSizes());
    auto strides = getInts(op.getMixedStrides());
    SmallVector<int64_t> shape;
    for (auto [dim, size] : llvm::enumerate(sizes))
      if (!dropped[dim])
        shape.push_back(size);
    Tensor out(source.getElementType(), shape);
    Scalar *to = out.write();
    if (!forEachInRange(source, offsets, sizes, strides,
                        [&](int64_t offset) { *to++ = source.read()[offset]; }))
      return fail(op, describeRange(source, offsets, sizes, strides));
    results[0].push_back(std::move(out));
    return success();
  });
}

LogicalResult Interpreter::runInsertSlice(tensor::InsertSliceOp op) {
  return onEach(op, [&](std::vector<PerDevice> &results) -> LogicalResult {
    const Tensor &source = get(op.getSource());
    Tensor out = get(op.getDest());
    auto offsets = getInts(op.getMixedOffsets());
    auto sizes = getInts(op.getMixedSizes());
    auto strides = getInts(op.getMixedStrides());
    int64_t count = 1;
    for (int64_t size : sizes)
      count *= size;
    if (count != source.getNumElements())
      return fail(op, "inserts a tensor of shape " +
                          printIndex(source.getShape()) + " into a range of " +
                          printIndex(sizes));
    const Scalar *from = source.read();
    Scalar *to = out.write();
    if (!forEachInRange(out, offsets, sizes, strides,
                        [&](int64_t offset) { to[offset] = *from++; }))
      return fail(op, describeRange(out, offsets, sizes, strides));
    results[0].push_back(std::move(out));
    return success();
  });
}

/// expand_shape and collapse_shape.
LogicalResult Interpreter::runReshape(Operation *op) {
  return onEach(op, [&](std::vector<PerDevice> &results) -> LogicalResult {
    const Tensor &source = get(op->getOperand(0));
    SmallVector<int64_t> shape;
    if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
      shape = getInts(expand.getMixedOutputShape());
    } else {
      auto collapse = cast<tensor::CollapseShapeOp>(op);
      for (const ReassociationIndices &group :
           collapse.getReassociationIndices()) {
        shape.push_back(1);
        for (int64_t dim : group)
          shape.back() *= source.getShape()[dim];
      }
    }
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    if (count != source.getNumElements())
      return fail(op, "makes " + printIndex(shape) + " of " +
                          printIndex(source.getShape()));
    results[0].push_back(source.reshaped(shape));
    return success();
  });
}

LogicalResult Interpreter::runConcat(tensor::ConcatOp op) {
  int64_t axis = op.getDim();
  return onEach(op, [&](std::vector<PerDevice> &results) -> LogicalResult {
    SmallVector<int64_t> shape(get(op.getInputs()[0]).getShape());
    shape[axis] = 0;
    for (Value input : op.getInputs())
      shape[axis] += get(input).getShape()[axis];
    Tensor out(get(op.getInputs()[0]).getElementType(), shape);
    Scalar *to = out.write();
    SmallVector<int64_t> offsets(shape.size(), 0), ones(shape.size(), 1);
    for (Value input : op.getInputs()) {
      const Tensor &source = get(input);
      const Scalar *from = source.read();
      if (!forEachInRange(out, offsets, source.getShape(), ones,
                          [&](int64_t offset) { to[offset] = *from++; }))
        return fail(op, "joins shapes that do not go together");
      offsets[axis] += source.getShape()[axis];
    }
    results[0].push_back(std::move(out));
    return success();
  });
}

LogicalResult Interpreter::runPad(tensor::PadOp op) {
  const ScalarCode *code = getCode(op, op.getRegion().front());
  if (!code)
    return failure();
  return onEach(op, [&](std::vector<PerDevice> &results) -> LogicalResult {
    const Tensor &source = get(op.getSource());
    auto low = getInts(op.getMixedLowPad());
    auto high = getInts(op.getMixedHighPad());
    SmallVector<int64_t> shape(source.getShape());
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      shape[dim] += low[dim] + high[dim];
      if (shape[dim] < 0)
        return fail(op, "makes a dimension of size " + Twine(shape[dim]));
    }
    Tensor out(source.getElementType(), shape);
    Scalar *to = out.write();
    std::vector<Tensor> captured;
    std::vector<Scalar> registers = makeRegisters(*code, captured);
    std::string problem;
    ScalarContext context{{}, captured, &garbage, &problem};
    SmallVector<int64_t> at(shape.size(), 0);
    SmallVector<int64_t, 6> strides = source.getStrides();
    if (!llvm::is_contained(shape, 0))
      do {
        bool inside = true;
        int64_t offset = 0;
        for (size_t dim = 0; dim < at.size(); ++dim) {
          int64_t index = at[dim] - low[dim];
          inside &= index >= 0 && index < source.getShape()[dim];
          offset += index * strides[dim];
        }
        if (inside) {
          *to++ = source.read()[offset];
          continue;
        }
        for (size_t dim = 0; dim < at.size(); ++dim)
          registers[dim].i = at[dim];
        code->run(registers.data(), context);
        *to++ = registers[code->getYields()[0]];
      } while (advance(at, shape));
    if (!problem.empty())
      return fail(op, problem);
    results[0].push_back(std::move(out));
    return success();
  });
}

LogicalResult Interpreter::runGenerate(tensor::GenerateOp op) {
  const ScalarCode *code = getCode(op, op.getBody().front());
  if (!code)
    return failure();
  return onEach(op, [&](std::vector<PerDevice> &results) -> LogicalResult {
    SmallVector<int64_t> shape = getShape(op.getType());
    unsigned next = 0;
    for (int64_t &size : shape)
      if (ShapedType::isDynamic(size))
        size = getInt(op.getDynamicExtents()[next++]);
    Tensor out(op.getType().getElementType(), shape);
    Scalar *to = out.write();
    std::vector<Tensor> captured;
    std::vector<Scalar> registers = makeRegisters(*code, captured);
    std::string problem;
    ScalarContext context{{}, captured, &garbage, &problem};
    SmallVector<int64_t> at(shape.size(), 0);
    if (!llvm::is_contained(shape, 0))
      do {
        for (size_t dim = 0; dim < at.size(); ++dim)
          registers[dim].i = at[dim];
        code->run(registers.data(), context);
        *to++ = registers[code->getYields()[0]];
      } while (advance(at, shape));
    if (!problem.empty())
      return fail(op, problem);
    results[0].push_back(std::move(out));
    return success();
  });
}

/// Calls visit(row of indices, range in the tensor) for every tuple of a gather
/// or scatter; false where a tuple lies outside.
static bool forEachTuple(const Tensor &tensor, const Tensor &indices,
                         ArrayRef<int64_t> dims, std::string &problem,
                         function_ref<void(ArrayRef<int64_t>)> visit) {
  int64_t width = indices.getShape().back();
  int64_t count = width ? indices.getNumElements() / width : 0;
  SmallVector<int64_t> offsets(tensor.getRank(), 0);
  for (int64_t tuple = 0; tuple < count; ++tuple) {
    for (auto [position, dim] : llvm::enumerate(dims)) {
      int64_t index = indices.read()[tuple * width + position].i;
      if (index < 0 || index >= tensor.getShape()[dim]) {
        problem = "looks up " + std::to_string(index) + " on dimension " +
                  std::to_string(dim) + " of a tensor of shape " +
                  printIndex(tensor.getShape());
        return false;
      }
      offsets[dim] = index;
    }
    visit(offsets);
  }
  return true;
}

LogicalResult Interpreter::runGather(tensor::GatherOp op) {
  return onEach(op, [&](std::vector<PerDevice> &results) -> LogicalResult {
    const Tensor &source = get(op.getSource()), &indices = get(op.getIndices());
    SmallVector<int64_t> sizes(source.getShape()), ones(source.getRank(), 1);
    for (int64_t dim : op.getGatherDims())
      sizes[dim] = 1;
    SmallVector<int64_t> shape(indices.getShape().drop_back());
    bool keepsDims = op.getResultType().getRank() ==
                     static_cast<int64_t>(shape.size()) + source.getRank();
    for (auto [dim, size] : llvm::enumerate(sizes))
      if (keepsDims ||
          !llvm::is_contained(op.getGatherDims(), static_cast<int64_t>(dim)))
        shape.push_back(size);
    Tensor out(source.getElementType(), shape);
    Scalar *to = out.write();
    std::string problem;
    if (!forEachTuple(source, indices, op.getGatherDims(), problem,
                      [&](ArrayRef<int64_t> offsets) {
                        forEachInRange(source, offsets, sizes, ones,
                                       [&](int64_t offset) {
                                         *to++ = source.read()[offset];
                                       });
                      }))
      return fail(op, problem);
    results[0].push_back(std::move(out));
    return success();
  });
}

LogicalResult Interpreter::runScatter(tensor::ScatterOp op) {
  return onEach(op, [&](std::vector<PerDevice> &results) -> LogicalResult {
    const Tensor &source = get(op.getSource()), &indices = get(op.getIndices());
    Tensor out = get(op.getDest());
    SmallVector<int64_t> sizes(out.getShape()), ones(out.getRank(), 1);
    for (int64_t dim : op.getScatterDims())
      sizes[dim] = 1;
    const Scalar *from = source.read();
    Scalar *to = out.write();
    std::vector<bool> isWritten(out.getNumElements(), false);
    bool isUnique = true;
    std::string problem;
    if (!forEachTuple(out, indices, op.getScatterDims(), problem,
                      [&](ArrayRef<int64_t> offsets) {
                        forEachInRange(out, offsets, sizes, ones,
                                       [&](int64_t offset) {
                                         isUnique &= !isWritten[offset];
                                         isWritten[offset] = true;
                                         to[offset] = *from++;
                                       });
                      }))
      return fail(op, problem);
    if (!isUnique)
      return fail(op, "writes an element twice");
    results[0].push_back(std::move(out));
    return success();
  });
}

LogicalResult Interpreter::runTensorOp(Operation *op, bool &isKnown) {
  isKnown = true;
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return runExtractSlice(slice);
  if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
    return runInsertSlice(slice);
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return runReshape(op);
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return runConcat(concat);
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return runPad(pad);
  if (auto generate = dyn_cast<tensor::GenerateOp>(op))
    return runGenerate(generate);
  if (auto gather = dyn_cast<tensor::GatherOp>(op))
    return runGather(gather);
  if (auto scatter = dyn_cast<tensor::ScatterOp>(op))
    return runScatter(scatter);

  if (auto scatter = dyn_cast<ScatterAddOp>(op))
    return onEach(op, [&](std::vector<PerDevice> &results) -> LogicalResult {
      const Tensor &source = get(scatter.getSource());
      const Tensor &indices = get(scatter.getIndices());
      Tensor out = get(scatter.getDest());
      Type type = out.getElementType();
      SmallVector<int64_t> sizes(out.getShape()), ones(out.getRank(), 1);
      for (int64_t dim : scatter.getDims())
        sizes[dim] = 1;
      const Scalar *from = source.read();
      Scalar *to = out.write();
      std::string problem;
      if (!forEachTuple(
              out, indices, scatter.getDims(), problem,
              [&](ArrayRef<int64_t> offsets) {
                forEachInRange(out, offsets, sizes, ones, [&](int64_t offset) {
                  Scalar added = *from++;
                  if (isa<FloatType>(type))
                    to[offset].f = roundTo(type, to[offset].f + added.f);
                  else
                    to[offset].i = wrapTo(type.getIntOrFloatBitWidth(),
                                          to[offset].i + added.i);
                });
              }))
        return fail(op, problem);
      results[0].push_back(std::move(out));
      return success();
    });

  if (auto empty = dyn_cast<tensor::EmptyOp>(op))
    return onEach(op, [&](std::vector<PerDevice> &results) {
      results[0].push_back(Tensor::garbage(empty.getType().getElementType(),
                                           getInts(empty.getMixedSizes()),
                                           garbage));
      return success();
    });
  if (auto splat = dyn_cast<tensor::SplatOp>(op))
    return onEach(op, [&](std::vector<PerDevice> &results) {
      SmallVector<int64_t> shape = getShape(splat.getType());
      unsigned next = 0;
      for (int64_t &size : shape)
        if (ShapedType::isDynamic(size))
          size = getInt(splat.getDynamicSizes()[next++]);
      Tensor out(splat.getType().getElementType(), shape);
      std::fill_n(out.write(), out.getNumElements(),
                  get(splat.getInput()).read()[0]);
      results[0].push_back(std::move(out));
      return success();
    });
  if (auto list = dyn_cast<tensor::FromElementsOp>(op))
    return onEach(op, [&](std::vector<PerDevice> &results) {
      Tensor out(list.getType().getElementType(), getShape(list.getType()));
      Scalar *to = out.write();
      for (Value element : list.getElements())
        *to++ = get(element).read()[0];
      results[0].push_back(std::move(out));
      return success();
    });
  if (isa<tensor::CastOp>(op))
    return onEach(op, [&](std::vector<PerDevice> &results) {
      results[0].push_back(get(op->getOperand(0)));
      return success();
    });
  if (auto dim = dyn_cast<tensor::DimOp>(op))
    return onEach(op, [&](std::vector<PerDevice> &results) -> LogicalResult {
      const Tensor &source = get(dim.getSource());
      int64_t index = getInt(dim.getIndex());
      if (index < 0 || index >= source.getRank())
        return fail(op, "asks for dimension " + Twine(index));
      results[0].push_back(indexTensor(source.getShape()[index]));
      return success();
    });
  if (isa<tensor::ExtractOp, tensor::InsertOp>(op))
    return onEach(op, [&](std::vector<PerDevice> &results) -> LogicalResult {
      auto insert = dyn_cast<tensor::InsertOp>(op);
      Tensor tensor = get(insert ? insert.getDest()
                                 : cast<tensor::ExtractOp>(op).getTensor());
      ValueRange indices = insert ? insert.getIndices()
                                  : cast<tensor::ExtractOp>(op).getIndices();
      int64_t offset = 0;
      for (auto [index, stride, size] :
           llvm::zip_equal(indices, tensor.getStrides(), tensor.getShape())) {
        int64_t at = getInt(index);
        if (at < 0 || at >= size)
          return fail(op, "is at " + Twine(at) + " of a tensor of shape " +
                              printIndex(tensor.getShape()));
        offset += at * stride;
      }
      if (insert) {
        tensor.write()[offset] = get(insert.getScalar()).read()[0];
        results[0].push_back(std::move(tensor));
      } else {
        results[0].push_back(
            Tensor::scalar(tensor.getElementType(), tensor.read()[offset]));
      }
      return success();
    });
  isKnown = false;
  return success();
}
