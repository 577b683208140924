//===- MappedFile.h - A file as read-only memory ----------------*- C++ -*-===//

#ifndef DIST_RUNTIME_HOST_MAPPEDFILE_H
#define DIST_RUNTIME_HOST_MAPPEDFILE_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace dist {

struct Tensor;

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

/// Pages of a mapped tensor that this process reads once, from front to back:
/// it gives them back, so that it never holds more than a step of them. The
/// kernel may keep them for whoever reads them next. Small tensors are left as
/// they are, and so is what is not mapped.
class PagesReadOnce {
public:
  explicit PagesReadOnce(const Tensor &tensor);
  ~PagesReadOnce() { giveBack(); }
  PagesReadOnce(const PagesReadOnce &) = delete;

  /// Reads of the tensor are made in parts of at most so many bytes.
  static constexpr int64_t kStep = 8 << 20;
  void note(const void *data, int64_t bytes);

private:
  void giveBack();

  bool isWorthIt;
  /// What was read since, from where to where.
  const char *low = nullptr, *high = nullptr;
};

/// Gives the pages of a mapped file from `begin` to `end` back to the system,
/// and others beside them: with a page the kernel maps those around it. They
/// are there again when they are read. Does nothing for other memory.
void giveBackPages(const char *begin, const char *end);

/// The number of elements of a tensor that stands in `path`. Throws Error,
/// which names the file, for a shape that none can have.
int64_t elementsIn(const std::string &path, const std::vector<int64_t> &shape);

} // namespace dist

#endif // DIST_RUNTIME_HOST_MAPPEDFILE_H
