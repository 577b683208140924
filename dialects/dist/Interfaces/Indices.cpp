//===- Indices.cpp - Indices of a part and of the whole -------------------===//
//
// Code that computes, on a device, the position in the whole dimension of an
// element of its part, and back; and masks that keep padding out of results.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Attention.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/Interfaces/RuleModels.h"
#include "dialects/dist/Utils/Elementwise.h"
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
  if (isa_and_nonnull<linalg::LinalgOp, tensor::GenerateOp, AttentionOp>(
          parent))
    b.setInsertionPoint(parent);
  return AxisIndexOp::create(b, loc, b.getArrayAttr(axis), layout.getName());
}

/// The device's position among those of `axes`, row-major.
static Value createPosition(OpBuilder &b, Location loc,
                            const MeshLayout &layout,
                            ArrayRef<AxisRefAttr> axes) {
  Value position;
  for (AxisRefAttr axis : axes) {
    Value next = createAxisIndex(b, loc, layout, axis);
    if (!position) {
      position = next;
      continue;
    }
    Value count = arith::ConstantIndexOp::create(b, loc, layout.size(axis));
    Value major = arith::MulIOp::create(b, loc, position, count);
    position = arith::AddIOp::create(b, loc, major, next);
  }
  return position ? position : arith::ConstantIndexOp::create(b, loc, 0);
}

/// The size of the last piece, which is unknown, in a device's part of
/// `localSize` elements: the rest after the pieces before it.
static Value createPartOfLastPiece(OpBuilder &b, Location loc,
                                   const MeshLayout &layout,
                                   ArrayRef<Piece> pieces, Value localSize) {
  int64_t others = 1;
  for (const Piece &piece : pieces.drop_back())
    others *= getBlockSize(piece.size, layout.size(piece.axes));
  if (others == 1)
    return localSize;
  return arith::DivUIOp::create(b, loc, localSize,
                                arith::ConstantIndexOp::create(b, loc, others));
}

GlobalIndex mlir::dist::getGlobalIndex(OpBuilder &b, Location loc,
                                       const MeshLayout &layout,
                                       DimShardingAttr dim, int64_t size,
                                       Value local, Value localSize) {
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
  Value stride; // where a size before is not known
  Value rest = local;
  for (auto [reverse, piece] : llvm::enumerate(llvm::reverse(pieces))) {
    bool isKnown = !ShapedType::isDynamic(piece.size);
    Value extent =
        isKnown
            ? constant(llvm::divideCeil(piece.size, layout.size(piece.axes)))
            : createPartOfLastPiece(b, loc, layout, pieces, localSize);
    Value index = rest;
    if (reverse + 1 < pieces.size()) {
      index = arith::RemUIOp::create(b, loc, rest, extent);
      rest = arith::DivUIOp::create(b, loc, rest, extent);
    }
    if (!isKnown) {
      // Divided evenly: the blocks over all axes at once.
      Value position = createPosition(b, loc, layout, piece.axes);
      out.index = add(arith::MulIOp::create(b, loc, position, extent), index);
      stride = mul(extent, layout.size(piece.axes));
      continue;
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
    Value scaled =
        stride ? arith::MulIOp::create(b, loc, index, stride).getResult()
               : mul(index, globalStride);
    out.index = out.index ? add(scaled, out.index) : scaled;
    globalStride *= piece.size;
    if (stride)
      stride = mul(stride, piece.size);
  }
  return out;
}

Value mlir::dist::getWholeSize(OpBuilder &b, Location loc,
                               const MeshLayout &layout, DimShardingAttr dim,
                               int64_t size, Value localSize) {
  if (!ShapedType::isDynamic(size))
    return arith::ConstantIndexOp::create(b, loc, size);
  if (dim == layout.none())
    return localSize;
  Value parts =
      arith::ConstantIndexOp::create(b, loc, layout.size(dim.getAllAxes()));
  return arith::MulIOp::create(b, loc, localSize, parts);
}

LocalIndex mlir::dist::getLocalIndex(OpBuilder &b, Location loc,
                                     const MeshLayout &layout,
                                     DimShardingAttr dim, int64_t size,
                                     Value global, Value localSize) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  auto mul = [&](Value x, Value y) -> Value {
    return arith::MulIOp::create(b, loc, x, y);
  };
  LocalIndex out;
  // Padding may be any number.
  Value end = getWholeSize(b, loc, layout, dim, size, localSize);
  out.isHere =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, global, end);
  if (dim == layout.none() || size == 0) {
    out.index = global;
    return out;
  }
  // Minor to major: peel the global index, put the pieces' local ones together.
  SmallVector<Piece, 2> pieces = layout.pieces(dim, size);
  Value rest = global, localStride;
  for (const Piece &piece : llvm::reverse(pieces)) {
    // The elements of each level's blocks, and whose they are: over all axes at
    // once where the size is not known, since they divide it.
    SmallVector<std::pair<Value, Value>, 2> levels;
    Value whole, block;
    if (ShapedType::isDynamic(piece.size)) {
      block = createPartOfLastPiece(b, loc, layout, pieces, localSize);
      whole = mul(block, constant(layout.size(piece.axes)));
      levels.push_back({block, createPosition(b, loc, layout, piece.axes)});
    } else {
      int64_t extent = piece.size;
      whole = block = constant(extent);
      for (AxisRefAttr axis : piece.axes) {
        extent = llvm::divideCeil(extent, layout.size(axis));
        block = constant(extent);
        levels.push_back({block, createAxisIndex(b, loc, layout, axis)});
      }
    }
    Value index = rest;
    if (pieces.size() > 1) {
      index = arith::RemUIOp::create(b, loc, rest, whole);
      rest = arith::DivUIOp::create(b, loc, rest, whole);
    }
    for (auto [extent, position] : levels) {
      Value owner = arith::DivUIOp::create(b, loc, index, extent);
      index = arith::RemUIOp::create(b, loc, index, extent);
      Value isHere = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                           owner, position);
      out.isHere = arith::AndIOp::create(b, loc, out.isHere, isHere);
    }
    out.index =
        out.index
            ? arith::AddIOp::create(b, loc, mul(index, localStride), out.index)
                  .getResult()
            : index;
    localStride = localStride ? mul(localStride, block) : block;
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
  Value kept = mapElements(
      b, loc, tensor, type.getElementType(),
      [&](OpBuilder &inner, Location at, ValueRange args) -> Value {
        Value inside;
        for (int64_t dim : uneven) {
          Value index = linalg::IndexOp::create(inner, at, dim);
          Value here = getGlobalIndex(inner, at, layout,
                                      sharding.getDims()[dim], globalShape[dim],
                                      index)
                           .inBounds;
          inside =
              inside ? arith::AndIOp::create(inner, at, inside, here) : here;
        }
        Value filler = createNumber(inner, at, type.getElementType(), number);
        return arith::SelectOp::create(inner, at, inside, args[0], filler);
      });
  kept.getDefiningOp()->setAttr(kPaddingAttr, b.getUnitAttr());
  return kept;
}
