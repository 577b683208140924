//===- WidenContractions.cpp - Sums in f32 where the library has them -----===//
//
// Contractions of the target's library are summed in f32 and rounded once;
// loops round after each step. A reference program does as the programs that it
// is compared with. Otherwise its rounding errors would hide their mistakes.
//
//===----------------------------------------------------------------------===//

#include "lowering/buffers/ContractionMatch.h"
#include "lowering/buffers/Passes.h"
#include "lowering/kernels/KernelTarget.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dist;

/// Whether the library does the contraction, however ranks cut it.
static bool isAlwaysCall(linalg::LinalgOp op, ArrayRef<LoopKind> kinds,
                         const KernelTarget &target, int64_t ranks) {
  auto getElement = [&](unsigned operand) {
    auto type = dyn_cast<MemRefType>(op->getOperand(operand).getType());
    return type ? type.getElementType() : Type();
  };
  Type in = getElement(0), out = getElement(2);
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  if (!in || in != getElement(1) || !out || !in.isBF16() || !out.isBF16() ||
      llvm::any_of(sizes, ShapedType::isDynamic))
    return false;
  // One loop is cut, or several less.
  for (int64_t &size : sizes) {
    int64_t whole = size;
    size = llvm::divideCeilSigned(size, ranks);
    if (!target.isContractionCall(in, out, sizes, kinds))
      return false;
    size = whole;
  }
  return true;
}

linalg::LinalgOp mlir::dist::widenContraction(linalg::LinalgOp op,
                                              int64_t terms, bool isCut) {
  ImplicitLocOpBuilder b(op.getLoc(), op.getOperation());
  Value result = op.getDpsInits()[0];
  auto type = cast<MemRefType>(result.getType());
  Type f32 = b.getF32Type();
  Value wide =
      memref::AllocOp::create(b, MemRefType::get(type.getShape(), f32));
  SmallVector<AffineMap> same(2, b.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> parallel(type.getRank(),
                                            utils::IteratorType::parallel);
  linalg::GenericOp::create(
      b, ValueRange(result), ValueRange(wide), same, parallel,
      [&](OpBuilder &builder, Location loc, ValueRange args) {
        Value value = arith::ExtFOp::create(builder, loc, f32, args[0]);
        linalg::YieldOp::create(builder, loc, value);
      });
  auto summed = linalg::GenericOp::create(
      b, op.getDpsInputs(), ValueRange(wide), op.getIndexingMapsArray(),
      op.getIteratorTypesArray(),
      [&](OpBuilder &builder, Location loc, ValueRange args) {
        Value x = arith::ExtFOp::create(builder, loc, f32, args[0]);
        Value y = arith::ExtFOp::create(builder, loc, f32, args[1]);
        Value product = arith::MulFOp::create(builder, loc, x, y);
        auto sum = arith::AddFOp::create(builder, loc, args[2], product);
        if (isCut)
          sum->setAttr(kPartialSumsAttr, builder.getI64IntegerAttr(terms));
        linalg::YieldOp::create(builder, loc, sum.getResult());
      });
  linalg::GenericOp::create(
      b, ValueRange(wide), ValueRange(result), same, parallel,
      [&](OpBuilder &builder, Location loc, ValueRange args) {
        Value value = arith::TruncFOp::create(builder, loc,
                                              type.getElementType(), args[0]);
        linalg::YieldOp::create(builder, loc, value);
      });
  if (Attribute scope = op->getAttr(kScopeAttr))
    summed->setAttr(kScopeAttr, scope);
  op.erase();
  return summed;
}

void mlir::dist::widenContractions(ModuleOp module, const KernelTarget &target,
                                   int64_t ranks) {
  module.walk([&](linalg::LinalgOp op) {
    FailureOr<SmallVector<LoopKind>> kinds = matchContraction(op);
    if (failed(kinds) || !op.hasPureBufferSemantics() ||
        !isAlwaysCall(op, *kinds, target, ranks))
      return;
    int64_t terms = 1;
    for (auto [size, kind] : llvm::zip_equal(op.getStaticLoopRanges(), *kinds))
      if (kind == LoopKind::K)
        terms *= size;
    widenContraction(op, terms, ranks > 1);
  });
}
