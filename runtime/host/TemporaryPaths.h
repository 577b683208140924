//===- TemporaryPaths.h - Who else removes what is temporary ----*- C++ -*-===//

#ifndef DIST_RUNTIME_HOST_TEMPORARYPATHS_H
#define DIST_RUNTIME_HOST_TEMPORARYPATHS_H

#include "dist/Signals.h"

namespace dist {

/// Calls `note` with each path that becomes temporary from now on, before it is
/// created, and again, with isThere = false, when it is gone. So another
/// process can remove it if this one is killed. `note` runs under a lock, with
/// signals blocked; null ends it.
void noteTemporaryPaths(void (*note)(const std::string &path,
                                     TemporaryPath::Removal removal,
                                     bool isThere));

} // namespace dist

#endif // DIST_RUNTIME_HOST_TEMPORARYPATHS_H
