//===- Reduce.h - Elementwise reduction over several buffers ----*- C++ -*-===//
//
// The arithmetic of all_reduce and reduce_scatter in shared memory: one pass
// that reads all inputs and writes all outputs.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_COLLECTIVES_REDUCE_H
#define DIST_RUNTIME_COLLECTIVES_REDUCE_H

#include "dist/runtime.h"

#include <cstdint>
#include <vector>

namespace dist {

/// Every out[i] = in[0][i] op in[1][i] op ..., combined in that order. An
/// output may be one of the inputs (not overlap it otherwise). f16 and bf16 are
/// combined in f32 and rounded once.
void reduceBuffers(dist_dtype dtype, dist_op op,
                   const std::vector<const char *> &ins,
                   const std::vector<char *> &outs, int64_t count);

} // namespace dist

#endif // DIST_RUNTIME_COLLECTIVES_REDUCE_H
