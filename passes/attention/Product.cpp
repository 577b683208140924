//===- Product.cpp - Contractions of two tensors --------------------------===//

#include "passes/attention/Product.h"
#include "dialects/dist/Interfaces/Reductions.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::dist;

Value mlir::dist::getFilled(Value tensor) {
  auto fill = tensor.getDefiningOp<linalg::FillOp>();
  return fill ? fill.getInputs()[0] : Value();
}

static bool isZeroFilled(Value tensor) {
  Value value = getFilled(tensor);
  return value && matchPattern(value, m_AnyZeroFloat());
}

/// The type of its elements, if its shape is static.
static Type getElement(Value tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  return type && type.hasStaticShape() ? type.getElementType() : Type();
}

/// Sums of the type of scores, f32 or f64, of numbers of that type or narrower.
static bool hasElementsOfScores(linalg::LinalgOp op) {
  Type sum = getElement(op.getDpsInits()[0]),
       factor = getElement(op->getOperand(0));
  if (!sum || !factor || factor != getElement(op->getOperand(1)))
    return false;
  bool isNarrow = factor.isBF16() || factor.isF16();
  return (sum.isF32() && isNarrow) ||
         (sum == factor && (sum.isF32() || sum.isF64()));
}

FailureOr<Product> mlir::dist::matchProduct(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      op->getNumRegions() != 1 || !isMultiplyAdd(*op.getBlock()) ||
      !op.hasPureTensorSemantics() || !hasElementsOfScores(op) ||
      !isZeroFilled(op.getDpsInits()[0]))
    return failure();
  Product product{op, {}, op.getIndexingMapsArray()};
  ArrayRef<AffineMap> maps = product.maps;
  if (!llvm::all_of(maps,
                    [](AffineMap map) { return map.isProjectedPermutation(); }))
    return failure();
  for (unsigned loop = 0, end = op.getNumLoops(); loop < end; ++loop) {
    bool a = maps[0].isFunctionOfDim(loop), b = maps[1].isFunctionOfDim(loop),
         c = maps[2].isFunctionOfDim(loop);
    if (a + b + c < 2)
      return failure();
    product.kinds.push_back(!c   ? LoopKind::K
                            : !b ? LoopKind::M
                            : !a ? LoopKind::N
                                 : LoopKind::Batch);
  }
  if (!llvm::is_contained(product.kinds, LoopKind::K))
    return failure();
  return product;
}
