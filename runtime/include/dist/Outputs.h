//===- Outputs.h - Results as files -----------------------------*- C++ -*-===//

#ifndef DIST_OUTPUTS_H
#define DIST_OUTPUTS_H

#include "dist/Launcher.h"

#include <string>

namespace dist {

/// Writes each result, whole, to NAME.npy in `folder`, which is made if it is
/// not there; a '/' in a name becomes '_'. Throws Error, before anything is
/// written, where two results would be one file.
void writeOutputs(const std::string &folder, const RunResult &result);

} // namespace dist

#endif // DIST_OUTPUTS_H
