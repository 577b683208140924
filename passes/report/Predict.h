//===- Predict.h - Estimated time of a step ---------------------*- C++ -*-===//

#ifndef DIST_PASSES_REPORT_PREDICT_H
#define DIST_PASSES_REPORT_PREDICT_H

#include "passes/report/Simulation.h"

namespace mlir::dist {

/// For a step of `module`, which is at level 3 or 4, on the machine of this
/// name or file. `link` (--link) replaces its links, unless it is "". Throws
/// host::Error.
Simulation predict(ModuleOp module, const std::string &machine,
                   const std::string &link, bool wantTimeline);

} // namespace mlir::dist

#endif // DIST_PASSES_REPORT_PREDICT_H
