//===- Arguments.h - What test modules are called with ----------*- C++ -*-===//

#ifndef DIST_TEST_GENERATOR_ARGUMENTS_H
#define DIST_TEST_GENERATOR_ARGUMENTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "test/generator/Tensor.h"

namespace mlir::dist::test {

/// Attributes of arguments that say what they may hold: indices below a number,
/// each index below it once, or no zeros.
inline constexpr llvm::StringLiteral kBelowAttr = "test.below";
inline constexpr llvm::StringLiteral kPermutationAttr = "test.permutation";
inline constexpr llvm::StringLiteral kNonZeroAttr = "test.nonzero";

/// Random arguments for a function.
std::vector<Tensor> makeArguments(func::FuncOp entry, uint64_t seed);

} // namespace mlir::dist::test

#endif // DIST_TEST_GENERATOR_ARGUMENTS_H
