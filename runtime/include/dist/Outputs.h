//===- Outputs.h - Results as files -----------------------------*- C++ -*-===//

#ifndef DIST_OUTPUTS_H
#define DIST_OUTPUTS_H

#include "dist/Launcher.h"

#include <string>

namespace dist {

/// Writes each result, whole, to NAME.npy in `folder`, which is made if it is
/// not there, and the run's trace to `trace`; "" for none of them. A '/' in a
/// name becomes '_'. All files appear at once, or none. Throws Error where one
/// cannot be written, or two results would be one file.
void writeOutputs(const std::string &folder, const std::string &trace,
                  const RunResult &result);

} // namespace dist

#endif // DIST_OUTPUTS_H
