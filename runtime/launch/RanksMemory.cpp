//===- RanksMemory.cpp - What ranks hold while none of them runs ----------===//

#include "runtime/launch/RanksMemory.h"

#include <algorithm>

using namespace dist;

void dist::forEachWindow(const Tensor &whole,
                         const std::function<void(Window)> &take) {
  const int64_t count = whole.count(),
                most = RanksMemory::kWindow / dtypeBytes(whole.dtype);
  for (int64_t begin = 0; begin < count; begin += most)
    take({begin, std::min(begin + most, count)});
}

void RanksMemory::copy(bool isResult, size_t index, Window window,
                       void *out) const {
  const TensorDesc &desc =
      isResult ? manifest.results[index] : manifest.arguments[index];
  const int64_t size = dtypeBytes(desc.dtype);
  for (int64_t rank = 0; rank < manifest.mesh.size(); ++rank) {
    if (!isWriter(manifest.mesh, desc, rank))
      continue;
    const void *data = nullptr;
    int64_t bytes = 0;
    writeSlice(
        manifest.mesh, desc, rank, window,
        [&](int64_t first, int64_t count) {
          bytes = count * size;
          return data = read(rank, {isResult, index, first * size, bytes});
        },
        out);
    if (data)
      leave(data, bytes);
  }
}

void RanksMemory::copyAll(bool isResult, size_t index, Tensor &whole) const {
  forEachWindow(whole, [&](Window window) {
    copy(isResult, index, window,
         static_cast<char *>(whole.data) +
             window.begin * dtypeBytes(whole.dtype));
  });
}

void RanksMemory::copyArgument(size_t index, Tensor &whole) const {
  copyAll(false, index, whole);
}

Tensor RanksMemory::getResult(size_t index) const {
  const TensorDesc &desc = manifest.results[index];
  Tensor whole = Tensor::zeros(desc.dtype, desc.sourceShape());
  copyAll(true, index, whole);
  return whole;
}
