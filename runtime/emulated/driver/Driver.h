//===- Driver.h - What the emulated driver has beside CUDA's ----*- C++ -*-===//
//
// dist-driver-emulated.so has the functions of NVIDIA's driver that a program
// uses (runtime/cuda/DriverApi.h), on a device that is the PTX executor. These
// functions besides, by their names, for whoever has loaded it.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_EMULATED_DRIVER_DRIVER_H
#define DIST_RUNTIME_EMULATED_DRIVER_DRIVER_H

#include <cstddef>
#include <cstdint>

extern "C" {

/// Sets an option, before cuInit or while nothing runs; 0 if it is none or the
/// value is wrong:
///   order       issue, reverse, or a seed: which of what may run is next, and
///               in which order blocks and warps run
///   devices     how many devices there are (1)
///   memory      bytes of each (16 GiB)
///   capability  such as 9.0 (the default): PTX of a later one is refused
///   fail        NAME:COUNT:ERROR: the COUNT-th call of the function NAME from
///               now on returns ERROR, a number, and does nothing
int distEmulatedSet(const char *option, const char *value);

/// What was reported since the last call of this, a line each: what kernels did
/// wrong, what was read that nobody has written. `bytes` counts the zero at the
/// end; returns how many it needs.
size_t distEmulatedReports(char *text, size_t bytes);

/// Sums over all launches so far: launches, warp instructions, thread
/// instructions, sectors, useful bytes, shared requests, shared cycles.
void distEmulatedCounts(uint64_t counts[7]);

} // extern "C"

#endif // DIST_RUNTIME_EMULATED_DRIVER_DRIVER_H
