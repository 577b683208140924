//===- Elementwise.h - Tensors computed element by element ------*- C++ -*-===//

#ifndef DIST_DIALECTS_DIST_UTILS_ELEMENTWISE_H
#define DIST_DIALECTS_DIST_UTILS_ELEMENTWISE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::dist {

inline RankedTensorType typeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType());
}

/// A linalg.generic whose loops are all parallel and walk over `inits` in the
/// order of their dimensions. `maps` are those of the inputs. `body` gets the
/// elements of the inputs, then those of `inits`.
linalg::GenericOp createParallelLoops(
    OpBuilder &builder, Location loc, ValueRange inputs,
    ArrayRef<AffineMap> maps, ValueRange inits,
    function_ref<SmallVector<Value>(OpBuilder &, Location, ValueRange)> body);

/// A new tensor of `element`, with the sizes of the first input. `body`
/// computes an element from those of the inputs: of the same position, or of
/// the one in `maps`. `scope`, if given, is the module that it belongs to.
Value mapElements(OpBuilder &builder, Location loc, ValueRange inputs,
                  Type element,
                  function_ref<Value(OpBuilder &, Location, ValueRange)> body,
                  Attribute scope = nullptr, ArrayRef<AffineMap> maps = {});

/// The indices of element `number`, below their product, in row-major order of
/// such sizes.
SmallVector<Value> delinearize(OpBuilder &builder, Location loc, Value number,
                               ArrayRef<int64_t> sizes);

/// The sum of two scalars, or elementwise of two tensors.
Value createSum(OpBuilder &builder, Location loc, Value left, Value right);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_UTILS_ELEMENTWISE_H
