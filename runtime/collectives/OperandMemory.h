//===- OperandMemory.h - Where operands of collectives lie ------*- C++ -*-===//
//
// What collectives do with bytes, in the host's memory or in that of a device.
// Addresses are of that memory, and mean nothing elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_COLLECTIVES_OPERANDMEMORY_H
#define DIST_RUNTIME_COLLECTIVES_OPERANDMEMORY_H

#include "dist/runtime.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace dist {

struct Copy;

/// Runs of bytes, `step` bytes from each to the next.
struct Runs {
  char *data;
  int64_t step;
};
struct ConstRuns {
  const char *data;
  int64_t step;
};

class OperandMemory {
public:
  virtual ~OperandMemory() = default;

  /// Memory to work in. Throws Error.
  virtual std::shared_ptr<char> allocate(int64_t bytes) = 0;

  /// Copies runs (Copies.h) from an operand to a result.
  virtual void copy(const Copy &copy, const char *from, char *to) = 0;

  /// Of `runs` runs of `count` elements: out = ins[0] op ins[1] op ...,
  /// combined in that order. The result may be one of the operands. f16 and
  /// bf16 are combined in f32 and rounded once.
  virtual void reduce(dist_dtype dtype, dist_op op,
                      const std::vector<ConstRuns> &ins, Runs out, int64_t runs,
                      int64_t count) = 0;

  /// Sets the elements of as many runs to the first bytes of `element`.
  virtual void fill(dist_dtype dtype, int64_t element, Runs out, int64_t runs,
                    int64_t count) = 0;
};

/// That of the calling thread.
OperandMemory &hostMemory();

} // namespace dist

#endif // DIST_RUNTIME_COLLECTIVES_OPERANDMEMORY_H
