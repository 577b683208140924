//===- ThreadsLauncher.h - Ranks as threads of this process -----*- C++ -*-===//

#ifndef DIST_RUNTIME_LAUNCH_THREADSLAUNCHER_H
#define DIST_RUNTIME_LAUNCH_THREADSLAUNCHER_H

#include "runtime/launch/BackendLauncher.h"

namespace dist {

/// --backend threads: every rank on a thread of its own.
const BackendLauncher &threadsLauncher();

} // namespace dist

#endif // DIST_RUNTIME_LAUNCH_THREADSLAUNCHER_H
