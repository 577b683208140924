//===- Constants.h - Buffers that never change ------------------*- C++ -*-===//

#ifndef DIST_LOWERING_KERNELS_CONSTANTS_H
#define DIST_LOWERING_KERNELS_CONSTANTS_H

#include "mlir/IR/Operation.h"

namespace mlir::dist {

/// Whether `buffer` holds the same data in all calls of the program, at one
/// address: a parameter or a constant, or a view of it that does not move.
bool isConstantBuffer(Value buffer);

/// Whether no op but `op` reads the memory of the argument that `buffer`, an
/// operand of `op`, is a view of.
bool isOnlyReader(Operation *op, Value buffer);

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_CONSTANTS_H
