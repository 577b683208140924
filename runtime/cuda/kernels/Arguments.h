//===- Arguments.h - Arguments of the kernels of collectives ----*- C++ -*-===//
//
// For both sides: the host's compiler and the device's see the same structures.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_CUDA_KERNELS_ARGUMENTS_H
#define DIST_RUNTIME_CUDA_KERNELS_ARGUMENTS_H

#include <stdint.h>

namespace dist::cuda {

/// Threads of a block.
constexpr int kBlockThreads = 256;
/// The most operands that one launch combines.
constexpr int kMostTerms = 16;

/// Operations, as dist_op numbers them (dist/runtime.h).
enum ReduceOp : int { kSum, kProd, kMax, kMin, kAnd, kOr };

/// Runs of words (Copies.h): counts and steps are in words, addresses in bytes.
struct CopyArguments {
  uint64_t from, to;
  int64_t extents[3], in[3], out[3];
  int64_t run;
};

/// `runs` runs of `count` elements, `step` bytes apart.
struct FillArguments {
  uint64_t to;
  int64_t step, runs, count;
  uint64_t element;
};

/// As many runs of operands. If there are more of these than kMostTerms, a
/// launch leaves the sum so far at `wideOut`, in the type in which it is
/// combined; the next one begins with it, in place of its first operand.
struct ReduceArguments {
  uint64_t ins[kMostTerms];
  int64_t steps[kMostTerms];
  uint64_t to;
  int64_t step, runs, count;
  uint64_t wideIn, wideOut;
  int op, terms;
};

} // namespace dist::cuda

#endif // DIST_RUNTIME_CUDA_KERNELS_ARGUMENTS_H
