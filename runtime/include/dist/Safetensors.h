//===- Safetensors.h - Parameters in a mapped file --------------*- C++ -*-===//
//
// Format: github.com/huggingface/safetensors. Eight bytes length of the header,
// the header as JSON, then the data.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_SAFETENSORS_H
#define DIST_SAFETENSORS_H

#include "dist/Tensor.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace dist {

struct MappedFile;

/// The tensors of a file, by name. Their data is the file itself, mapped
/// read-only. It stays mapped as long as one of the tensors exists, and may be
/// unaligned.
class Safetensors {
public:
  /// Maps `path` and checks its header against the size of the file. Throws
  /// Error.
  explicit Safetensors(const std::string &path);
  ~Safetensors();

  /// Null if there is no tensor of that name.
  const Tensor *find(const std::string &name) const;
  const std::map<std::string, Tensor> &tensors() const { return byName; }
  const std::string &path() const;
  /// The whole file, mapped.
  std::string_view text() const;
  /// Throws Error if the file was written to since it was mapped.
  void checkUnchanged() const;

private:
  std::shared_ptr<const MappedFile> mapping;
  std::map<std::string, Tensor> byName;
};

/// A tensor of a file that is being written.
struct SafetensorsEntry {
  std::string name;
  dist_dtype dtype;
  Shape shape;
};

/// The header of a file, for all entries in this order, without gaps. Throws
/// Error.
std::string makeSafetensorsHeader(const std::vector<SafetensorsEntry> &entries);

/// Writes tensors with their names, in this order. Throws Error.
void writeSafetensors(
    const std::string &path,
    const std::vector<std::pair<std::string, Tensor>> &tensors);

} // namespace dist

#endif // DIST_SAFETENSORS_H
