//===- Dnnl.h - What all calls of oneDNN share ------------------*- C++ -*-===//

#ifndef DIST_RUNTIME_CPU_DNNL_H
#define DIST_RUNTIME_CPU_DNNL_H

#include "dist/Tensor.h"

#include <oneapi/dnnl/dnnl.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

// Debian's oneDNN is built with OpenMP; <omp.h> belongs to a compiler.
extern "C" void omp_set_num_threads(int);

namespace dist {

inline const dnnl::engine &cpuEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// A rank is one thread: oneDNN must not start a team in it. The setting is per
/// thread.
inline void useOneThread() {
  thread_local bool single = (omp_set_num_threads(1), true);
  (void)single;
}

/// Memory for operands in oneDNN's own order, which live as long as the pool.
/// They are side by side in huge pages: data that is read once in a step, and
/// is larger than the caches, would miss the TLB in small pages.
class OperandPool {
public:
  /// Takes back memory that has been packed. If it `isOnly` read by who has
  /// packed it, its data may be lost.
  using TakeBack =
      std::function<void(const void *data, int64_t bytes, bool isOnly)>;
  explicit OperandPool(TakeBack takeBack) : takeBack(std::move(takeBack)) {}

  /// What `given` describes has been packed.
  void release(const dnnl::memory &given, bool isOnly) {
    dnnl::memory::desc desc = given.get_desc();
    int64_t bytes = dnnl::memory::data_type_size(desc.data_type());
    for (int64_t extent : desc.dims())
      bytes *= extent;
    int64_t span = desc.get_size();
    // Others may have what lies between.
    takeBack(given.get_data_handle(), span, isOnly && bytes == span);
  }
  dnnl::memory make(const dnnl::memory::desc &desc) {
    // What is not used of a chunk takes no memory.
    constexpr int64_t line = 64, chunk = 64 << 20;
    int64_t bytes = (int64_t(desc.get_size()) + line - 1) / line * line;
    if (bytes > left) {
      left = std::max(bytes, chunk);
      chunks.push_back(allocate(left));
      next = static_cast<char *>(chunks.back().get());
    }
    dnnl::memory memory(desc, cpuEngine(), next);
    next += bytes;
    left -= bytes;
    return memory;
  }

private:
  TakeBack takeBack;
  std::vector<std::shared_ptr<void>> chunks;
  char *next = nullptr;
  int64_t left = 0;
};

} // namespace dist

#endif // DIST_RUNTIME_CPU_DNNL_H
