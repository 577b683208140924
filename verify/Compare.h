//===- Compare.h - Whether two results agree --------------------*- C++ -*-===//
//
// What every rank holds of a result against the whole that is expected, element
// by element: docs/verify.md.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_VERIFY_COMPARE_H
#define DIST_VERIFY_COMPARE_H

#include "dist/Manifest.h"
#include "dist/Tensor.h"
#include "verify/Allowance.h"

namespace dist {

/// Floats may differ by absolute + relative * |expected|, integers not at all;
/// or both by what `spread` says of each element.
struct Tolerance {
  double relative = 0, absolute = 0;
  const Spread *spread = nullptr;
  /// Whether NaN equals NaN and an infinity itself, or neither equals anything.
  bool allowNonfinite = false;
};

/// NaN and infinities on one side.
struct Nonfinite {
  int64_t nans = 0, infinities = 0;
  Shape first; // index
  int64_t any() const { return nans + infinities; }
};

/// Of a result's elements the share that rounding may decide: more are compared
/// than left out, so that a mistake in one rank's part shows in that part.
inline constexpr double kUndeterminedShare = 0.5;

struct Difference {
  bool equal = true;
  /// Whether rounding decides more than that share, and some of it differs;
  /// then the result is not equal, though none of its elements may be wrong.
  bool undecided = false;
  /// Elements compared, each as often as ranks hold it, without those that
  /// rounding decides; and all beyond what is allowed.
  int64_t compared = 0, wrong = 0;
  /// Elements of the whole that rounding alone decides, of how many; and how
  /// often one of them differs on a rank.
  int64_t undetermined = 0, elements = 0, doubtful = 0;
  /// The largest number that an element which rounding decides is, or may
  /// differ by; and whether these are zero but for rounding.
  double largestUndetermined = 0;
  bool isZeroButForRounding = false;
  double maxAbsolute = 0;
  /// Of |actual - expected| / max(|expected|, what is allowed): at most 1 where
  /// the results agree, also where terms cancel.
  double maxRelative = 0;
  /// Of |actual - expected| / what is allowed.
  double maxUsed = 0;
  /// The element that uses most of what is allowed; without index if all are
  /// the same.
  Shape worst;
  bool hasWorst = false;
  int64_t rank = 0; // that holds it
  double actual = 0, expected = 0, allowed = 0;
  Nonfinite actualNonfinite, expectedNonfinite;
};

/// Decides what rounding has left undecided in `wide`, a comparison of the same
/// with all work in f64: what rounding decides in f64, too, and is smaller
/// there by as much as f64 is finer, is zero but for rounding.
void settleZeros(const Difference &own, Difference &wide,
                 const Tolerance &tolerance);

/// Compares `parts`, of each rank its own, with the whole. Throws Error if
/// shape or element type are not those expected, or no rank holds some element.
Difference compare(const Mesh &mesh, const TensorDesc &desc,
                   const std::vector<Tensor> &parts, const Tensor &expected,
                   const Tolerance &tolerance);

/// A sentence without its subject: "equal to AGAINST (…)" or "differs from
/// AGAINST at …".
std::string describe(const Difference &difference, const std::string &against);

} // namespace dist

#endif // DIST_VERIFY_COMPARE_H
