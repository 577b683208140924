//===- Programs.h - What compiled programs reach ----------------*- C++ -*-===//
//
// Figures of computation: small programs are compiled and run as dist-run does,
// on as many ranks at once as there are to be, which share what they share.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TOOLS_CALIBRATE_PROGRAMS_H
#define DIST_TOOLS_CALIBRATE_PROGRAMS_H

#include "compiler/Stages.h"
#include "mlir/IR/MLIRContext.h"

namespace mlir::dist {

class ProgramTimer {
public:
  ProgramTimer(int64_t ranks, MLIRContext *context, Stages &stages)
      : ranks(ranks), context(context), stages(stages) {}

  // All throw host::Error where a program cannot be compiled or run.

  /// Of products of square matrices, so large that they take a while. `size` is
  /// theirs.
  double getFlopsPerSecond(StringRef type, int64_t &size);
  /// Of an activation function, in a cache.
  double getScalarOpsPerSecond();
  /// Of a sum that reads and writes so many bytes.
  double getBytesPerSecond(int64_t bytes);
  /// Of kernels and library calls that have next to nothing to do.
  double getOpSeconds();

private:
  /// Of one run of the function, whose body is `body`: its argument %x is of
  /// `type`, as is its result.
  double getSeconds(StringRef type, StringRef body);

  int64_t ranks;
  MLIRContext *context;
  Stages &stages;
};

} // namespace mlir::dist

#endif // DIST_TOOLS_CALIBRATE_PROGRAMS_H
