//===- Slices.cpp - Whole tensors and their local parts -------------------===//

#include "dist/Slices.h"
#include "runtime/host/MappedFile.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

using namespace dist;

namespace {

/// Consecutive elements of a dimension that a rank holds.
struct Run {
  int64_t local, global, length;
};

/// The part of a tensor that a rank holds, dimension by dimension.
struct Part {
  std::vector<std::vector<Run>> runs;
  std::vector<int64_t> localStrides, globalStrides; // in elements
  bool padded = false;
  /// Dimensions from here on are held whole.
  size_t wholeFrom;
};

} // namespace

static std::vector<Run> runsOf(const Mesh &mesh, const std::vector<SubDim> &dim,
                               int64_t rank) {
  std::vector<Run> runs{{0, 0, 1}};
  for (const SubDim &sub : dim) {
    std::vector<int64_t> sizes;
    for (const AxisRef &ref : sub.axes)
      sizes.push_back(ref.size);
    int64_t rows = blockRows(sizes, sub.size);
    Block block = blockAt(sizes, sub.size, placeOf(mesh, sub.axes, rank));
    // Every element of the outer sub-dimensions becomes a run of this one.
    std::vector<Run> inner;
    for (const Run &outer : runs)
      for (int64_t i = 0; i < outer.length; ++i) {
        Run run{(outer.local + i) * rows,
                (outer.global + i) * sub.size + block.start, block.valid};
        if (run.length == 0)
          continue;
        if (!inner.empty() &&
            inner.back().local + inner.back().length == run.local &&
            inner.back().global + inner.back().length == run.global)
          inner.back().length += run.length;
        else
          inner.push_back(run);
      }
    runs = std::move(inner);
  }
  return runs;
}

static Part partOf(const Mesh &mesh, const TensorDesc &desc, int64_t rank) {
  Part part;
  size_t dims = desc.dims.size();
  part.localStrides.resize(dims);
  part.globalStrides.resize(dims);
  int64_t local = 1, global = 1;
  for (size_t d = dims; d-- > 0;) {
    part.localStrides[d] = local;
    part.globalStrides[d] = global;
    local *= desc.rankShape()[d];
    global *= desc.sourceShape()[d];
  }
  for (size_t d = 0; d < dims; ++d) {
    part.runs.push_back(runsOf(mesh, desc.dims[d], rank));
    int64_t valid = 0;
    for (Run &run : part.runs[d]) {
      valid += run.length;
      run.global += desc.partAt.empty() ? 0 : desc.partAt[d];
      run.local += desc.joinedAt.empty() ? 0 : desc.joinedAt[d];
    }
    part.padded |= valid != desc.localShape[d];
  }
  part.wholeFrom = dims;
  while (part.wholeFrom > 0) {
    const std::vector<Run> &runs = part.runs[part.wholeFrom - 1];
    if (runs.size() != 1 ||
        runs[0].length != desc.rankShape()[part.wholeFrom - 1] ||
        runs[0].length != desc.sourceShape()[part.wholeFrom - 1])
      break;
    --part.wholeFrom;
  }
  return part;
}

/// Calls copy(local offset, global offset, elements) for every piece in the
/// window that is contiguous in both.
template <class Copy>
static void forEachPiece(const Part &part, Window window, size_t d,
                         int64_t local, int64_t global, Copy copy) {
  if (d == part.runs.size()) {
    if (window.begin <= global && global < window.end)
      copy(local, global, 1);
    return;
  }
  for (const Run &run : part.runs[d]) {
    int64_t localAt = local + run.local * part.localStrides[d];
    int64_t globalAt = global + run.global * part.globalStrides[d];
    // Where the window begins and ends, counted from this run.
    int64_t begin = std::max<int64_t>(window.begin - globalAt, 0),
            end = window.end - globalAt;
    if (d + 1 >= part.wholeFrom) {
      end = std::min(end, run.length * part.localStrides[d]);
      if (begin < end)
        copy(localAt + begin, globalAt + begin, end - begin);
      continue;
    }
    int64_t stride = part.globalStrides[d];
    for (int64_t i = begin / stride; i < run.length && i * stride < end; ++i)
      forEachPiece(part, window, d + 1, localAt + i * part.localStrides[d],
                   globalAt + i * stride, copy);
  }
}

static bool isEmpty(const TensorDesc &desc) {
  return numElements(desc.localShape) == 0 ||
         numElements(desc.globalShape) == 0;
}

const char *dist::contiguousSlice(const Mesh &mesh, const TensorDesc &desc,
                                  int64_t rank, const Tensor &whole) {
  if (isEmpty(desc) || !desc.joinedShape.empty())
    return nullptr;
  Part part = partOf(mesh, desc, rank);
  if (part.padded)
    return nullptr;
  int64_t offset = 0;
  for (size_t d = 0; d < part.runs.size(); ++d) {
    // Before the last dimension that is cut, one index; at it, one run.
    if (part.runs[d].size() != 1 ||
        (d + 1 < part.wholeFrom && part.runs[d][0].length != 1))
      return nullptr;
    offset += part.runs[d][0].global * part.globalStrides[d];
  }
  return static_cast<const char *>(whole.data) +
         offset * dtypeBytes(whole.dtype);
}

static void fill(const TensorDesc &desc, Padding padding, char *out) {
  int64_t all = desc.rankBytes(), bytes = dtypeBytes(desc.dtype);
  if (padding == Padding::Zero)
    std::memset(out, 0, all);
  else if (isFloat(desc.dtype))
    std::memset(out, 0xff, all);
  else if (desc.dtype == DIST_I1)
    std::memset(out, 1, all);
  else
    for (int64_t at = 0; at < all; at += bytes)
      std::memset(out + at, at / bytes % 2 == 0 ? 0x7f : 0x80, bytes);
}

void dist::readSlice(const Mesh &mesh, const TensorDesc &desc, int64_t rank,
                     const Tensor &whole, void *local, Padding padding) {
  int64_t inBytes = dtypeBytes(whole.dtype), outBytes = dtypeBytes(desc.dtype);
  const char *in = static_cast<const char *>(whole.data);
  char *out = static_cast<char *>(local);
  Part part = partOf(mesh, desc, rank);
  // The first of several fills what is padding in any of them.
  if (desc.joinedShape.empty() ? part.padded : !desc.continuesJoined())
    fill(desc, padding, out);
  if (isEmpty(desc))
    return;
  PagesReadOnce pages(whole);
  const int64_t most = PagesReadOnce::kStep / inBytes;
  forEachPiece(part, {}, 0, 0, 0, [&](int64_t to, int64_t from, int64_t count) {
    for (int64_t i = 0; i < count; i += most) {
      int64_t size = std::min(most, count - i);
      const char *data = in + (from + i) * inBytes;
      convert(whole.dtype, data, desc.dtype, out + (to + i) * outBytes, size);
      pages.note(data, size * inBytes);
    }
  });
}

void dist::writeSlice(const Mesh &mesh, const TensorDesc &desc, int64_t rank,
                      Window window,
                      const std::function<const void *(int64_t, int64_t)> &read,
                      void *out) {
  if (isEmpty(desc))
    return;
  Part part = partOf(mesh, desc, rank);
  int64_t first = INT64_MAX, end = 0, bytes = dtypeBytes(desc.dtype);
  forEachPiece(part, window, 0, 0, 0,
               [&](int64_t from, int64_t, int64_t count) {
                 first = std::min(first, from);
                 end = std::max(end, from + count);
               });
  if (first >= end)
    return;
  auto *in = static_cast<const char *>(read(first, end - first));
  forEachPiece(
      part, window, 0, 0, 0, [&](int64_t from, int64_t to, int64_t count) {
        std::memcpy(static_cast<char *>(out) + (to - window.begin) * bytes,
                    in + (from - first) * bytes, count * bytes);
      });
}

void dist::forEachRun(
    const Mesh &mesh, const TensorDesc &desc, int64_t rank,
    const std::function<void(int64_t, int64_t, int64_t)> &visit) {
  if (!isEmpty(desc))
    forEachPiece(partOf(mesh, desc, rank), {}, 0, 0, 0, visit);
}

int64_t dist::countHeld(const Mesh &mesh, const TensorDesc &desc,
                        int64_t rank) {
  int64_t count = !isEmpty(desc);
  for (const std::vector<Run> &runs : partOf(mesh, desc, rank).runs)
    count *= std::accumulate(
        runs.begin(), runs.end(), int64_t(0),
        [](int64_t sum, const Run &run) { return sum + run.length; });
  return count;
}

bool dist::isWriter(const Mesh &mesh, const TensorDesc &desc, int64_t rank) {
  if (!isHeldBy(mesh, desc, rank))
    return false;
  if (desc.held) {
    int64_t weight = 1;
    for (size_t i = desc.held->axis + 1; i < mesh.axes.size(); ++i)
      weight *= mesh.axes[i].size;
    rank -= desc.held->place * weight;
  }
  // The digits of the rank along axes that cut the tensor may be anything; the
  // other digits must be zero.
  for (const std::vector<SubDim> &dim : desc.dims)
    for (const SubDim &sub : dim)
      for (const AxisRef &ref : sub.axes) {
        int64_t weight = ref.rest;
        for (size_t i = ref.axis + 1; i < mesh.axes.size(); ++i)
          weight *= mesh.axes[i].size;
        rank -= mesh.coordinate(rank, ref) * weight;
      }
  return rank == 0;
}
