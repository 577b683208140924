//===- Compare.h - Comparison of two results --------------------*- C++ -*-===//
//
// Compares every rank's part of a result with the expected whole, element by
// element: docs/verify.md.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_VERIFY_COMPARE_H
#define DIST_VERIFY_COMPARE_H

#include "dist/Manifest.h"
#include "dist/Tensor.h"
#include "verify/Allowance.h"

namespace dist {

/// Floats may differ by absolute + relative * |expected|, integers not at all.
/// Or both by the `spread` of each element.
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

/// At most this share of a result may be left uncompared because rounding
/// decides it. So a mistake in one rank's part shows in that part.
inline constexpr double kUndeterminedShare = 0.5;

struct Difference {
  bool equal = true;
  /// Whether rounding decides more than that share, and some of it differs.
  /// Then the result is not equal, though none of its elements may be wrong.
  bool undecided = false;
  /// Number of compared elements, counted on each rank that holds them, without
  /// those that rounding decides; and number of those beyond the allowance.
  int64_t compared = 0, wrong = 0;
  /// Number of elements of the whole that rounding alone decides, and of all
  /// elements; and how often one of the former differs on a rank.
  int64_t undetermined = 0, elements = 0, doubtful = 0;
  /// The largest absolute value, or allowance, of an element that rounding
  /// decides; and whether these are zero up to rounding.
  double largestUndetermined = 0;
  bool isZeroButForRounding = false;
  double maxAbsolute = 0;
  /// The largest |actual - expected| / max(|expected|, allowance): at most 1 if
  /// the results agree, also if terms cancel.
  double maxRelative = 0;
  /// The largest |actual - expected| / allowance.
  double maxUsed = 0;
  /// The element with the largest share of its allowance; no index if all are
  /// equal.
  Shape worst;
  bool hasWorst = false;
  int64_t rank = 0; // that holds it
  double actual = 0, expected = 0, allowed = 0;
  Nonfinite actualNonfinite, expectedNonfinite;
};

/// Decides elements that rounding has left undecided by `wide`, the same
/// comparison with all work in f64. If rounding decides an element in f64, too,
/// and it is smaller there in proportion to f64's precision, then it is zero up
/// to rounding.
void acceptRoundedZeros(const Difference &own, Difference &wide,
                        const Tolerance &tolerance);

/// Compares results, of each the part of each rank, with the whole that they
/// are, or are blocks of. Throws Error if the shape or element type is not the
/// expected one, or no rank holds some element.
Difference compare(const Mesh &mesh, const std::vector<TensorDesc> &results,
                   const std::vector<Tensor> &parts, const Tensor &expected,
                   const Tolerance &tolerance);

/// A sentence without its subject: "equal to AGAINST (…)" or "differs from
/// AGAINST at …".
std::string describe(const Difference &difference, const std::string &against);

} // namespace dist

#endif // DIST_VERIFY_COMPARE_H
