//===- BlasApi.h - cuBLASLt's API, as far as it is used ---------*- C++ -*-===//
//
// Types, values and functions of libcublasLt.so, of versions 12 and 13,
// declared here so that everything compiles where nothing of NVIDIA's is
// installed. test/runtime/cuda compares all of it with NVIDIA's header where
// that is there. Source: docs.nvidia.com/cuda/cublas, "Using the cuBLASLt API".
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_CUDA_BLASAPI_H
#define DIST_RUNTIME_CUDA_BLASAPI_H

#include <cstddef>
#include <cstdint>

// The library's and the driver's own names of what handles point to.
struct cublasLtContext;
struct CUstream_st;

namespace dist::cuda {

using BlasHandle = cublasLtContext *;
/// Descriptions, made by the library.
using BlasProduct = struct BlasProductOpaque *;
using BlasMatrix = struct BlasMatrixOpaque *;
using BlasPreference = struct BlasPreferenceOpaque *;

enum BlasStatus : int {
  BlasSuccess = 0,
  BlasInvalidValue = 7,
  BlasExecutionFailed = 13,
  BlasNotSupported = 15,
};

enum DataType : int { Real32F = 0, Real64F = 1, Real16F = 2, Real16BF = 14 };
enum ComputeType : int { Compute32F = 68, Compute64F = 70 };

/// Values are int32_t: 0 for the matrix as it is, 1 for its transpose.
enum BlasProductAttribute : int { BlasTransposeA = 3, BlasTransposeB = 4 };
/// int32_t and int64_t, in elements.
enum BlasMatrixAttribute : int { BlasBatchCount = 5, BlasBatchStride = 6 };
/// uint64_t; uint32_t the others.
enum BlasPreferenceAttribute : int {
  BlasMostWorkspace = 1,
  BlasReductionSchemes = 3,
  BlasAlignmentA = 5,
  BlasAlignmentB = 6,
  BlasAlignmentC = 7,
  BlasAlignmentD = 8,
};

struct BlasAlgorithm {
  uint64_t data[8];
};
struct BlasHeuristic {
  BlasAlgorithm algorithm;
  size_t workspaceBytes;
  BlasStatus state;
  float waves;
  int reserved[4];
};

} // namespace dist::cuda

/// X(name, result, parameters in parentheses).
#define DIST_BLAS_FUNCTIONS(X)                                                 \
  X(cublasLtGetVersion, size_t, ())                                            \
  X(cublasLtGetStatusString, const char *, (BlasStatus status))                \
  X(cublasLtCreate, BlasStatus, (BlasHandle * handle))                         \
  X(cublasLtDestroy, BlasStatus, (BlasHandle handle))                          \
  X(cublasLtMatmulDescCreate, BlasStatus,                                      \
    (BlasProduct * product, ComputeType compute, DataType scale))              \
  X(cublasLtMatmulDescDestroy, BlasStatus, (BlasProduct product))              \
  X(cublasLtMatmulDescSetAttribute, BlasStatus,                                \
    (BlasProduct product, BlasProductAttribute attribute, const void *value,   \
     size_t bytes))                                                            \
  X(cublasLtMatrixLayoutCreate, BlasStatus,                                    \
    (BlasMatrix * matrix, DataType type, uint64_t rows, uint64_t columns,      \
     int64_t leading))                                                         \
  X(cublasLtMatrixLayoutDestroy, BlasStatus, (BlasMatrix matrix))              \
  X(cublasLtMatrixLayoutSetAttribute, BlasStatus,                              \
    (BlasMatrix matrix, BlasMatrixAttribute attribute, const void *value,      \
     size_t bytes))                                                            \
  X(cublasLtMatmulPreferenceCreate, BlasStatus, (BlasPreference * preference)) \
  X(cublasLtMatmulPreferenceDestroy, BlasStatus, (BlasPreference preference))  \
  X(cublasLtMatmulPreferenceSetAttribute, BlasStatus,                          \
    (BlasPreference preference, BlasPreferenceAttribute attribute,             \
     const void *value, size_t bytes))                                         \
  X(cublasLtMatmulAlgoGetHeuristic, BlasStatus,                                \
    (BlasHandle handle, BlasProduct product, BlasMatrix a, BlasMatrix b,       \
     BlasMatrix c, BlasMatrix d, BlasPreference preference, int wanted,        \
     BlasHeuristic *found, int *count))                                        \
  X(cublasLtMatmul, BlasStatus,                                                \
    (BlasHandle handle, BlasProduct product, const void *alpha, const void *a, \
     BlasMatrix aMatrix, const void *b, BlasMatrix bMatrix, const void *beta,  \
     const void *c, BlasMatrix cMatrix, void *d, BlasMatrix dMatrix,           \
     const BlasAlgorithm *algorithm, void *workspace, size_t workspaceBytes,   \
     CUstream_st *stream))

namespace dist::cuda {

/// Pointers to all of them.
struct BlasFunctions {
#define DIST_BLAS_FUNCTION(name, result, parameters)                           \
  result(*name) parameters = nullptr;
  DIST_BLAS_FUNCTIONS(DIST_BLAS_FUNCTION)
#undef DIST_BLAS_FUNCTION
};

} // namespace dist::cuda

#endif // DIST_RUNTIME_CUDA_BLASAPI_H
