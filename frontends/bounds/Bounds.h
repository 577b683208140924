//===- Bounds.h - How large parts of models may be --------------*- C++ -*-===//

#ifndef DIST_FRONTENDS_BOUNDS_BOUNDS_H
#define DIST_FRONTENDS_BOUNDS_BOUNDS_H

#include <cstddef>
#include <cstdint>

namespace mlir::dist::frontend {

//===----------------------------------------------------------------------===//
// What is refused beyond, with an error
//===----------------------------------------------------------------------===//

/// Bytes of a name. Names go into every op and message that they are about, so
/// that a long one would be written as often as there are nodes.
inline constexpr size_t kMostNameBytes = 4096;
/// Sizes of models have a few terms of a few factors. The terms of a product
/// are as many as those of its factors multiplied.
inline constexpr size_t kMostSizeTerms = 1024;
inline constexpr size_t kMostSizeFactors = 64;
/// Divisions, minima and maxima of sizes within one another.
inline constexpr unsigned kMostSizeDepth = 64;
/// Steps of recurrent nodes. More would make a program that nobody can read or
/// compile.
inline constexpr int64_t kMostSteps = 1024;
/// Convolutions that a transposed one becomes.
inline constexpr int64_t kMostConvolutions = 512;
/// Windows of an average pool, some over padding, whose elements a table
/// counts: it goes into the program or its weights.
inline constexpr int64_t kMostCounts = int64_t(1) << 24;

//===----------------------------------------------------------------------===//
// What is done otherwise beyond
//===----------------------------------------------------------------------===//

/// Elements up to which a tensor that is no parameter stays a constant in the
/// program; PyTorch's own constant folding stops there, too. Larger ones become
/// parameters.
inline constexpr int64_t kConstantElements = 8192;
/// The same of integers, which are mostly positions and masks, and worth
/// computing with.
inline constexpr int64_t kConstantIntegers = 65536;
/// Indices of a gather or scatter that are known and looked at for whether they
/// name a part at regular distances. Others are looked up one by one, and a
/// scatter then is a loop over elements and updates.
inline constexpr int64_t kMostIndices = int64_t(1) << 24;
/// Bytes of a constant; a larger one goes into the weights file.
inline constexpr size_t kConstantBytes = 1 << 17;
/// Characters of a size in a message; the rest is left out: a size may be made
/// of one that is made of another one, and so on.
inline constexpr size_t kMostSizeText = 512;
/// Elements along a dimension that are scanned as pairs; more are, in blocks.
inline constexpr int64_t kScanBlock = 16;
/// Elements that one of a resized image is made of by a product with a band. Of
/// a wider one most is zeros, which gradients multiply by: there elements are
/// taken one by one.
inline constexpr int64_t kMostReach = 64;
/// Elements of a period of a resized dimension that is tried in place of the
/// exact one.
inline constexpr int64_t kLongestPeriod = 256;

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_BOUNDS_BOUNDS_H
