//===- Bounds.h - How far lowering looks, and what is beyond ----*- C++ -*-===//
//
// Work per op is bounded, so that compilation takes time in proportion to
// programs. What is beyond a bound is handled as each line says, and never
// wrongly. Sizes that code is fast with stand where it is made.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_BOUNDS_BOUNDS_H
#define DIST_LOWERING_BOUNDS_BOUNDS_H

#include <cstddef>
#include <cstdint>

namespace mlir::dist {

/// Bytes of a tensor. No processor can address more: beyond is an error.
inline constexpr int64_t kMostTensorBytes = int64_t(1) << 47;
/// Bytes of a constant of equal elements; a larger one takes no memory of the
/// program, but is filled in when it is needed.
inline constexpr int64_t kMostSplatBytes = 64 << 10;

/// Origins of a buffer that are kept one by one, so that long chains of
/// branches stay linear. Beyond, only its component is known, which can cost a
/// fused kernel and nothing else.
inline constexpr size_t kMostOrigins = 16;
/// Live parts of one tensor that an op is compared with. With more of them it
/// gets a buffer of its own, which is then copied into its part.
inline constexpr size_t kMostDisjoint = 16;
/// Buffers that are placed by size as well as by time, in quadratic time; with
/// more, by time alone.
inline constexpr size_t kMostQuadratic = 4000;

/// Steps back from a scalar by which its range is found; what is further away
/// may be any number.
inline constexpr unsigned kMostRangeSteps = 32;
/// Places of a tensor that are tried one by one to find out whether all are
/// written; with more they are taken not to be.
inline constexpr int64_t kMostPlaces = 1 << 20;

/// Fills of zeros that are remembered at a time; one that is forgotten stays a
/// fill.
inline constexpr size_t kMostRemembered = 64;
/// Fills that wait for a kernel at a time. Each op is compared with them; those
/// beyond are computed where they stand.
inline constexpr size_t kMostWaiting = 64;
/// Regions into which a padded image is divided; with more it is padded.
inline constexpr size_t kMostRegions = 32;
/// Queries of all coordinates together whose tiles are told apart; with more,
/// all tiles have the same keys.
inline constexpr int64_t kMostQueries = 1 << 20;
/// How often the keys of a tile of queries are divided; further ones are
/// computed together.
inline constexpr int64_t kMostSplits = 256;

/// LLVM takes more than linear time for long functions. Calls of a block that
/// become a function of their own.
inline constexpr unsigned kCallsApart = 256;
/// Blocks of a function beyond which its loops become functions.
inline constexpr unsigned kBlocksTogether = 128;

} // namespace mlir::dist

#endif // DIST_LOWERING_BOUNDS_BOUNDS_H
