//===- Npy.h - NumPy's .npy files -------------------------------*- C++ -*-===//
//
// Format: numpy.org, "numpy.lib.format", versions 1 to 3.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_NPY_H
#define DIST_NPY_H

#include "dist/Tensor.h"

#include <string>

namespace dist {

/// Reads `path`, in C or Fortran order, little-endian or single bytes. Throws
/// Error if it is no such file, is truncated, or has another element type (bf16
/// does not exist in NumPy).
Tensor readNpy(const std::string &path);

/// The same. A large one stays in the file (Tensor::file), whose pages are read
/// when they are needed: whoever does says afterwards whether it was written to
/// meanwhile.
Tensor mapNpy(const std::string &path);

class OutputFile;

/// Writes a tensor in C order, bf16 as f32, to a file that is committed later:
/// its elements in parts.
class NpyWriter {
public:
  /// For a tensor of this type and shape; it need not have data. Makes room on
  /// the device. Throws Error.
  NpyWriter(OutputFile &file, const Tensor &tensor);
  /// What stands before the elements. Throws Error.
  void begin();
  /// The next elements. Throws Error.
  void write(const void *data, int64_t count);

private:
  OutputFile &file;
  dist_dtype dtype;
  std::string header;
};

/// Writes `tensor` likewise, to a temporary file beside `path` that is then
/// renamed, so that no partial file is ever seen. Throws Error.
void writeNpy(const std::string &path, const Tensor &tensor);

} // namespace dist

#endif // DIST_NPY_H
