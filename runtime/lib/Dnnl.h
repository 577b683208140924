//===- Dnnl.h - What all calls of oneDNN share ------------------*- C++ -*-===//

#ifndef DIST_LIB_DNNL_H
#define DIST_LIB_DNNL_H

#include <oneapi/dnnl/dnnl.hpp>

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

} // namespace dist

#endif // DIST_LIB_DNNL_H
