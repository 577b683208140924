//===- Staging.cpp - Copies of what oneDNN cannot describe ----------------===//

#include "runtime/cpu/Staging.h"

#include <algorithm>

using namespace dist;
using Dims = dnnl::memory::dims;

/// Whether oneDNN can describe the strides: a dimension begins where the next
/// smaller one ends, or later. In every second column of an odd number it does
/// not.
static bool isDescribable(const Dims &extents, const Dims &strides) {
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (size_t i = 0; i < extents.size(); ++i)
    if (extents[i] > 1)
      dims.push_back({strides[i], extents[i]});
  std::sort(dims.begin(), dims.end());
  for (size_t i = 1; i < dims.size(); ++i)
    if (dims[i].first < dims[i - 1].first * dims[i - 1].second)
      return false;
  return true;
}

static void copyStrided(const Dims &extents, const float *from,
                        const Dims &fromStrides, float *to,
                        const Dims &toStrides, size_t dim = 0) {
  for (int64_t i = 0; i < extents[dim]; ++i) {
    if (dim + 1 == extents.size())
      to[i * toStrides[dim]] = from[i * fromStrides[dim]];
    else
      copyStrided(extents, from + i * fromStrides[dim], fromStrides,
                  to + i * toStrides[dim], toStrides, dim + 1);
  }
}

const char *Staging::take(const char *data) {
  if (dense.empty())
    return data;
  copyStrided(extents, reinterpret_cast<const float *>(data), given,
              dense.data(), own);
  return reinterpret_cast<const char *>(dense.data());
}

void Staging::give(char *data) const {
  if (!dense.empty())
    copyStrided(extents, dense.data(), own, reinterpret_cast<float *>(data),
                given);
}

void Staging::set(const Dims &sizes, Dims &strides) {
  if (isDescribable(sizes, strides))
    return;
  extents = sizes;
  given = own = strides;
  std::vector<size_t> order(sizes.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return given[a] < given[b]; });
  int64_t span = 1;
  for (size_t dim : order) {
    own[dim] = span;
    span *= sizes[dim];
  }
  dense.resize(span);
  strides = own;
}
