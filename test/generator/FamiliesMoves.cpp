//===- FamiliesMoves.cpp - What moves elements about ----------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "test/generator/RandomProgram.h"

using namespace mlir;
using namespace mlir::dist::test;

/// Splits dimensions into factors, or merges neighbours.
bool mlir::dist::test::makeReshape(RandomProgram &p) {
  Value x = p.pickTensor(0, 5);
  RankedTensorType type = p.typeOf(x);
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> groups;
  int64_t rank = type.getRank();
  if (rank >= 2 && p.c.chance(50)) {
    for (int64_t d = 0; d < rank; ++d) {
      if (d == 0 || !p.c.chance(60)) {
        groups.push_back({});
        shape.push_back(1);
      }
      groups.back().push_back(d);
      shape.back() *= type.getDimSize(d);
    }
    if (static_cast<int64_t>(groups.size()) == rank)
      return false;
    p.add(tensor::CollapseShapeOp::create(
              p.b, p.loc, RankedTensorType::get(shape, type.getElementType()),
              x, groups),
          p.rangeOf(x));
    return true;
  }
  bool isSplit = false;
  for (int64_t size : type.getShape()) {
    groups.push_back({});
    int64_t rest = size;
    for (unsigned cuts = p.c.below(3); cuts > 0; --cuts) {
      int64_t factor = p.c.pick({2, 3, 4, 1, 6});
      if (rest == 0 || rest % factor != 0)
        continue;
      groups.back().push_back(shape.size());
      shape.push_back(factor);
      rest /= factor;
      isSplit = true;
    }
    groups.back().push_back(shape.size());
    shape.push_back(rest);
    // The factors in another order of sizes: large ones major.
    if (groups.back().size() > 1 && p.c.chance(50))
      std::reverse(shape.end() - groups.back().size(), shape.end());
  }
  if (!isSplit || shape.size() > 6)
    return false;
  p.add(tensor::ExpandShapeOp::create(
            p.b, p.loc, RankedTensorType::get(shape, type.getElementType()), x,
            groups),
        p.rangeOf(x));
  return true;
}

namespace {
struct Part {
  SmallVector<OpFoldResult> offsets, sizes, strides;
  SmallVector<int64_t> shape;
};
} // namespace

/// A range of every dimension of `shape`, often whole ones, often blocks.
static Part pickPart(RandomProgram &p, ArrayRef<int64_t> shape,
                     bool mayStride) {
  Part part;
  for (int64_t size : shape) {
    int64_t offset = 0, length = size, stride = 1;
    if (size > 1 && p.c.chance(50)) {
      switch (p.c.below(4)) {
      case 0: // a block of those that divide it
        for (int64_t blocks : {2, 3, 4})
          if (size % blocks == 0) {
            length = size / blocks;
            offset = length * p.c.below(blocks);
            break;
          }
        break;
      case 1:
        length = 1 + p.c.below(size);
        offset = p.c.below(size - length + 1);
        break;
      case 2:
        if (mayStride) {
          stride = 2;
          offset = p.c.below(2);
          length = (size - offset + 1) / 2;
        }
        break;
      case 3:
        length = 1;
        offset = p.c.below(size);
        break;
      }
    }
    part.offsets.push_back(p.b.getIndexAttr(offset));
    part.sizes.push_back(p.b.getIndexAttr(length));
    part.strides.push_back(p.b.getIndexAttr(stride));
    part.shape.push_back(length);
  }
  return part;
}

/// The type of a part, without some of its dimensions of size 1.
static RankedTensorType reduceRank(RandomProgram &p, ArrayRef<int64_t> shape,
                                   Type element) {
  SmallVector<int64_t> kept;
  bool reduces = p.c.chance(50);
  for (int64_t size : shape)
    if (size != 1 || !reduces)
      kept.push_back(size);
  return RankedTensorType::get(kept, element);
}

bool mlir::dist::test::makeSlice(RandomProgram &p) {
  Value x = p.pickTensor(1, 4);
  RankedTensorType type = p.typeOf(x);
  // MLIR refuses static slices of nothing.
  if (type.getNumElements() == 0)
    return false;
  Part part = pickPart(p, type.getShape(), true);
  auto out = reduceRank(p, part.shape, type.getElementType());
  p.add(tensor::ExtractSliceOp::create(p.b, p.loc, out, x, part.offsets,
                                       part.sizes, part.strides),
        p.rangeOf(x));
  return true;
}

bool mlir::dist::test::makeInsert(RandomProgram &p) {
  Value x = p.pickTensor(1, 4);
  RankedTensorType type = p.typeOf(x);
  // MLIR refuses static slices of nothing.
  if (type.getNumElements() == 0)
    return false;
  Part part = pickPart(p, type.getShape(), true);
  auto partType = reduceRank(p, part.shape, type.getElementType());
  Value source = p.getTensor(partType.getShape(), type.getElementType());
  Bounds rx = p.rangeOf(x), rs = p.rangeOf(source);
  p.add(tensor::InsertSliceOp::create(p.b, p.loc, source, x, part.offsets,
                                      part.sizes, part.strides),
        {std::max(rx.bound, rs.bound), std::max(rx.grid, rs.grid)});
  return true;
}

bool mlir::dist::test::makeConcat(RandomProgram &p) {
  Value x = p.pickTensor(1, 4);
  RankedTensorType type = p.typeOf(x);
  int64_t axis = p.c.below(type.getRank());
  SmallVector<Value> inputs{x};
  Bounds range = p.rangeOf(x);
  for (unsigned more = 1 + p.c.below(2); more > 0; --more) {
    SmallVector<int64_t> shape(type.getShape());
    if (p.c.chance(50))
      shape[axis] = p.pickSize();
    inputs.push_back(p.getTensor(shape, type.getElementType()));
    Bounds other = p.rangeOf(inputs.back());
    range = {std::max(range.bound, other.bound),
             std::max(range.grid, other.grid)};
  }
  p.add(tensor::ConcatOp::create(p.b, p.loc, axis, inputs), range);
  return true;
}

bool mlir::dist::test::makePad(RandomProgram &p) {
  Value x = p.pickTensor(1, 4);
  RankedTensorType type = p.typeOf(x);
  SmallVector<int64_t> low, high, shape;
  for (int64_t size : type.getShape()) {
    low.push_back(p.c.chance(30) ? p.c.below(3) : 0);
    high.push_back(p.c.chance(30) ? p.c.below(3) : 0);
    shape.push_back(size + low.back() + high.back());
  }
  auto out = RankedTensorType::get(shape, type.getElementType());
  SmallVector<OpFoldResult> lows =
      getAsIndexOpFoldResult(p.b.getContext(), low);
  SmallVector<OpFoldResult> highs =
      getAsIndexOpFoldResult(p.b.getContext(), high);
  Bounds range = p.rangeOf(x);
  range.bound = std::max(range.bound, 16.0);
  // The value may depend on the place.
  if (p.c.chance(20) && !type.getElementType().isInteger(1) &&
      !type.getElementType().isIndex()) {
    auto pad = tensor::PadOp::create(p.b, p.loc, out, x, lows, highs);
    OpBuilder::InsertionGuard guard(p.b);
    SmallVector<Type> types(shape.size(), p.b.getIndexType());
    SmallVector<Location> locs(shape.size(), p.loc);
    Block *body = p.b.createBlock(&pad.getRegion(), {}, types, locs);
    Value number = body->getArgument(p.c.below(shape.size()));
    Type element = type.getElementType();
    if (isa<FloatType>(element)) {
      number = arith::IndexCastOp::create(p.b, p.loc, p.b.getI64Type(), number);
      number = arith::SIToFPOp::create(p.b, p.loc, element, number);
    } else {
      number = arith::IndexCastOp::create(p.b, p.loc, element, number);
    }
    tensor::YieldOp::create(p.b, p.loc, number);
    p.b.setInsertionPointAfter(pad);
    p.add(pad, range);
    return true;
  }
  Value value = p.scalar(type.getElementType(), p.c.pick({0.0, 1.0, 0.5}));
  p.add(tensor::PadOp::create(p.b, p.loc, out, x, lows, highs, value), range);
  return true;
}

/// Indices into a dimension of `size` elements: as an argument, or computed.
static Value pickIndices(RandomProgram &p, ArrayRef<int64_t> shape,
                         int64_t size) {
  Type type = p.c.chance(70) ? p.b.getI64Type() : p.b.getI32Type();
  auto tensor = RankedTensorType::get(shape, type);
  if (p.c.chance(30)) { // from any integers, brought into range
    Value any = p.getTensor(shape, type);
    Value limit = arith::ConstantOp::create(
        p.b, p.loc,
        DenseElementsAttr::get(tensor, p.b.getIntegerAttr(type, size)));
    return arith::RemUIOp::create(p.b, p.loc, any, limit);
  }
  if (p.c.chance(20)) {
    SmallVector<Attribute> numbers;
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      numbers.push_back(p.b.getIntegerAttr(type, p.c.below(size)));
    return arith::ConstantOp::create(p.b, p.loc,
                                     DenseElementsAttr::get(tensor, numbers));
  }
  return p.argument(shape, type, {},
                    p.b.getNamedAttr(kBelowAttr, p.b.getI64IntegerAttr(size)));
}

bool mlir::dist::test::makeGather(RandomProgram &p) {
  Value x = p.pickTensor(1, 3);
  RankedTensorType type = p.typeOf(x);
  int64_t rank = type.getRank();
  SmallVector<int64_t> dims{static_cast<int64_t>(p.c.below(rank))};
  if (rank > 1 && p.c.chance(25)) {
    dims = {0, 1};
    if (rank > 2 && p.c.chance(50))
      dims = {0, 2};
  }
  int64_t smallest = 1 << 20;
  for (int64_t d : dims)
    smallest = std::min(smallest, type.getDimSize(d));
  if (smallest == 0)
    return false;
  SmallVector<int64_t> batch = p.pickShape(0, 2), shape(batch),
                       indexShape(batch);
  indexShape.push_back(dims.size());
  Value indices = pickIndices(p, indexShape, smallest);
  bool keeps = p.c.chance(25);
  for (int64_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(dims, d))
      shape.push_back(type.getDimSize(d));
    else if (keeps)
      shape.push_back(1);
  auto out = RankedTensorType::get(shape, type.getElementType());
  if (out.getNumElements() > 4096)
    return false;
  p.add(tensor::GatherOp::create(p.b, p.loc, out, x, indices,
                                 p.b.getDenseI64ArrayAttr(dims)),
        p.rangeOf(x));
  return true;
}

bool mlir::dist::test::makeScatter(RandomProgram &p) {
  Value x = p.pickTensor(1, 3);
  RankedTensorType type = p.typeOf(x);
  int64_t rank = type.getRank(), axis = p.c.below(rank);
  int64_t size = type.getDimSize(axis);
  if (size == 0)
    return false;
  // Every index once.
  int64_t count = 1 + p.c.below(size);
  Type i64 = p.b.getI64Type();
  Value indices;
  if (p.c.chance(40)) {
    SmallVector<int64_t> numbers;
    auto order = p.c.permutation(size);
    numbers.assign(order.begin(), order.begin() + count);
    indices = arith::ConstantOp::create(
        p.b, p.loc,
        DenseElementsAttr::get(RankedTensorType::get({count, 1}, i64),
                               ArrayRef(numbers)));
  } else {
    indices = p.argument(
        {count, 1}, i64, {},
        p.b.getNamedAttr(kPermutationAttr, p.b.getI64IntegerAttr(size)));
  }
  SmallVector<int64_t> shape{count};
  for (int64_t d = 0; d < rank; ++d)
    shape.push_back(d == axis ? 1 : type.getDimSize(d));
  Value source = p.getTensor(shape, type.getElementType());
  Bounds rx = p.rangeOf(x), rs = p.rangeOf(source);
  p.add(tensor::ScatterOp::create(p.b, p.loc, type, source, x, indices,
                                  p.b.getDenseI64ArrayAttr({axis}),
                                  p.b.getUnitAttr()),
        {std::max(rx.bound, rs.bound), std::max(rx.grid, rs.grid)});
  return true;
}
