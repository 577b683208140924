//===- ProcessesLauncher.h - Ranks as processes of this host ----*- C++ -*-===//

#ifndef DIST_RUNTIME_LAUNCH_PROCESSESLAUNCHER_H
#define DIST_RUNTIME_LAUNCH_PROCESSESLAUNCHER_H

#include "runtime/launch/BackendLauncher.h"

namespace dist {

/// --backend processes: every rank is a process that this one starts.
const BackendLauncher &processesLauncher();

/// --backend cuda: the same, and each computes on a GPU.
const BackendLauncher &cudaLauncher();

} // namespace dist

#endif // DIST_RUNTIME_LAUNCH_PROCESSESLAUNCHER_H
