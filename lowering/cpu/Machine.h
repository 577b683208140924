//===- Machine.h - The CPU that programs are compiled for -------*- C++ -*-===//
//
// What the CPU's policies depend on, in one place. `--mcpu` chooses
// instructions; these are sizes and costs, with values that suit current
// x86-64 and Arm servers.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_CPU_MACHINE_H
#define DIST_LOWERING_CPU_MACHINE_H

#include <cstdint>

namespace mlir::dist {

struct Machine {
  /// Second-level cache of a core.
  int64_t l2Bytes = 512 * 1024;
  /// Stack that the scratch of one kernel may take, well below a thread's.
  int64_t scratchBytes = 512 * 1024;
  /// Multiply-adds below which a call of the library costs more than a loop;
  /// measured with oneDNN 2.6, see benchmarks/results/cpu.md.
  int64_t minContractionWork = 2048;
  /// What attention in tiles takes, ns: a tile, a row of tiles, a multiply-add
  /// of its products, the rest of a score (its exponential, mostly), a mask of
  /// a score. Estimates for AVX-512, which decide between sizes of tiles; what
  /// came of that was measured (benchmarks/results/cpu.md).
  double attentionTile = 600, attentionRow = 400, multiplyAdd = 0.0125,
         attentionScore = 0.3, attentionMask = 0.1;
};

} // namespace mlir::dist

#endif // DIST_LOWERING_CPU_MACHINE_H
