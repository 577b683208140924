//===- Compare.cpp - Whether two results agree ----------------------------===//

#include "tools/driver/Compare.h"
#include "dist/Slices.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace dist;

/// The values as f64: exact for all types but 64-bit integers, which are
/// compared as such.
static std::vector<double> toDoubles(const Tensor &tensor) {
  std::vector<double> values(tensor.count());
  switch (tensor.dtype) {
  case DIST_F64:
  case DIST_F32:
  case DIST_F16:
  case DIST_BF16:
    convert(tensor.dtype, tensor.data, DIST_F64, values.data(), tensor.count());
    return values;
  default:
    break;
  }
  int64_t width = dtypeBytes(tensor.dtype);
  bool isSigned = tensor.dtype != DIST_U8 && tensor.dtype != DIST_I1;
  const char *data = static_cast<const char *>(tensor.data);
  for (int64_t i = 0; i < tensor.count(); ++i) {
    int64_t value = 0;
    std::memcpy(&value, data + i * width, width);
    if (isSigned && width < 8) {
      int shift = 64 - 8 * width;
      value =
          static_cast<int64_t>(static_cast<uint64_t>(value) << shift) >> shift;
    }
    values[i] = static_cast<double>(value);
  }
  return values;
}

Difference dist::compare(const Tensor &actual, const Tensor &expected,
                         Tolerance tolerance) {
  if (actual.shape != expected.shape)
    throw Error("has shape " + toString(actual.shape) + ", expected " +
                toString(expected.shape));
  Difference result;
  int64_t worst = -1;
  double worstExcess = -1;
  auto note = [&](int64_t i, double a, double b, double excess) {
    result.equal = false;
    ++result.wrong;
    if (excess > worstExcess) {
      worstExcess = excess;
      worst = i;
      result.actual = a;
      result.expected = b;
    }
  };
  bool floats = isFloat(actual.dtype) || isFloat(expected.dtype);
  std::vector<double> a = toDoubles(actual), b = toDoubles(expected);
  bool sameBytes = !floats && actual.dtype == expected.dtype;
  int64_t width = dtypeBytes(actual.dtype);
  const double infinity = std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < actual.count(); ++i) {
    if (sameBytes) {
      const char *x = static_cast<const char *>(actual.data) + i * width;
      const char *y = static_cast<const char *>(expected.data) + i * width;
      if (std::memcmp(x, y, width) == 0)
        continue;
    } else if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) {
      continue;
    }
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
      result.maxAbsolute = result.maxRelative = infinity;
      note(i, a[i], b[i], infinity);
      continue;
    }
    double error = std::abs(a[i] - b[i]);
    result.maxAbsolute = std::max(result.maxAbsolute, error);
    if (b[i] != 0)
      result.maxRelative = std::max(result.maxRelative, error / std::abs(b[i]));
    double allowed =
        floats ? tolerance.absolute + tolerance.relative * std::abs(b[i]) : 0;
    if (error > allowed || sameBytes)
      note(i, a[i], b[i], error - allowed);
  }
  if (worst >= 0) {
    result.worst.resize(actual.shape.size());
    for (size_t dim = actual.shape.size(); dim-- > 0;) {
      result.worst[dim] = worst % actual.shape[dim];
      worst /= actual.shape[dim];
    }
  }
  return result;
}

int64_t dist::holderOf(const Manifest &manifest, const TensorDesc &desc,
                       const std::vector<int64_t> &index) {
  for (int64_t rank = 0; rank < manifest.mesh.size(); ++rank) {
    if (!isWriter(manifest.mesh, desc, rank))
      continue;
    bool holds = true;
    for (size_t dim = 0; dim < index.size() && holds; ++dim) {
      int64_t rest = index[dim];
      // Minor to major over the sub-dimensions.
      for (size_t sub = desc.dims[dim].size(); sub-- > 0 && holds;) {
        const SubDim &subDim = desc.dims[dim][sub];
        int64_t position = rest % subDim.size;
        rest /= subDim.size;
        std::vector<int64_t> sizes;
        for (const AxisRef &axis : subDim.axes)
          sizes.push_back(axis.size);
        Block block = blockAt(sizes, subDim.size,
                              placeOf(manifest.mesh, subDim.axes, rank));
        holds = position >= block.start && position < block.start + block.valid;
      }
    }
    if (holds)
      return rank;
  }
  return 0;
}
