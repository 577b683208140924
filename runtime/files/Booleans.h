//===- Booleans.h - Bytes of files that are booleans ------------*- C++ -*-===//
//
// A program takes a boolean's byte as 0 or 1, so that no other may come in.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FILES_BOOLEANS_H
#define DIST_FILES_BOOLEANS_H

#include "dist/Tensor.h"

#include <algorithm>

namespace dist {

/// Throws Error if the tensor is of i1 and a byte is neither 0 nor 1. `where`
/// is what the message begins with.
inline void checkBooleans(const std::string &where, const Tensor &tensor) {
  if (tensor.dtype != DIST_I1)
    return;
  auto *begin = static_cast<const uint8_t *>(tensor.data);
  auto *end = begin + tensor.bytes();
  auto *odd = std::find_if(begin, end, [](uint8_t byte) { return byte > 1; });
  if (odd != end)
    throw Error(where + "element " + std::to_string(odd - begin) + " is " +
                std::to_string(*odd) +
                ", which is no i1: a boolean is stored as 0 or 1 (in NumPy, "
                "x.view(numpy.uint8) != 0)");
}

} // namespace dist

#endif // DIST_FILES_BOOLEANS_H
