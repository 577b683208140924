//===- Models.h - Adjoints of ops of several dialects -----------*- C++ -*-===//
//
// External models of DifferentiableOpInterface, a file by kind.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_DIFFERENTIATE_MODELS_H
#define DIST_PASSES_DIFFERENTIATE_MODELS_H

#include "dialects/dist/Interfaces/Adjoints.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::dist {

void registerScalarAdjoints(DialectRegistry &registry);
void registerLinalgAdjoints(DialectRegistry &registry);
void registerTensorAdjoints(DialectRegistry &registry);
void registerPlacementAdjoints(DialectRegistry &registry);
void registerControlAdjoints(DialectRegistry &registry);

/// The rule for all structured ops.
LogicalResult addLinalgAdjoints(linalg::LinalgOp op, OpBuilder &builder,
                                Adjoints &adjoints);

/// Adds the contribution of `y`, the softmax of `x` along dimension `row`, to
/// the cotangent of `x`.
void addSoftmaxAdjoint(OpBuilder &builder, Location loc, Value x, Value y,
                       unsigned row, Adjoints &adjoints);

/// The same if `op` is the last part of a softmax, the quotient of exponentials
/// and their sums along a dimension. False for other ops.
bool addSoftmaxAdjoint(linalg::LinalgOp op, OpBuilder &builder,
                       Adjoints &adjoints);

/// A tensor of zeros of the type and sizes of `like`.
Value createZeros(OpBuilder &builder, Location loc, Value like);

} // namespace mlir::dist

#endif // DIST_PASSES_DIFFERENTIATE_MODELS_H
