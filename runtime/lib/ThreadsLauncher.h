//===- ThreadsLauncher.h - Ranks as threads of this process -----*- C++ -*-===//

#ifndef DIST_LIB_THREADSLAUNCHER_H
#define DIST_LIB_THREADSLAUNCHER_H

#include "dist/Launcher.h"

namespace dist {

/// Runs every rank on a thread of its own; returns what each has done, by rank.
/// Throws Error when a rank failed.
std::vector<RankResult> launchThreads(const Program &program,
                                      const Arguments &arguments,
                                      const RunOptions &options);

} // namespace dist

#endif // DIST_LIB_THREADSLAUNCHER_H
