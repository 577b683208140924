//===- Rows.cpp - Rows that indices name, of any device -------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "test/generator/Rows.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

namespace {
/// The dimension that rows are of, and how large they are.
struct Table {
  template <typename RowsOp>
  Table(RowsOp op, const Devices &devices, int64_t device,
        RankedTensorType block)
      : rows(block.getDimSize(op.getDim())) {
    SmallVector<AxisRefAttr> axes = getAxisRefs(op.getAxes());
    auto sharding = DimShardingAttr::get(op.getContext(), axes);
    int64_t size = op.getSize().value_or(rows * devices.getSize(axes));
    group = devices.getGroup(device, axes);
    for (int64_t member : group)
      indices.push_back(devices.getGlobalIndices(sharding, size, member));
    for (int64_t d = 0; d < block.getRank(); ++d)
      if (d != static_cast<int64_t>(op.getDim()))
        (d < static_cast<int64_t>(op.getDim()) ? outer : inner) *=
            block.getDimSize(d);
  }

  /// Who has a row of the dimension, and where.
  std::optional<std::pair<int64_t, int64_t>> find(int64_t index) const {
    for (auto [member, has] : llvm::enumerate(indices))
      if (auto at = llvm::find(has, index); index >= 0 && at != has.end())
        return std::make_pair(group[member], int64_t(at - has.begin()));
    return std::nullopt;
  }
  int64_t inBlock(int64_t o, int64_t row, int64_t i) const {
    return (o * rows + row) * inner + i;
  }
  int64_t inNamed(int64_t o, int64_t row, int64_t i) const {
    return (row * outer + o) * inner + i;
  }

  int64_t rows, outer = 1, inner = 1;
  SmallVector<int64_t> group;
  std::vector<std::vector<int64_t>> indices;
};
} // namespace

std::optional<Tensor> test::gatherRows(GatherRowsOp op, const Devices &devices,
                                       int64_t device, ArrayRef<Tensor> held,
                                       ArrayRef<Tensor> indices) {
  Table table(op, devices, device, op.getOperand().getType());
  Tensor out(held[device].getElementType(),
             op.getResult().getType().getShape());
  for (int64_t k = 0; k < indices[device].getNumElements(); ++k) {
    auto found = table.find(indices[device].read()[k].i);
    if (!found)
      return std::nullopt;
    for (int64_t o = 0; o < table.outer; ++o)
      for (int64_t i = 0; i < table.inner; ++i)
        out.write()[table.inNamed(o, k, i)] =
            held[found->first].read()[table.inBlock(o, found->second, i)];
  }
  return out;
}

std::optional<Tensor> test::reduceRows(ReduceRowsOp op, const Devices &devices,
                                       int64_t device, ArrayRef<Tensor> held,
                                       ArrayRef<Tensor> indices) {
  Table table(op, devices, device, op.getResult().getType());
  Type type = held[device].getElementType();
  ArrayRef<int64_t> shape = op.getResult().getType().getShape();
  auto add = [&](Scalar &sum, Scalar term) {
    if (isa<FloatType>(type))
      sum.f = roundTo(type, sum.f + term.f);
    else
      sum.i = wrapTo(getWidth(type), uint64_t(sum.i) + uint64_t(term.i));
  };
  Tensor out(type, shape);
  for (int64_t member : table.group) {
    Tensor part(type, shape);
    for (int64_t k = 0; k < indices[member].getNumElements(); ++k) {
      auto found = table.find(indices[member].read()[k].i);
      if (!found)
        return std::nullopt;
      for (int64_t o = 0; o < table.outer && found->first == device; ++o)
        for (int64_t i = 0; i < table.inner; ++i)
          add(part.write()[table.inBlock(o, found->second, i)],
              held[member].read()[table.inNamed(o, k, i)]);
    }
    for (int64_t at = 0; at < out.getNumElements(); ++at)
      add(out.write()[at], part.read()[at]);
  }
  return out;
}
