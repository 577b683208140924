//===- MappedFile.h - A file as read-only memory ----------------*- C++ -*-===//

#ifndef DIST_LIB_MAPPEDFILE_H
#define DIST_LIB_MAPPEDFILE_H

#include <cstdint>
#include <memory>
#include <string>

namespace dist {

struct MappedFile {
  /// Unmaps when the last copy goes. Null for an empty file.
  std::shared_ptr<void> memory;
  int64_t bytes = 0;
  const char *data() const { return static_cast<const char *>(memory.get()); }
};

/// Throws Error if `path` cannot be opened or is no regular file.
MappedFile mapFile(const std::string &path);

} // namespace dist

#endif // DIST_LIB_MAPPEDFILE_H
