//===- Machine.h - The CPU that programs are compiled for -------*- C++ -*-===//
//
// The numbers that the CPU's policies depend on, in one place. `--mcpu` chooses
// instructions; these are sizes and costs that suit current x86-64 and Arm
// servers.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_CPU_MACHINE_H
#define DIST_LOWERING_CPU_MACHINE_H

#include "dist/runtime.h"
#include <cstdint>

namespace mlir::dist {

struct Machine {
  /// Second-level cache of a core.
  int64_t l2Bytes = 512 * 1024;
  /// Stack that the scratch of one kernel may take; kernels are not inlined, so
  /// that no frame has that of several.
  int64_t scratchBytes = DIST_STACK_BYTES / 16;
  /// Multiply-adds below which a call of the library costs more than a loop;
  /// measured with oneDNN 2.6, see benchmarks/results/cpu.md.
  int64_t minContractionWork = 2048;
  /// Times of attention in tiles, ns: a tile, a row of tiles, a multiply-add of
  /// its products, the rest of a score (mostly its exponential), a mask of a
  /// score. They are estimates for AVX-512, and decide between sizes of tiles.
  /// The results were measured (benchmarks/results/cpu.md).
  double attentionTile = 600, attentionRow = 400, multiplyAdd = 0.0125,
         attentionScore = 0.3, attentionMask = 0.1;
};

} // namespace mlir::dist

#endif // DIST_LOWERING_CPU_MACHINE_H
