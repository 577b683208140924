//===- Arguments.cpp - What test modules are called with ------------------===//

#include "test/generator/Arguments.h"
#include "dialects/dist/IR/Dist.h"
#include "test/generator/Choices.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

/// Values that sums and products of a few keep exact: multiples of 1/4 in
/// [-2, 2], small integers.
static Tensor makeArgument(func::FuncOp entry, unsigned number,
                           int64_t unknownSize, Choices &choices) {
  auto type = cast<RankedTensorType>(entry.getArgument(number).getType());
  Type element = type.getElementType();
  SmallVector<int64_t> shape(type.getShape());
  for (int64_t &size : shape)
    if (ShapedType::isDynamic(size))
      size = unknownSize;
  Tensor out(element, shape);
  Scalar *data = out.write();
  int64_t count = out.getNumElements();
  if (auto size =
          entry.getArgAttrOfType<IntegerAttr>(number, kPermutationAttr)) {
    std::vector<int64_t> order = choices.permutation(size.getInt());
    for (int64_t i = 0; i < count; ++i)
      data[i].i = order[i % order.size()];
    return out;
  }
  bool isNonZero = entry.getArgAttr(number, kNonZeroAttr) != nullptr;
  auto below = entry.getArgAttrOfType<IntegerAttr>(number, kBelowAttr);
  for (int64_t i = 0; i < count; ++i) {
    if (below)
      data[i].i = choices.below(below.getInt());
    else if (isa<FloatType>(element))
      data[i].f = (static_cast<double>(choices.below(17)) - 8) / 4;
    else if (element.isInteger(1))
      data[i].i = choices.below(2) ? -1 : 0;
    else
      data[i].i = static_cast<int64_t>(choices.below(20)) - 7;
    if (isNonZero && data[i].i == 0)
      data[i].i = 3;
  }
  return out;
}

std::vector<Tensor> mlir::dist::test::makeArguments(func::FuncOp entry,
                                                    uint64_t seed) {
  Choices choices(seed * 77 + 5);
  std::vector<Tensor> arguments;
  // Sizes that are not known are equal, and divided by whatever shards them.
  int64_t devices = 1;
  for (auto mesh : entry->getParentOfType<ModuleOp>().getOps<MeshOp>())
    for (MeshAxisAttr axis : mesh.getAxes())
      devices *= axis.getSize();
  int64_t unknownSize = devices * (1 + choices.below(3));
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    arguments.push_back(makeArgument(entry, i, unknownSize, choices));
  return arguments;
}
