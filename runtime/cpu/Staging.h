//===- Staging.h - Copies of what oneDNN cannot describe --------*- C++ -*-===//

#ifndef DIST_RUNTIME_CPU_STAGING_H
#define DIST_RUNTIME_CPU_STAGING_H

#include <oneapi/dnnl/dnnl.hpp>

#include <vector>

namespace dist {

/// A dense copy of an operand whose strides oneDNN cannot describe.
class Staging {
public:
  using Dims = dnnl::memory::dims;

  /// Replaces such strides by those of a copy, in the same order.
  void set(const Dims &sizes, Dims &strides);
  bool isUsed() const { return !dense.empty(); }
  /// The copy of the data at `data`; without a copy, `data`.
  const char *take(const char *data);
  /// Copies back.
  void give(char *data) const;

private:
  Dims extents, given, own;
  std::vector<float> dense;
};

} // namespace dist

#endif // DIST_RUNTIME_CPU_STAGING_H
