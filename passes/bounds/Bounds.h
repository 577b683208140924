//===- Bounds.h - How far passes look, and what is beyond -------*- C++ -*-===//
//
// Work per op is bounded, so that passes take time in proportion to programs;
// programs as people write them stay far below. What is beyond a bound is
// handled as each line says, and never wrongly.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_BOUNDS_BOUNDS_H
#define DIST_PASSES_BOUNDS_BOUNDS_H

#include <cstddef>
#include <cstdint>

namespace mlir::dist {

//===----------------------------------------------------------------------===//
// What is refused beyond, with an error
//===----------------------------------------------------------------------===//

/// Ops that a program may gain by having calls inlined.
inline constexpr int64_t kMostInlinedOps = int64_t(1) << 18;
/// Microbatches of a step of training.
inline constexpr int64_t kMostMicrobatches = 1 << 20;
/// Elements of a tensor.
inline constexpr int64_t kMostElements = int64_t(1) << 46;
/// Lists and objects of JSON, schedules that include each other, and braces of
/// a pattern of names, within one another.
inline constexpr int kMostNested = 64;
/// Directives of a schedule with those that it includes.
inline constexpr size_t kMostDirectives = 1 << 20;
/// Numbers of a range in a pattern of names.
inline constexpr uint64_t kMostRangeNumbers = 1 << 16;
/// How often a part of a regular expression is repeated: the product of the
/// counts around it. (RE2 has the same bound.)
inline constexpr uint64_t kMostRepetitions = 1000;
/// Nodes of the automaton of a pattern: about its characters.
inline constexpr size_t kMostAutomatonNodes = 1 << 20;

/// Boxes into which the loops of an op are cut to find the range of an index of
/// a map; one that needs more is refused. Bounds of sums, products and
/// divisions are found with a few dozen.
inline constexpr unsigned kMostBoxes = 1 << 14;

//===----------------------------------------------------------------------===//
// What is recognised
//===----------------------------------------------------------------------===//

/// Ops that are looked through for one element of a tensor; what is beyond is
/// read as it is.
inline constexpr size_t kMostElementOps = 64;
/// Ops in depth by which values are told apart before they are compared.
inline constexpr unsigned kSketchDepth = 3;
/// Ops between a lookup's table and what is gathered for it; a gather further
/// away is not seen.
inline constexpr unsigned kMostOpsToGather = 64;
/// Ops between an attention and the collectives that bring its keys; reports
/// do not count those further away as the attention's.
inline constexpr size_t kMostOpsToKeys = 64;
/// Additions and multiplications that an index is made of; a longer chain is
/// taken to be no line.
inline constexpr unsigned kMostLineSteps = 16;
/// Scalar ops of a loop nest that is taken to move data only; one with more
/// computes.
inline constexpr int64_t kMostMovingOps = 4;
/// Such nests in a row that are looked through for the smallest value.
inline constexpr int kMostMoves = 16;
/// Users of a pad; one with more is not filled by them, but by itself.
inline constexpr unsigned kMostPadUsers = 64;

//===----------------------------------------------------------------------===//
// Halos
//===----------------------------------------------------------------------===//

/// Ops between two exchanges that may be joined (a layer has about ten); those
/// further apart are not joined.
inline constexpr unsigned kMostChainOps = 512;
/// How often rows are merged and taken apart between two exchanges; what is
/// merged more often stays, and parts exchanges.
inline constexpr unsigned kMostMerges = 8;
/// Sizes of groups up to which a report lists each; then it doubles them.
inline constexpr unsigned kAllGroupsUpTo = 64;
/// Ops that an exchange of sums moves past. The best place up to there is
/// taken.
inline constexpr unsigned kMostSunkOps = 16;
/// Ops that the frontier of an exchange moves past; between a layer's input and
/// its keys there are about ten. The best place up to there is taken.
inline constexpr unsigned kMostHoistedOps = 48;

//===----------------------------------------------------------------------===//
// Placement
//===----------------------------------------------------------------------===//

/// Ways to place an op that are tried one by one. How many are legal grows with
/// the number of axes, not of candidates, so that this many occur in no program
/// known. The best of them is taken, with a remark.
inline constexpr unsigned kMostChoices = 1 << 14;
/// Slices of a value; with more they are taken to be of all of it.
inline constexpr unsigned kMostSliceUsers = 64;
/// Users of a value that a move of reshards looks at; others stay as they are.
inline constexpr ptrdiff_t kMostReshardUsers = 512;
/// Slices of a value in a loop that are reshared one by one; with more the
/// value is, before the loop.
inline constexpr size_t kMostLoopSlices = 64;
/// A tree of ops whose reshards are moved together: its ops (what is beyond is
/// a leaf), the ways to place each (further ones are not tried), and the axes
/// that its reshards are about, the reshards of one value and the operands that
/// are placed alike (with more it is left as it is).
inline constexpr unsigned kMostNodes = 64, kMostWays = 64, kMostAxes = 3,
                          kMostReshards = 8, kMostPassed = 3;
/// Sub-dimensions and axes up to which the cheapest way between two placements
/// is searched among all; beyond, only towards the goal: states grow faster
/// than the power of their number.
inline constexpr size_t kFewAtoms = 4;
/// Rows at the ends among which an element chooses; with more they are
/// gathered.
inline constexpr size_t kMostEnds = 32;

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// Ops that are cut on either side of a collective in chunks; the next ones
/// read, or make, what is put together.
inline constexpr unsigned kMostCutOps = 64;
/// How often each value is looked at while orders of dimensions are chosen.
/// Then chains that want different orders in different places keep theirs.
inline constexpr unsigned kMostVisits = 12;

} // namespace mlir::dist

#endif // DIST_PASSES_BOUNDS_BOUNDS_H
