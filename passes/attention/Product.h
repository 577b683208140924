//===- Product.h - Contractions of two tensors ------------------*- C++ -*-===//

#ifndef DIST_PASSES_ATTENTION_PRODUCT_H
#define DIST_PASSES_ATTENTION_PRODUCT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::dist {

/// The kind of a loop of a contraction c += a * b.
enum class LoopKind { Batch, M, N, K };

/// A contraction on a zero fill, of f32 or f64.
struct Product {
  linalg::LinalgOp op;
  SmallVector<LoopKind> kinds;
  SmallVector<AffineMap> maps;

  AffineMap out() const { return maps[2]; }
  /// The only loop of the kind; -1 if there is no such loop, or several.
  int onlyLoop(LoopKind kind) const {
    return llvm::count(kinds, kind) == 1
               ? llvm::find(kinds, kind) - kinds.begin()
               : -1;
  }
};

FailureOr<Product> matchProduct(linalg::LinalgOp op);

/// The scalar that the tensor is filled with; null if it is not a fill.
Value getFilled(Value tensor);

} // namespace mlir::dist

#endif // DIST_PASSES_ATTENTION_PRODUCT_H
