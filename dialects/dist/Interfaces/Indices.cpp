//===- Indices.cpp - Indices of a part and of the whole
//-------------------------===//
//
// Code that computes, on a device, where an element of its part lies in the
// whole dimension, and back; and what keeps padding out of results.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Interfaces/RuleModels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dist;

/// The device's coordinate, computed outside of the body of an op that runs it
/// for every element.
static Value createAxisIndex(OpBuilder &b, Location loc,
                             const MeshLayout &layout, AxisRefAttr axis) {
  OpBuilder::InsertionGuard guard(b);
  Operation *parent = b.getInsertionBlock()->getParentOp();
  if (isa_and_nonnull<linalg::LinalgOp, tensor::GenerateOp>(parent))
    b.setInsertionPoint(parent);
  return AxisIndexOp::create(b, loc, b.getArrayAttr(axis), layout.getName());
}

GlobalIndex mlir::dist::getGlobalIndex(OpBuilder &b, Location loc,
                                       const MeshLayout &layout,
                                       DimShardingAttr dim, int64_t size,
                                       Value local) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  auto add = [&](Value x, Value y) -> Value {
    return arith::AddIOp::create(b, loc, x, y);
  };
  auto mul = [&](Value x, int64_t y) -> Value {
    return y == 1 ? x
                  : arith::MulIOp::create(b, loc, x, constant(y)).getResult();
  };
  GlobalIndex out;
  if (dim == layout.none()) {
    out.index = local;
    return out;
  }
  SmallVector<Piece, 2> pieces = layout.pieces(dim, size);
  // Minor to major: peel the local index, put the pieces' global ones together.
  int64_t globalStride = 1;
  Value rest = local;
  for (auto [reverse, piece] : llvm::enumerate(llvm::reverse(pieces))) {
    int64_t localExtent = llvm::divideCeil(piece.size, layout.size(piece.axes));
    Value index = rest;
    if (reverse + 1 < pieces.size()) {
      Value extent = constant(localExtent);
      index = arith::RemUIOp::create(b, loc, rest, extent);
      rest = arith::DivUIOp::create(b, loc, rest, extent);
    }
    // Blocks of every level, major to minor.
    SmallVector<int64_t, 4> blocks{piece.size};
    for (AxisRefAttr axis : piece.axes)
      blocks.push_back(llvm::divideCeil(blocks.back(), layout.size(axis)));
    for (size_t level = piece.axes.size(); level-- > 0;) {
      AxisRefAttr axis = piece.axes[level];
      Value coordinate = createAxisIndex(b, loc, layout, axis);
      index = add(mul(coordinate, blocks[level + 1]), index);
      if (blocks[level] % layout.size(axis) == 0)
        continue;
      Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                           index, constant(blocks[level]));
      out.inBounds = out.inBounds
                         ? arith::AndIOp::create(b, loc, out.inBounds, inside)
                         : inside;
    }
    Value scaled = mul(index, globalStride);
    out.index = out.index ? add(scaled, out.index) : scaled;
    globalStride *= piece.size;
  }
  return out;
}

LocalIndex mlir::dist::getLocalIndex(OpBuilder &b, Location loc,
                                     const MeshLayout &layout,
                                     DimShardingAttr dim, int64_t size,
                                     Value global) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  LocalIndex out;
  // What padding holds may be any number.
  out.isHere = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, global,
                                     constant(size));
  if (dim == layout.none() || size == 0) {
    out.index = global;
    return out;
  }
  // Minor to major: peel the global index, put the pieces' local ones together.
  int64_t localStride = 1;
  Value rest = global;
  SmallVector<Piece, 2> pieces = layout.pieces(dim, size);
  for (const Piece &piece : llvm::reverse(pieces)) {
    Value index = rest;
    if (piece.size != size) {
      Value extent = constant(piece.size);
      index = arith::RemUIOp::create(b, loc, rest, extent);
      rest = arith::DivUIOp::create(b, loc, rest, extent);
    }
    int64_t block = piece.size;
    for (AxisRefAttr axis : piece.axes) {
      block = llvm::divideCeil(block, layout.size(axis));
      Value extent = constant(block);
      Value owner = arith::DivUIOp::create(b, loc, index, extent);
      index = arith::RemUIOp::create(b, loc, index, extent);
      Value isHere =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, owner,
                                createAxisIndex(b, loc, layout, axis));
      out.isHere = arith::AndIOp::create(b, loc, out.isHere, isHere);
    }
    Value scaled =
        localStride == 1
            ? index
            : arith::MulIOp::create(b, loc, index, constant(localStride))
                  .getResult();
    out.index =
        out.index ? arith::AddIOp::create(b, loc, scaled, out.index) : scaled;
    localStride *= block;
  }
  return out;
}

Value mlir::dist::createNumber(OpBuilder &b, Location loc, Type type,
                               int64_t number) {
  TypedAttr attr = isa<FloatType>(type)
                       ? TypedAttr(b.getFloatAttr(type, number))
                       : b.getIntegerAttr(type, number);
  return arith::ConstantOp::create(b, loc, attr);
}

Value mlir::dist::fillPadding(OpBuilder &b, Location loc,
                              const MeshLayout &layout, Value tensor,
                              ShardingAttr sharding,
                              ArrayRef<int64_t> globalShape,
                              ArrayRef<int64_t> dims, int64_t number) {
  SmallVector<int64_t> uneven;
  for (int64_t dim : dims)
    if (!layout.isEven(sharding.getDims()[dim], globalShape[dim]))
      uneven.push_back(dim);
  if (uneven.empty())
    return tensor;
  auto type = cast<RankedTensorType>(tensor.getType());
  Value empty =
      tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
  AffineMap identity = b.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  auto generic =
      linalg::GenericOp::create(b, loc, type, tensor, empty,
                                ArrayRef<AffineMap>{identity, identity}, loops);
  OpBuilder::InsertionGuard guard(b);
  Block *body =
      b.createBlock(&generic.getRegion(), {},
                    {type.getElementType(), type.getElementType()}, {loc, loc});
  Value inside;
  for (int64_t dim : uneven) {
    Value index = linalg::IndexOp::create(b, loc, dim);
    Value here = getGlobalIndex(b, loc, layout, sharding.getDims()[dim],
                                globalShape[dim], index)
                     .inBounds;
    inside = inside ? arith::AndIOp::create(b, loc, inside, here) : here;
  }
  Value filler = createNumber(b, loc, type.getElementType(), number);
  Value kept =
      arith::SelectOp::create(b, loc, inside, body->getArgument(0), filler);
  linalg::YieldOp::create(b, loc, kept);
  return generic.getResult(0);
}
