//===- Entries.h - Tensors as files of weights name them --------*- C++ -*-===//

#ifndef DIST_FILES_ENTRIES_H
#define DIST_FILES_ENTRIES_H

#include "dist/Tensor.h"
#include "runtime/host/MappedFile.h"

namespace dist {

/// The largest header of a safetensors file, by the format, and the largest
/// index: 100 MB.
inline constexpr int64_t kMostHeaderBytes = 100'000'000;

/// The element type of a name such as F32, and the name of a type. Throw Error.
dist_dtype dtypeOfEntry(const std::string &name);
std::string nameOfEntry(dist_dtype dtype);

/// A tensor whose first byte is `offset` bytes behind the first of `file`,
/// which has all of it. Throws Error.
Tensor tensorInFile(const std::shared_ptr<const MappedFile> &file,
                    dist_dtype dtype, const Shape &shape, int64_t offset);

} // namespace dist

#endif // DIST_FILES_ENTRIES_H
