//===- Ranks.h - What ranks that are threads take for it --------*- C++ -*-===//
//
// Figures of collectives: measured on the threads backend, through the calls
// that compiled programs make, on as many ranks as there are to be.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TOOLS_CALIBRATE_RANKS_H
#define DIST_TOOLS_CALIBRATE_RANKS_H

#include "dist/EmulatedLink.h"
#include <cstdint>

namespace dist {

/// Of the alpha-beta model: docs/internals/machines.md.
struct LinkFigures {
  double callSeconds = 0, stepSeconds = 0, bytesPerSecond = 0;
};

/// Of small and large all_gathers and all_reduces. Throws Error.
LinkFigures measureLink(int64_t ranks, const EmulatedLink &link);

struct OverlapFigures {
  double startSeconds = 0, slowdown = 0;
};

/// Of products with and without an all_reduce beside them. Throws Error.
OverlapFigures measureOverlap(int64_t ranks, const EmulatedLink &link,
                              const LinkFigures &figures);

} // namespace dist

#endif // DIST_TOOLS_CALIBRATE_RANKS_H
