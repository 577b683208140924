//===- Outputs.h - Results as files -----------------------------*- C++ -*-===//

#ifndef DIST_OUTPUTS_H
#define DIST_OUTPUTS_H

#include "dist/Launcher.h"

#include <string>

namespace dist {

/// A line for each result, and one for the ranks and the best of the runs.
/// `areWritten` is whether results are in files.
std::string describeRun(const Program &program, const RunResult &result,
                        bool areWritten);

/// Writes each result, whole, to NAME.npy in `folder`, which is created if it
/// does not exist, and the run's trace to `trace`. "" means no such output. A
/// '/' in a name becomes '_'. All files appear at once, or none does. Throws
/// Error if one cannot be written, or two results would be one file.
void writeOutputs(const std::string &folder, const std::string &trace,
                  const RunResult &result);

} // namespace dist

#endif // DIST_OUTPUTS_H
