//===- ThreadsLauncher.h - Ranks as threads of this process -----*- C++ -*-===//

#ifndef DIST_LIB_THREADSLAUNCHER_H
#define DIST_LIB_THREADSLAUNCHER_H

#include "BackendLauncher.h"

namespace dist {

/// --backend threads: every rank on a thread of its own.
const BackendLauncher &threadsLauncher();

} // namespace dist

#endif // DIST_LIB_THREADSLAUNCHER_H
