//===- Attributes.h - Names of discardable attributes -----------*- C++ -*-===//
//
// kScopeAttr for dist.scope, and so on. What each means, and what may have it:
// Attributes.inc.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_IR_ATTRIBUTES_H
#define DIST_DIALECTS_DIST_IR_ATTRIBUTES_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace mlir::dist {

#include "dialects/dist/IR/AttributeNames.h.inc"

/// Values of `dist.asked_for`.
inline constexpr llvm::StringLiteral kAskedForPlacement = "placement";
inline constexpr llvm::StringLiteral kAskedForCollective = "collective";
inline constexpr llvm::StringLiteral kAskedForReshard = "reshard";

/// Values of `dist.random`.
inline constexpr llvm::StringLiteral kRandomSeed = "seed";
inline constexpr llvm::StringLiteral kRandomStep = "step";

/// The integer of an input with `dist.classes` that is no class.
inline constexpr int64_t kIgnoredLabel = -100;

/// The largest number of a stream.
inline constexpr int32_t kMaxStream = 15;

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_ATTRIBUTES_H
