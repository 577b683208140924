//===- Predict.h - What a step is foreseen to take --------------*- C++ -*-===//

#ifndef DIST_PASSES_REPORT_PREDICT_H
#define DIST_PASSES_REPORT_PREDICT_H

#include "passes/report/Simulation.h"

namespace mlir::dist {

/// Of a step of `module`, which is at level 3 or 4, on the machine of this name
/// or file, with a link (--link) in place of its own or "" for that. Throws
/// host::Error.
Simulation predict(ModuleOp module, const std::string &machine,
                   const std::string &link, bool wantTimeline);

} // namespace mlir::dist

#endif // DIST_PASSES_REPORT_PREDICT_H
