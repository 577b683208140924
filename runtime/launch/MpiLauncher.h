//===- MpiLauncher.h - Ranks as processes that MPI starts -------*- C++ -*-===//

#ifndef DIST_RUNTIME_LAUNCH_MPILAUNCHER_H
#define DIST_RUNTIME_LAUNCH_MPILAUNCHER_H

#include "runtime/launch/BackendLauncher.h"

namespace dist {

/// --backend mpi: every rank is a process of mpirun or srun, on any host.
const BackendLauncher &mpiLauncher();
/// The same of ranks on GPUs.
const BackendLauncher &mpiCudaLauncher();

/// Of a process that fails before `begin`: if others were started with it, one
/// says it for all, and the others do not return.
void failTogether(const std::string &message, const Tell &tell);

} // namespace dist

#endif // DIST_RUNTIME_LAUNCH_MPILAUNCHER_H
