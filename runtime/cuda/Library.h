//===- Library.h - Where NVIDIA's libraries are found -----------*- C++ -*-===//

#ifndef DIST_RUNTIME_CUDA_LIBRARY_H
#define DIST_RUNTIME_CUDA_LIBRARY_H

#include <string>
#include <vector>

namespace dist::cuda {

/// A library, and where it may be.
struct LibraryName {
  /// The names that it is loaded by, the best one first: "libcublasLt.so.13".
  std::vector<std::string> files;
  /// Of PyPI, below site-packages/nvidia: "cublas".
  std::vector<std::string> wheels;
  /// Who has it, for messages.
  std::string packages;
};

/// Loads it: from DIST_CUDA_PATH, by the loader's own rules, from CUDA_HOME and
/// /usr/local/cuda, from VIRTUAL_ENV. It stays loaded. Throws Error, which says
/// what was looked for and where.
void *loadLibrary(const LibraryName &name);

} // namespace dist::cuda

#endif // DIST_RUNTIME_CUDA_LIBRARY_H
