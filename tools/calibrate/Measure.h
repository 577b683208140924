//===- Measure.h - Figures of this computer ---------------------*- C++ -*-===//
//
// Measures computation and collectives, on ranks that are threads, and says
// what is found.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TOOLS_CALIBRATE_MEASURE_H
#define DIST_TOOLS_CALIBRATE_MEASURE_H

#include "dist/EmulatedLink.h"
#include "passes/cost/Machine.h"
#include "tools/calibrate/MachineFile.h"
#include <string>

namespace mlir::dist {

unsigned countCores();

/// Measures on so many ranks at once. `link` is the value of --link, "" for
/// none. Throws host::Error.
Machine measureMachine(int64_t ranks, const std::string &link);

/// How measureMachine measured: `load` is what describeLoad said before.
MachineSources describeSources(int64_t ranks, const std::string &link,
                               const std::string &load);

/// The load of the computer: figures of a busy one are worth less, which is
/// reported.
std::string describeLoad(int64_t ranks);

} // namespace mlir::dist

#endif // DIST_TOOLS_CALIBRATE_MEASURE_H
