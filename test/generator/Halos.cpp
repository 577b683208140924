//===- Halos.cpp - Blocks with rows of their neighbours -------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "test/generator/Halos.h"

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

namespace {
/// The dimension of a halo, as devices hold it.
struct Line {
  template <typename HaloOp>
  Line(HaloOp op, const Devices &devices, int64_t device, int64_t rows)
      : dim(op.getDim()), rows(rows), low(op.getLow()), high(op.getHigh()) {
    SmallVector<AxisRefAttr> axes = getAxisRefs(op.getAxes());
    size = op.getSize().value_or(rows * devices.getSize(axes));
    auto sharding = DimShardingAttr::get(op.getContext(), axes);
    group = devices.getGroup(device, axes);
    for (int64_t member : group) {
      indices.push_back(devices.getGlobalIndices(sharding, size, member));
      // Nested blocks, whether they have anything or not.
      int64_t start = 0, block = size;
      for (AxisRefAttr axis : axes) {
        block = llvm::divideCeil(block, devices.getSize(axis));
        start += devices.getPosition(member, axis) * block;
      }
      starts.push_back(start);
    }
    place = devices.getPosition(device, axes);
  }

  /// The row of the dimension that row `i` of a member's window is, which may
  /// be past the ends; none where it is padding of a ring.
  std::optional<int64_t> getRow(int64_t member, int64_t i, bool isRing) const {
    int64_t valid = 0;
    for (int64_t index : indices[member])
      valid += index >= 0;
    if (isRing && (valid == 0 || i >= low + valid + high))
      return std::nullopt;
    return starts[member] - low + i;
  }
  bool isInside(int64_t row) const { return row >= 0 && row < size; }
  int64_t wrap(int64_t row) const { return (row % size + size) % size; }

  int64_t dim, rows, low, high, size, place;
  SmallVector<int64_t> group, starts;
  /// By member, of each row of its block.
  std::vector<std::vector<int64_t>> indices;
};

/// A row of a tensor along `dim`, as places of its elements.
SmallVector<int64_t> getPlaces(const Tensor &tensor, int64_t dim, int64_t row) {
  ArrayRef<int64_t> shape = tensor.getShape();
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < tensor.getRank(); ++d)
    if (d != dim)
      (d < dim ? outer : inner) *= shape[d];
  SmallVector<int64_t> places;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i)
      places.push_back((o * shape[dim] + row) * inner + i);
  return places;
}
} // namespace

/// The constant past the ends; none where nothing is defined.
static std::optional<Scalar> getFill(HaloExchangeOp op) {
  switch (op.getBoundaryKind()) {
  case BoundaryKind::Zero:
    return Scalar{0};
  case BoundaryKind::Constant:
    return Tensor::fromAttr(op.getBoundary()->getValue())->read()[0];
  case BoundaryKind::None:
  case BoundaryKind::Periodic:
    return std::nullopt;
  }
  llvm_unreachable("all are listed");
}

Tensor test::exchangeHalo(HaloExchangeOp op, const Devices &devices,
                          int64_t device, ArrayRef<Tensor> held,
                          Garbage &garbage) {
  const Tensor &own = held[device];
  Type type = own.getElementType();
  Line line(op, devices, device, own.getShape()[op.getDim()]);
  SmallVector<int64_t> shape(own.getShape());
  shape[line.dim] += line.low + line.high;
  Tensor out = Tensor::garbage(type, shape, garbage);
  std::optional<Scalar> fill = getFill(op);
  for (int64_t i = 0; i < shape[line.dim]; ++i) {
    bool isRing = op.getBoundaryKind() == BoundaryKind::Periodic;
    std::optional<int64_t> row = line.getRow(line.place, i, isRing);
    SmallVector<int64_t> places = getPlaces(out, line.dim, i);
    if (row && isRing)
      row = line.wrap(*row);
    if (!row)
      continue;
    if (!line.isInside(*row)) {
      for (int64_t place : places)
        if (fill)
          out.write()[place] = *fill;
      continue;
    }
    for (auto [member, indices] : llvm::enumerate(line.indices)) {
      auto at = llvm::find(indices, *row);
      if (at == indices.end())
        continue;
      const Tensor &from = held[line.group[member]];
      SmallVector<int64_t> sources =
          getPlaces(from, line.dim, at - indices.begin());
      for (auto [place, source] : llvm::zip_equal(places, sources))
        out.write()[place] = from.read()[source];
    }
  }
  return out;
}

Tensor test::reduceHalo(HaloReduceOp op, const Devices &devices, int64_t device,
                        ArrayRef<Tensor> held) {
  const Tensor &own = held[device];
  Type type = own.getElementType();
  SmallVector<int64_t> shape(own.getShape());
  shape[op.getDim()] -= op.getLow() + op.getHigh();
  Line line(op, devices, device, shape[op.getDim()]);
  Tensor out(type, shape);
  auto add = [&](int64_t to, const Tensor &from, int64_t at) {
    for (auto [place, source] : llvm::zip_equal(
             getPlaces(out, line.dim, to), getPlaces(from, line.dim, at))) {
      Scalar &sum = out.write()[place];
      Scalar term = from.read()[source];
      if (isa<FloatType>(type))
        sum.f = roundTo(type, sum.f + term.f);
      else
        sum.i = wrapTo(getWidth(type), uint64_t(sum.i) + uint64_t(term.i));
    }
  };
  for (auto [to, row] : llvm::enumerate(line.indices[line.place])) {
    if (row < 0)
      continue;
    add(to, own, line.low + to);
    for (auto [member, holder] : llvm::enumerate(line.group))
      for (int64_t i = 0, e = line.rows + line.low + line.high; i < e; ++i) {
        std::optional<int64_t> other = line.getRow(member, i, op.getPeriodic());
        if (other && op.getPeriodic())
          other = line.wrap(*other);
        bool isOwn = holder == device && i == line.low + int64_t(to);
        if (other == row && !isOwn)
          add(to, held[holder], i);
      }
  }
  return out;
}
