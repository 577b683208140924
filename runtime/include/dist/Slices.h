//===- Slices.h - Whole tensors and their local parts -----------*- C++ -*-===//
//
// Which elements of a whole tensor a rank holds (docs/internals/levels.md,
// "Layout of a sharded dimension"), and the copies both ways. If a parameter is
// a block of a tensor in the weights file, that tensor is the whole.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_SLICES_H
#define DIST_SLICES_H

#include "dist/Manifest.h"

#include <functional>

namespace dist {

/// Address in `whole` of the rank's local part, if that is contiguous and
/// without padding; else null.
const char *contiguousSlice(const Mesh &mesh, const TensorDesc &desc,
                            int64_t rank, const Tensor &whole);

/// The value of padding: zero; or a value that shows if anything reads it: NaN,
/// true, large integers of alternating sign.
enum class Padding { Zero, Poison };

/// Copies rank's part of `whole` to `local`, a tensor of desc's dtype and of
/// the shape of the rank's part. Converts, and fills padding. Pieces of one
/// argument are copied in their order.
void readSlice(const Mesh &mesh, const TensorDesc &desc, int64_t rank,
               const Tensor &whole, void *local,
               Padding padding = Padding::Zero);

/// Elements of a whole tensor that follow each other: from `begin` to before
/// `end`.
struct Window {
  int64_t begin = 0, end = INT64_MAX;
};

/// Copies the elements of `window` that are in the rank's part to `out`, whose
/// first element is the window's; padding is dropped. `read(first, count)`
/// gives the address of elements of the part, until its next call. It is asked
/// once at most, for no more elements than the window has, and padding between
/// them.
void writeSlice(const Mesh &mesh, const TensorDesc &desc, int64_t rank,
                Window window,
                const std::function<const void *(int64_t, int64_t)> &read,
                void *out);

/// Calls visit(local, global, count) for runs of elements that are contiguous
/// both in the rank's part and in the whole. Padding is left out.
void forEachRun(const Mesh &mesh, const TensorDesc &desc, int64_t rank,
                const std::function<void(int64_t, int64_t, int64_t)> &visit);

/// How many of these elements there are.
int64_t countHeld(const Mesh &mesh, const TensorDesc &desc, int64_t rank);

/// Whether `rank` is the one that writes its part: of ranks that hold the same
/// part, the first.
bool isWriter(const Mesh &mesh, const TensorDesc &desc, int64_t rank);

} // namespace dist

#endif // DIST_SLICES_H
