//===- Progressions.cpp - Indices that follow each other ------------------===//

#include "Progressions.h"

#include "frontends/bounds/Bounds.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::dist::frontend;

std::optional<int64_t> mlir::dist::frontend::toPosition(int64_t index,
                                                        int64_t size) {
  if (index < -size || index >= size)
    return std::nullopt;
  return index < 0 ? index + size : index;
}

std::optional<int64_t> Progression::findDim() const {
  int64_t found = -1;
  for (auto [dim, step] : llvm::enumerate(steps)) {
    if (step < 0 || (step > 0 && found >= 0))
      return std::nullopt;
    if (step > 0)
      found = dim;
  }
  return found;
}

std::optional<Progression> mlir::dist::frontend::readProgression(
    ArrayRef<int64_t> shape, int64_t component, int64_t size,
    llvm::function_ref<int64_t(int64_t)> getElement) {
  int64_t components = component < 0 ? 1 : shape.back();
  ArrayRef<int64_t> leading = shape.drop_back(component < 0 ? 0 : 1);
  int64_t count = countElements(leading).value_or(0), rank = leading.size();
  if (count == 0 || count > kMostIndices / components)
    return std::nullopt;
  auto read = [&](int64_t i) {
    return toPosition(
        getElement(i * components + std::max<int64_t>(component, 0)), size);
  };
  std::optional<int64_t> next = read(0);
  if (!next)
    return std::nullopt;
  Progression found{*next, {}};
  for (auto [length, stride] : llvm::zip_equal(leading, stridesOf(leading))) {
    std::optional<int64_t> second = length == 1 ? next : read(stride);
    if (!second)
      return std::nullopt;
    found.steps.push_back(*second - *next);
  }
  SmallVector<int64_t> index(rank, 0);
  for (int64_t i = 0; i < count; ++i) {
    if (read(i) != next)
      return std::nullopt;
    for (int64_t dim = rank - 1; dim >= 0; --dim) {
      *next += found.steps[dim];
      if (++index[dim] < leading[dim])
        break;
      *next -= found.steps[dim] * leading[dim];
      index[dim] = 0;
    }
  }
  if (component >= 0)
    found.steps.push_back(0);
  return found;
}

/// The steps of what moves or repeats elements of such steps.
static std::optional<SmallVector<int64_t>> moveSteps(Operation *op,
                                                     ArrayRef<int64_t> from) {
  ArrayRef<int64_t> shape =
      cast<ShapedType>(op->getOperand(0).getType()).getShape();
  ArrayRef<int64_t> result =
      cast<ShapedType>(op->getResult(0).getType()).getShape();
  SmallVector<int64_t> to;
  if (auto spread = dyn_cast<linalg::BroadcastOp>(op)) {
    for (size_t dim = 0; dim < result.size(); ++dim) {
      bool isNew = llvm::is_contained(spread.getDimensions(), dim);
      to.push_back(isNew ? 0 : from.front());
      from = from.drop_front(!isNew);
    }
    return to;
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    to.assign(result.size(), 0);
    for (auto [step, group] :
         llvm::zip_equal(from, expand.getReassociationIndices())) {
      int64_t inner = step;
      for (int64_t dim : llvm::reverse(group)) {
        to[dim] = result[dim] == 1 ? 0 : inner;
        inner *= result[dim];
      }
    }
    return to;
  }
  // Steps of the inner dimensions go on in those around them.
  auto collapse = cast<tensor::CollapseShapeOp>(op);
  for (auto group : collapse.getReassociationIndices()) {
    std::optional<int64_t> step;
    int64_t length = 1;
    for (int64_t dim : llvm::reverse(group)) {
      if (shape[dim] == 1)
        continue;
      if (!step)
        step = from[dim];
      if (from[dim] != *step * length)
        return std::nullopt;
      length *= shape[dim];
    }
    to.push_back(step.value_or(0));
  }
  return to;
}

std::optional<Progression>
mlir::dist::frontend::findProgression(Emitter &e, Value value,
                                      int64_t component, int64_t size) {
  // Exporters write a few.
  constexpr size_t kMostMovements = 64;
  SmallVector<Operation *> movements;
  std::optional<Progression> found;
  while (true) {
    Shape shape = e.shapeOf(value);
    if (hasOpen(shape) || movements.size() > kMostMovements)
      return std::nullopt;
    if (component >= 0 && shape.back() == 1)
      component = -1;
    DenseIntElementsAttr constant;
    if (matchPattern(value, m_Constant(&constant))) {
      auto elements = constant.getValues<APInt>();
      found = readProgression(shape, component, size, [&](int64_t i) {
        return elements[i].getSExtValue();
      });
      break;
    }
    if (const HostTensor *data = e.dataOf(value)) {
      found = readProgression(shape, component, size,
                              [&](int64_t i) { return data->getInt(i); });
      break;
    }
    Operation *op = value.getDefiningOp();
    int64_t last = shape.size() - 1;
    if (auto concat = dyn_cast_or_null<tensor::ConcatOp>(op);
        concat && component >= 0 &&
        static_cast<int64_t>(concat.getDim()) == last) {
      for (Value part : concat.getInputs()) {
        value = part;
        int64_t components = e.shapeOf(part).back();
        if (component < components)
          break;
        component -= components;
      }
      continue;
    }
    // What becomes of the last dimension.
    bool keepsLast = component < 0;
    if (auto spread = dyn_cast_or_null<linalg::BroadcastOp>(op)) {
      if (llvm::is_contained(spread.getDimensions(), last))
        component = -1;
      keepsLast = true;
      value = spread.getInput();
    } else if (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
                   op)) {
      value = op->getOperand(0);
      Shape source = e.shapeOf(value);
      keepsLast |= !source.empty() && source.back() == shape.back();
    } else {
      return std::nullopt;
    }
    if (!keepsLast)
      return std::nullopt;
    movements.push_back(op);
  }
  for (Operation *op : llvm::reverse(movements)) {
    std::optional<SmallVector<int64_t>> steps;
    if (found)
      steps = moveSteps(op, found->steps);
    if (!steps)
      return std::nullopt;
    found->steps = std::move(*steps);
  }
  return found;
}
