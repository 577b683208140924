//===- DriverApi.h - NVIDIA's driver API, as far as it is used --*- C++ -*-===//
//
// Types, values and functions of libcuda.so.1, declared here so that everything
// compiles where nothing of NVIDIA's is installed. The functions are found by
// cuGetProcAddress with the version below, which fixes their signatures.
// test/runtime/cuda compares all of it with NVIDIA's header where that is
// there. Source: CUDA Driver API, docs.nvidia.com/cuda/cuda-driver-api.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_CUDA_DRIVERAPI_H
#define DIST_RUNTIME_CUDA_DRIVERAPI_H

#include <cstddef>
#include <cstdint>

// The driver's own names of what its handles point to.
struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;

namespace dist::cuda {

/// Of CUDA 12.0: every driver from 525 on has its functions.
inline constexpr int kApiVersion = 12000;

using Device = int;
/// An address of device memory.
using DevicePtr = unsigned long long;
using Context = CUctx_st *;
using Module = CUmod_st *;
using Function = CUfunc_st *;
using Stream = CUstream_st *;
using Event = CUevent_st *;
using Graph = CUgraph_st *;
using GraphExec = CUgraphExec_st *;
struct Uuid {
  char bytes[16];
};

enum Result : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  StubLibrary = 34,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  NoBinaryForGpu = 209,
  InvalidPtx = 218,
  UnsupportedPtxVersion = 222,
  InvalidHandle = 400,
  NotFound = 500,
  NotReady = 600,
  IllegalAddress = 700,
  LaunchOutOfResources = 701,
  LaunchFailed = 719,
  NotSupported = 801,
  CaptureUnsupported = 900,
  CaptureInvalidated = 901,
  CaptureUnmatched = 903,
  CaptureUnjoined = 904,
  CaptureIsolation = 905,
  CapturedEvent = 907,
};

enum DeviceAttribute : int {
  MaxThreadsPerBlock = 1,
  MaxSharedBytesPerBlock = 8,
  MultiprocessorCount = 16,
  CapabilityMajor = 75,
  CapabilityMinor = 76,
  MaxSharedBytesOptin = 97,
};

enum FunctionAttribute : int {
  FunctionMaxThreads = 0,
  FunctionSharedBytes = 1,
  FunctionLocalBytes = 3,
  FunctionRegisters = 4,
  FunctionMaxDynamicSharedBytes = 8,
};

enum JitOption : int { JitErrorLog = 5, JitErrorLogBytes = 6 };
enum StreamFlag : unsigned { StreamNonBlocking = 1 };
enum EventFlag : unsigned { EventDisableTiming = 2 };
enum CaptureMode : int { CaptureThreadLocal = 1 };
enum CaptureStatus : int { CaptureNone, CaptureActive, CaptureBroken };
enum ProcAddressStatus : int { ProcFound, ProcNotFound, ProcTooNew };

} // namespace dist::cuda

/// X(name, parameters in parentheses): each returns a Result.
#define DIST_CUDA_FUNCTIONS(X)                                                 \
  X(cuInit, (unsigned flags))                                                  \
  X(cuDriverGetVersion, (int *version))                                        \
  X(cuGetErrorName, (Result error, const char **text))                         \
  X(cuGetErrorString, (Result error, const char **text))                       \
  X(cuDeviceGetCount, (int *count))                                            \
  X(cuDeviceGet, (Device * device, int ordinal))                               \
  X(cuDeviceGetName, (char *name, int bytes, Device device))                   \
  X(cuDeviceGetUuid, (Uuid * uuid, Device device))                             \
  X(cuDeviceGetAttribute,                                                      \
    (int *value, DeviceAttribute attribute, Device device))                    \
  X(cuDeviceTotalMem, (size_t *bytes, Device device))                          \
  X(cuDevicePrimaryCtxRetain, (Context * context, Device device))              \
  X(cuDevicePrimaryCtxRelease, (Device device))                                \
  X(cuCtxSetCurrent, (Context context))                                        \
  X(cuCtxSynchronize, ())                                                      \
  X(cuModuleLoadDataEx, (Module * module, const void *image, unsigned count,   \
                         JitOption *options, void **values))                   \
  X(cuModuleUnload, (Module module))                                           \
  X(cuModuleGetFunction,                                                       \
    (Function * function, Module module, const char *name))                    \
  X(cuModuleGetGlobal,                                                         \
    (DevicePtr * address, size_t *bytes, Module module, const char *name))     \
  X(cuFuncGetAttribute,                                                        \
    (int *value, FunctionAttribute attribute, Function function))              \
  X(cuFuncSetAttribute,                                                        \
    (Function function, FunctionAttribute attribute, int value))               \
  X(cuLaunchKernel,                                                            \
    (Function function, unsigned gridX, unsigned gridY, unsigned gridZ,        \
     unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,  \
     Stream stream, void **parameters, void **extra))                          \
  X(cuMemGetInfo, (size_t *free, size_t *total))                               \
  X(cuMemAlloc, (DevicePtr * address, size_t bytes))                           \
  X(cuMemFree, (DevicePtr address))                                            \
  X(cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))             \
  X(cuMemFreeHost, (void *memory))                                             \
  X(cuMemcpyHtoDAsync,                                                         \
    (DevicePtr to, const void *from, size_t bytes, Stream stream))             \
  X(cuMemcpyDtoHAsync,                                                         \
    (void *to, DevicePtr from, size_t bytes, Stream stream))                   \
  X(cuMemcpyDtoDAsync,                                                         \
    (DevicePtr to, DevicePtr from, size_t bytes, Stream stream))               \
  X(cuMemsetD8Async,                                                           \
    (DevicePtr to, unsigned char value, size_t count, Stream stream))          \
  X(cuMemsetD32Async,                                                          \
    (DevicePtr to, unsigned value, size_t count, Stream stream))               \
  X(cuStreamCreate, (Stream * stream, unsigned flags))                         \
  X(cuStreamDestroy, (Stream stream))                                          \
  X(cuStreamQuery, (Stream stream))                                            \
  X(cuStreamSynchronize, (Stream stream))                                      \
  X(cuStreamWaitEvent, (Stream stream, Event event, unsigned flags))           \
  X(cuStreamBeginCapture, (Stream stream, CaptureMode mode))                   \
  X(cuStreamEndCapture, (Stream stream, Graph *graph))                         \
  X(cuStreamIsCapturing, (Stream stream, CaptureStatus *status))               \
  X(cuEventCreate, (Event * event, unsigned flags))                            \
  X(cuEventDestroy, (Event event))                                             \
  X(cuEventRecord, (Event event, Stream stream))                               \
  X(cuEventQuery, (Event event))                                               \
  X(cuEventSynchronize, (Event event))                                         \
  X(cuEventElapsedTime, (float *milliseconds, Event start, Event end))         \
  X(cuGraphInstantiateWithFlags,                                               \
    (GraphExec * exec, Graph graph, unsigned long long flags))                 \
  X(cuGraphLaunch, (GraphExec exec, Stream stream))                            \
  X(cuGraphDestroy, (Graph graph))                                             \
  X(cuGraphExecDestroy, (GraphExec exec))

namespace dist::cuda {

/// How all of them are found.
using GetProcAddress = Result (*)(const char *name, void **function,
                                  int version, uint64_t flags,
                                  ProcAddressStatus *status);

/// Pointers to all of them.
struct DriverFunctions {
#define DIST_CUDA_FUNCTION(name, parameters) Result(*name) parameters = nullptr;
  DIST_CUDA_FUNCTIONS(DIST_CUDA_FUNCTION)
#undef DIST_CUDA_FUNCTION
};

} // namespace dist::cuda

#endif // DIST_RUNTIME_CUDA_DRIVERAPI_H
