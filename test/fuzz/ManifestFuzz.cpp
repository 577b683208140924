//===- ManifestFuzz.cpp - Any bytes as a manifest -------------------------===//

#include "dist/Manifest.h"
#include "dist/Slices.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

using namespace dist;

/// Takes apart and puts together a tensor as the ranks hold it.
static void moveParts(const Mesh &mesh, const TensorDesc &desc) {
  Tensor whole = Tensor::zeros(desc.dtype, desc.sourceShape());
  Tensor part = Tensor::zeros(desc.dtype, desc.rankShape());
  for (int64_t rank = 0; rank < mesh.size(); ++rank) {
    readSlice(mesh, desc, rank, whole, part.data);
    constexpr int64_t few = 100;
    auto *out = static_cast<char *>(whole.data);
    for (int64_t at = 0; at < whole.count(); at += few)
      writeSlice(
          mesh, desc, rank, {at, std::min(at + few, whole.count())},
          [&](int64_t first, int64_t) {
            return static_cast<char *>(part.data) +
                   first * dtypeBytes(desc.dtype);
          },
          out + at * dtypeBytes(desc.dtype));
    contiguousSlice(mesh, desc, rank, whole);
    isWriter(mesh, desc, rank);
  }
}

/// Error is what a malformed manifest may give; nothing else. One that is
/// accepted is written as it is read, and its numbers can be worked with.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try {
    std::string_view text(reinterpret_cast<const char *>(data), size);
    Manifest manifest = Manifest::parse(text, "fuzz");
    if (Manifest::parse(manifest.toJson(), "again").toJson() !=
        manifest.toJson())
      std::abort();
    constexpr int64_t few = 64, small = 4096;
    if (manifest.mesh.size() > few)
      return 0;
    for (const std::vector<AxisRef> &refs : manifest.communicators) {
      Communicator comm(manifest.mesh, refs);
      for (const std::vector<int64_t> &group : comm.members)
        for (int64_t member : group)
          if (member < 0)
            std::abort();
    }
    for (const auto *list : {&manifest.arguments, &manifest.results})
      for (const TensorDesc &desc : *list)
        if (numElements(desc.sourceShape()) <= small &&
            numElements(desc.rankShape()) <= small)
          moveParts(manifest.mesh, desc);
  } catch (const Error &) {
  }
  return 0;
}
