//===- ScalarSemantics.cpp - What scalar ops do to pending reductions
//------===//
//
// f commutes with a reduction R if f(R(x_1 … x_n)) = R(f(x_1) … f(x_n)). For
// sums these are the linear functions; for maxima and minima the monotone ones.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Interfaces/RuleModels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::dist;

std::optional<ReductionKind> mlir::dist::getCombiner(Operation *op) {
  if (isa<arith::AddFOp, arith::AddIOp>(op))
    return ReductionKind::Sum;
  if (isa<arith::MulFOp, arith::MulIOp>(op))
    return ReductionKind::Prod;
  if (isa<arith::MaximumFOp, arith::MaxSIOp>(op))
    return ReductionKind::Max;
  if (isa<arith::MinimumFOp, arith::MinSIOp>(op))
    return ReductionKind::Min;
  if (isa<arith::AndIOp>(op))
    return ReductionKind::And;
  if (isa<arith::OrIOp>(op))
    return ReductionKind::Or;
  // Signed maxima of one bit order true before false.
  return std::nullopt;
}

static bool isZero(Value value) {
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

Dependence mlir::dist::propagateDependence(Operation *op,
                                           ArrayRef<Dependence> operands,
                                           ReductionKind kind) {
  using D = Dependence;
  if (llvm::all_of(operands, [](D d) { return d == D::None; }))
    return D::None;
  if (llvm::is_contained(operands, D::Mixed))
    return D::Mixed;
  auto commutesIf = [](bool condition) {
    return condition ? D::Commutes : D::Mixed;
  };
  bool allCommute =
      llvm::all_of(operands, [](D d) { return d == D::Commutes; });

  // The reduction's own combiner takes pending values on both sides.
  if (allCommute && operands.size() == 2 && getCombiner(op) == kind)
    return D::Commutes;
  if (isa<arith::SelectOp>(op)) {
    if (operands[0] != D::None)
      return D::Mixed;
    // Under a sum, zero is pending of any number of devices.
    auto ok = [&](unsigned i) {
      return operands[i] == D::Commutes ||
             (kind == ReductionKind::Sum && isZero(op->getOperand(i)));
    };
    return commutesIf(ok(1) && ok(2));
  }
  switch (kind) {
  case ReductionKind::Sum:
    if (isa<arith::SubFOp, arith::SubIOp>(op))
      return commutesIf(allCommute);
    if (isa<arith::AddFOp, arith::AddIOp>(op))
      return commutesIf(
          (operands[0] == D::Commutes || isZero(op->getOperand(0))) &&
          (operands[1] == D::Commutes || isZero(op->getOperand(1))));
    if (isa<arith::MulFOp, arith::MulIOp>(op))
      return commutesIf(operands[0] != operands[1]);
    if (isa<arith::DivFOp>(op))
      return commutesIf(operands[0] == D::Commutes && operands[1] == D::None);
    return commutesIf(isa<arith::NegFOp, arith::ExtFOp>(op));
  case ReductionKind::Max:
  case ReductionKind::Min:
    // Rounding is monotone, so max(x) + c is max(x + c) to the last bit.
    if (isa<arith::AddFOp>(op))
      return commutesIf(operands[0] != operands[1]);
    if (isa<arith::SubFOp>(op))
      return commutesIf(operands[0] == D::Commutes && operands[1] == D::None);
    return commutesIf(isa<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp>(op));
  default:
    return D::Mixed;
  }
}

//===----------------------------------------------------------------------===//
// Indices and padding
//===----------------------------------------------------------------------===//

/// The device's coordinate, computed outside of a linalg op's body.
static Value createAxisIndex(OpBuilder &b, Location loc,
                             const MeshLayout &layout, AxisRefAttr axis) {
  OpBuilder::InsertionGuard guard(b);
  Operation *parent = b.getInsertionBlock()->getParentOp();
  if (isa_and_nonnull<linalg::LinalgOp>(parent))
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

Value mlir::dist::zeroPadding(OpBuilder &b, Location loc,
                              const MeshLayout &layout, Value tensor,
                              ShardingAttr sharding,
                              ArrayRef<int64_t> globalShape,
                              ArrayRef<int64_t> dims) {
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
  Value zero =
      arith::ConstantOp::create(b, loc, b.getZeroAttr(type.getElementType()));
  Value kept =
      arith::SelectOp::create(b, loc, inside, body->getArgument(0), zero);
  linalg::YieldOp::create(b, loc, kept);
  return generic.getResult(0);
}
