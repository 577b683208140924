//===- DeviceLine.cpp - What differs along a line of devices --------------===//

#include "passes/halos/DeviceLine.h"
#include "dialects/dist/IR/Collectives.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "passes/bounds/Bounds.h"
#include "passes/spmd/verify/Uniformity.h"

using namespace mlir;
using namespace mlir::dist;

DeviceLine::DeviceLine(ModuleOp module, const MeshLayout &layout,
                       ArrayAttr axesAttr)
    : axesAttr(axesAttr), layout(layout), axes(getAxisRefs(axesAttr)),
      uniform(findUniformValues(module, layout, axes)) {
  for (AxisRefAttr axis : axes) {
    sizes.push_back(layout.size(axis));
    devices *= sizes.back();
  }
}

bool DeviceLine::isCrossedBy(ArrayRef<AxisRefAttr> others) const {
  return llvm::any_of(others, [&](AxisRefAttr other) {
    return llvm::any_of(axes, [&](AxisRefAttr axis) {
      return axis.getName() == other.getName();
    });
  });
}

bool DeviceLine::isEquallySpaced(int64_t size) const {
  return dist::isEquallySpaced(layout, axes, size);
}

std::optional<DeviceLine::AxisStrides>
DeviceLine::getSteps(Value index, unsigned depth) const {
  AxisStrides none(axes.size(), 0);
  if (isUniform(index) || matchPattern(index, m_Constant()))
    return none;
  Operation *op = index.getDefiningOp();
  if (!op || depth == kMostLineSteps)
    return std::nullopt;
  if (auto coordinate = dyn_cast<AxisIndexOp>(op)) {
    AxisStrides steps = none;
    int64_t step = 1;
    for (AxisRefAttr ref : llvm::reverse(getAxisRefs(coordinate.getAxes()))) {
      auto place = llvm::find(axes, ref);
      if (place != axes.end())
        steps[place - axes.begin()] = step;
      else if (isCrossedBy(ref))
        return std::nullopt;
      step *= layout.size(ref);
    }
    return steps;
  }
  auto combine = [&](int64_t sign) -> std::optional<AxisStrides> {
    std::optional<AxisStrides> a = getSteps(op->getOperand(0), depth + 1),
                               b = getSteps(op->getOperand(1), depth + 1);
    if (!a || !b)
      return std::nullopt;
    for (auto [x, y] : llvm::zip_equal(*a, *b))
      x += sign * y;
    return a;
  };
  if (isa<arith::AddIOp>(op))
    return combine(1);
  if (isa<arith::SubIOp>(op))
    return combine(-1);
  if (isa<arith::MulIOp>(op))
    for (int factor : {0, 1})
      if (APInt number;
          matchPattern(op->getOperand(factor), m_ConstantInt(&number))) {
        std::optional<AxisStrides> steps =
            getSteps(op->getOperand(1 - factor), depth + 1);
        if (steps)
          for (int64_t &step : *steps)
            step *= number.getSExtValue();
        return steps;
      }
  return std::nullopt;
}

std::optional<int64_t> DeviceLine::getStep(Value index) const {
  std::optional<AxisStrides> steps = getSteps(index, 0);
  if (!steps || steps->empty())
    return std::nullopt;
  int64_t step = steps->back(), expected = step;
  for (size_t level = axes.size(); level-- > 0;) {
    if ((*steps)[level] != expected)
      return std::nullopt;
    expected *= sizes[level];
  }
  return step;
}
