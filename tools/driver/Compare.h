//===- Compare.h - Whether two results agree --------------------*- C++ -*-===//
//
// Element by element, with a relative and an absolute tolerance.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TOOLS_DRIVER_COMPARE_H
#define DIST_TOOLS_DRIVER_COMPARE_H

#include "dist/Manifest.h"
#include "dist/Tensor.h"

namespace dist {

/// |actual - expected| <= absolute + relative * |expected|. NaN equals NaN, an
/// infinity itself.
struct Tolerance {
  double relative = 0, absolute = 0;
};

struct Difference {
  bool equal = true;
  double maxAbsolute = 0, maxRelative = 0;
  int64_t wrong = 0; // elements beyond the tolerance
  /// The element furthest beyond the tolerance, and its two values.
  std::vector<int64_t> worst;
  double actual = 0, expected = 0;
};

/// Throws Error if the shapes differ. Integers must be equal.
Difference compare(const Tensor &actual, const Tensor &expected,
                   Tolerance tolerance);

/// The rank whose part of the result the element comes from.
int64_t holderOf(const Manifest &manifest, const TensorDesc &desc,
                 const std::vector<int64_t> &index);

} // namespace dist

#endif // DIST_TOOLS_DRIVER_COMPARE_H
