//===- EntryAttrs.h - What arguments and results stand for ------*- C++ -*-===//
//
// Attributes of the entry function's arguments and results that say of the
// model's tensors what MLIR's types do not.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_IR_ENTRYATTRS_H
#define DIST_DIALECTS_DIST_IR_ENTRYATTRS_H

#include "llvm/ADT/StringRef.h"

namespace mlir::dist {

/// A unit: the integers, which have no sign in the program, are unsigned in
/// files and for the user.
inline constexpr llvm::StringLiteral kUnsignedAttr = "dist.unsigned";

/// On an argument: an array of strings, the name of each dimension; empty where
/// it has none. Dimensions of one name are of one size.
inline constexpr llvm::StringLiteral kDimensionsAttr = "dist.dimensions";

/// On an argument with `dist.parameter`, a unit: what an optimizer keeps of a
/// parameter. It lies as that does, and no part of the model reads it.
inline constexpr llvm::StringLiteral kStateAttr = "dist.state";

/// On an argument with `dist.parameter`, a unit: a buffer of the model, which
/// is stored and placed as a parameter, and not trained.
inline constexpr llvm::StringLiteral kBufferAttr = "dist.buffer";

/// On an argument with `dist.parameter`, a unit: another value takes its place
/// from one call to the next, so that nothing made of it may be kept.
inline constexpr llvm::StringLiteral kUpdatedAttr = "dist.updated";

/// On an argument with `dist.input`, a number: its integers are classes, at
/// least 0 and less than it, or kIgnoredLabel, which does not
/// count, as in PyTorch.
inline constexpr llvm::StringLiteral kClassesAttr = "dist.classes";
inline constexpr int64_t kIgnoredLabel = -100;

/// On an argument with `dist.input`, two numbers: its integers are at least the
/// first and at most the second; of others a call fails.
inline constexpr llvm::StringLiteral kRangeAttr = "dist.range";

/// On an argument with `dist.input`, a string: random numbers are keyed by it.
/// Its value is kRandomSeed or kRandomStep, an i64; the latter is how many
/// steps were before.
inline constexpr llvm::StringLiteral kRandomAttr = "dist.random";
inline constexpr llvm::StringLiteral kRandomSeed = "seed";
inline constexpr llvm::StringLiteral kRandomStep = "step";

/// On a result, an integer: the number of the argument that it is the new value
/// of. It is placed as that is.
inline constexpr llvm::StringLiteral kUpdatesAttr = "dist.updates";

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_ENTRYATTRS_H
