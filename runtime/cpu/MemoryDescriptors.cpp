//===- MemoryDescriptors.cpp - Strided operands for oneDNN ----------------===//

#include "runtime/cpu/MemoryDescriptors.h"

#include <algorithm>

using namespace dist;
using dnnl::memory;

static constexpr auto f32 = memory::data_type::f32;

memory::desc dist::describeApart(const memory::dims &extents,
                                 memory::dims strides) {
  int64_t span = 1;
  for (size_t i = 0; i < extents.size(); ++i)
    if (extents[i] > 1)
      span = std::max(span, extents[i] * strides[i]);
  for (size_t i = 0; i < extents.size(); ++i)
    if (extents[i] == 1)
      strides[i] = span;
  return {extents, f32, strides};
}

memory::desc dist::describe(const memory::dims &extents,
                            const memory::dims &strides) {
  size_t rank = extents.size();
  memory::dims innermost(rank), outermost(rank);
  int64_t span = 1;
  innermost[1] = span;
  span *= extents[1];
  for (size_t i = rank; i-- > 2; span *= extents[i])
    innermost[i] = span;
  innermost[0] = span;
  span = 1;
  for (size_t i = rank; i-- > 0; span *= extents[i])
    outermost[i] = span;
  for (const memory::dims &dense : {innermost, outermost}) {
    bool same = true;
    for (size_t i = 0; i < rank; ++i)
      same &= extents[i] == 1 || dense[i] == strides[i];
    if (same)
      return {extents, f32, dense};
  }
  return describeApart(extents, strides);
}
