//===- Clamp.cpp - Bounds of what oneDNN computes -------------------------===//

#include "runtime/cpu/Clamp.h"
#include "runtime/cpu/Dnnl.h"

#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>

using namespace dist;
using dnnl::memory;

Clamp::Clamp(float low, float high) : low(low), high(high) {
  bool isNegativeZero = low == 0 && std::signbit(low);
  if (!(low <= high) || isNegativeZero || high == 0)
    throw Error("no bounds of a convolution: " + std::to_string(low) + " and " +
                std::to_string(high));
}

/// Over the dimensions from `dim` on, of which the last has the smallest
/// stride.
static void applyFrom(const Clamp &clamp, size_t dim, float *data,
                      const memory::dims &extents,
                      const memory::dims &strides) {
  int64_t extent = extents[dim], stride = strides[dim];
  if (dim + 1 < extents.size()) {
    for (int64_t i = 0; i < extent; ++i)
      applyFrom(clamp, dim + 1, data + i * stride, extents, strides);
  } else if (stride == 1) {
    for (int64_t i = 0; i < extent; ++i)
      data[i] = clamp.apply(data[i]);
  } else {
    for (int64_t i = 0; i < extent; ++i)
      data[i * stride] = clamp.apply(data[i * stride]);
  }
}

void Clamp::apply(float *data, const memory::dims &extents,
                  const memory::dims &strides) const {
  std::vector<std::pair<int64_t, int64_t>> dims; // stride, extent
  for (size_t i = 0; i < extents.size(); ++i)
    if (extents[i] > 1)
      dims.push_back({strides[i], extents[i]});
  std::sort(dims.rbegin(), dims.rend());
  // Dimensions that follow each other in memory are one.
  memory::dims ownExtents, ownStrides;
  for (auto [stride, extent] : dims) {
    if (!ownStrides.empty() && ownStrides.back() == stride * extent) {
      ownStrides.back() = stride;
      ownExtents.back() *= extent;
      continue;
    }
    ownStrides.push_back(stride);
    ownExtents.push_back(extent);
  }
  if (ownExtents.empty()) {
    ownExtents.push_back(1);
    ownStrides.push_back(1);
  }
  applyFrom(*this, 0, data, ownExtents, ownStrides);
}

void Clamp::appendTo(dnnl::post_ops &ops) const {
  if (low == 0 && high == std::numeric_limits<float>::infinity())
    ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
  else
    ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_clip, low, high);
}

/// Elements of memory in any order, of which the first half are `first`.
static memory filled(const memory::desc &desc, float first, float second) {
  memory result(desc, cpuEngine());
  auto *data = static_cast<float *>(result.get_data_handle());
  size_t count = desc.get_size() / sizeof(float);
  std::fill(data, data + count / 2, first);
  std::fill(data + count / 2, data + count, second);
  return result;
}

bool Clamp::isNoticedBy(
    const dnnl::convolution_forward::primitive_desc &description,
    dnnl::stream &stream) const {
  float nan = std::numeric_limits<float>::quiet_NaN();
  memory out = filled(description.dst_desc(), 0, 0);
  std::unordered_map<int, memory> arguments{
      {DNNL_ARG_WEIGHTS, filled(description.weights_desc(), -1, -1)},
      {DNNL_ARG_DST, out}};
  if (description.bias_desc().get_size() > 0)
    arguments.insert({DNNL_ARG_BIAS, filled(description.bias_desc(), 0, 0)});
  dnnl::convolution_forward primitive(description);
  arguments[DNNL_ARG_SRC] = filled(description.src_desc(), nan, nan);
  clearInvalid();
  primitive.execute(stream, arguments);
  if (!sawInvalid())
    return false;
  arguments[DNNL_ARG_SRC] = filled(description.src_desc(), -1, 1);
  clearInvalid();
  primitive.execute(stream, arguments);
  if (sawInvalid())
    return false;
  auto *data = static_cast<const float *>(out.get_data_handle());
  for (size_t i = 0; i < out.get_desc().get_size() / sizeof(float); ++i) {
    float bounded = apply(data[i]);
    if (std::memcmp(&bounded, &data[i], sizeof bounded) != 0)
      return false;
  }
  return true;
}

void dist::clearInvalid() { std::feclearexcept(FE_INVALID); }
bool dist::sawInvalid() { return std::fetestexcept(FE_INVALID) != 0; }
