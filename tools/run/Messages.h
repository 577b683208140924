//===- Messages.h - What dist-run says --------------------------*- C++ -*-===//

#ifndef DIST_TOOLS_RUN_MESSAGES_H
#define DIST_TOOLS_RUN_MESSAGES_H

#include "passes/report/Simulation.h"
#include "tools/common/RunCompiler.h"
#include <optional>
#include <string>

namespace mlir::dist {

/// Says that the program ends with an error, which may have been printed;
/// with `json` as an object, too.
void sayError(StringRef error, bool json, bool isPrinted = false);

/// The estimate for --machine, if there is one.
void sayPredicted(const std::optional<Simulation> &predicted,
                  const std::string &machine);

/// A warning about random numbers: the program does not draw those of one
/// device.
void sayStreams(RunCompiler &compiler);

} // namespace mlir::dist

#endif // DIST_TOOLS_RUN_MESSAGES_H
