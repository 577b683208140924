//===- EntryAttrs.h - Meaning of arguments and results ----------*- C++ -*-===//
//
// Attributes of the entry function's arguments and results. They describe the
// model's tensors where MLIR's types do not.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_IR_ENTRYATTRS_H
#define DIST_DIALECTS_DIST_IR_ENTRYATTRS_H

#include "llvm/ADT/StringRef.h"

namespace mlir::dist {

/// A unit: the integers, which have no sign in the program, are unsigned in
/// files and for the user.
inline constexpr llvm::StringLiteral kUnsignedAttr = "dist.unsigned";

/// On an argument: an array of strings, the name of each dimension, or an empty
/// string. Dimensions of one name have one size.
inline constexpr llvm::StringLiteral kDimensionsAttr = "dist.dimensions";

/// On an argument with `dist.parameter`, a unit: a state that an optimizer
/// keeps for a parameter. It is placed like the parameter, and no part of the
/// model reads it.
inline constexpr llvm::StringLiteral kStateAttr = "dist.state";

/// On an argument with `dist.parameter`, a unit: a buffer of the model, which
/// is stored and placed as a parameter, and not trained.
inline constexpr llvm::StringLiteral kBufferAttr = "dist.buffer";

/// On an argument with `dist.parameter`, an array of strings: other names that
/// the model has for it, as tied parameters have.
inline constexpr llvm::StringLiteral kTiedAttr = "dist.tied";

/// On an argument with `dist.parameter`, a string: why it is perhaps not what
/// the model has under this name. It is trained only if that is asked for.
inline constexpr llvm::StringLiteral kUnsureAttr = "dist.unsure";

/// On an argument with `dist.parameter`, a unit: its value may change from one
/// call to the next, so nothing computed from it may be kept.
inline constexpr llvm::StringLiteral kUpdatedAttr = "dist.updated";

/// On an argument with `dist.input`, a number: its integers are classes. A
/// class is at least 0 and less than that number, or it is kIgnoredLabel, which
/// does not count, as in PyTorch.
inline constexpr llvm::StringLiteral kClassesAttr = "dist.classes";
inline constexpr int64_t kIgnoredLabel = -100;

/// On an argument with `dist.input`, two numbers: its integers are at least the
/// first and at most the second. Otherwise a call fails.
inline constexpr llvm::StringLiteral kRangeAttr = "dist.range";

/// On an argument with `dist.input`, a string: random numbers are keyed by it.
/// The string is kRandomSeed or kRandomStep, an i64. The step is the number of
/// steps before this one.
inline constexpr llvm::StringLiteral kRandomAttr = "dist.random";
inline constexpr llvm::StringLiteral kRandomSeed = "seed";
inline constexpr llvm::StringLiteral kRandomStep = "step";

/// On a result, an integer: the number of the argument that this is the new
/// value of. It is placed like that argument.
inline constexpr llvm::StringLiteral kUpdatesAttr = "dist.updates";

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_ENTRYATTRS_H
