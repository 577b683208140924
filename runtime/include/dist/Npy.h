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

class OutputFile;

/// Writes `tensor` in C order, bf16 as f32, to a file that is committed later.
/// Throws Error.
void writeNpy(OutputFile &file, const Tensor &tensor);

/// Writes `tensor` likewise, to a temporary file beside `path` that is then
/// renamed, so that no partial file is ever seen. Throws Error.
void writeNpy(const std::string &path, const Tensor &tensor);

} // namespace dist

#endif // DIST_NPY_H
