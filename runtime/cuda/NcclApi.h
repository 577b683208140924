//===- NcclApi.h - NCCL's API, as far as it is used -------------*- C++ -*-===//
//
// Types, values and functions of libnccl.so.2, declared here so that everything
// compiles where nothing of NVIDIA's is installed. test/runtime/cuda compares
// all of it with NVIDIA's header where that is there. Source:
// docs.nvidia.com/deeplearning/nccl/user-guide, "API".
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_CUDA_NCCLAPI_H
#define DIST_RUNTIME_CUDA_NCCLAPI_H

#include <cstddef>

// The library's and the driver's own names of what handles point to.
struct ncclComm;
struct CUstream_st;

namespace dist::cuda {

using NcclComm = ncclComm *;

enum NcclResult : int {
  NcclSuccess = 0,
  NcclSystemError = 2,
  NcclInvalidArgument = 4,
  NcclInvalidUsage = 5,
  NcclRemoteError = 6,
  NcclInProgress = 7,
};

/// What is sent is bytes.
enum NcclType : int { NcclInt8 = 0 };

struct NcclId {
  char bytes[128];
};

} // namespace dist::cuda

/// X(name, result, parameters in parentheses).
#define DIST_NCCL_FUNCTIONS(X)                                                 \
  X(ncclGetVersion, NcclResult, (int *version))                                \
  X(ncclGetUniqueId, NcclResult, (NcclId * id))                                \
  X(ncclCommInitRank, NcclResult,                                              \
    (NcclComm * comm, int ranks, NcclId id, int rank))                         \
  X(ncclCommDestroy, NcclResult, (NcclComm comm))                              \
  X(ncclCommAbort, NcclResult, (NcclComm comm))                                \
  X(ncclCommGetAsyncError, NcclResult, (NcclComm comm, NcclResult * error))    \
  X(ncclGetErrorString, const char *, (NcclResult error))                      \
  X(ncclGetLastError, const char *, (NcclComm comm))                           \
  X(ncclGroupStart, NcclResult, ())                                            \
  X(ncclGroupEnd, NcclResult, ())                                              \
  X(ncclSend, NcclResult,                                                      \
    (const void *data, size_t count, NcclType type, int to, NcclComm comm,     \
     CUstream_st *stream))                                                     \
  X(ncclRecv, NcclResult,                                                      \
    (void *data, size_t count, NcclType type, int from, NcclComm comm,         \
     CUstream_st *stream))

namespace dist::cuda {

/// Pointers to all of them.
struct NcclFunctions {
#define DIST_NCCL_FUNCTION(name, result, parameters)                           \
  result(*name) parameters = nullptr;
  DIST_NCCL_FUNCTIONS(DIST_NCCL_FUNCTION)
#undef DIST_NCCL_FUNCTION
};

} // namespace dist::cuda

#endif // DIST_RUNTIME_CUDA_NCCLAPI_H
