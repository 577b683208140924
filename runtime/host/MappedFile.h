//===- MappedFile.h - A file as read-only memory ----------------*- C++ -*-===//

#ifndef DIST_RUNTIME_HOST_MAPPEDFILE_H
#define DIST_RUNTIME_HOST_MAPPEDFILE_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dist {

struct MappedFile {
  std::string path;
  /// Unmaps when the last copy goes. Null for an empty file.
  std::shared_ptr<void> memory;
  int64_t bytes = 0;
  const char *data() const { return static_cast<const char *>(memory.get()); }
  std::string_view text() const { return {data(), static_cast<size_t>(bytes)}; }

  /// Throws Error if the file was written to, or cut short, since it was
  /// mapped: what was read of it may be a mixture.
  void checkUnchanged() const;

private:
  friend MappedFile mapFile(const std::string &, int64_t);
  struct Source;
  std::shared_ptr<Source> source;
};

/// Throws Error if `path` cannot be opened, is no regular file, or is longer
/// than `limit`. No output replaces the file from then on.
MappedFile mapFile(const std::string &path, int64_t limit = INT64_MAX);

/// The number of elements of a tensor that stands in `path`. Throws Error,
/// which names the file, for a shape that none can have.
int64_t elementsIn(const std::string &path, const std::vector<int64_t> &shape);

} // namespace dist

#endif // DIST_RUNTIME_HOST_MAPPEDFILE_H
