//===- Random.h - Random bits by their place --------------------*- C++ -*-===//
//
// Random numbers that hang on nothing but what they are keyed by: whoever
// computes an element, on however many devices, and however often, gets the
// same one.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_EMITTING_RANDOM_H
#define DIST_FRONTENDS_ONNX_EMITTING_RANDOM_H

#include "Scalar.h"

#include <array>

namespace mlir::dist::frontend {

/// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, SC 2011). All numbers are i64
/// that are less than 2^32.
std::array<Value, 4> emitPhilox(Scalar &scalar, std::array<Value, 4> counter,
                                std::array<Value, 2> key);

/// 32 random bits, an i64: keyed by the seed, the step, which of the program's
/// operators draws them, and the number of the element, i64 all of them.
Value emitRandomBits(Scalar &scalar, Value seed, Value step, int64_t op,
                     Value element);

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_EMITTING_RANDOM_H
