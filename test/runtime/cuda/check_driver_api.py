#!/usr/bin/env python3
"""Compares runtime/cuda/DriverApi.h with NVIDIA's cuda.h, BlasApi.h with cublasLt.h and NcclApi.h with nccl.h, where these
are installed: the sizes of types, values, and signatures."""

import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import xunit  # noqa: E402

HEADER = "runtime/cuda/DriverApi.h"
BLAS_HEADER = "runtime/cuda/BlasApi.h"
NCCL_HEADER = "runtime/cuda/NcclApi.h"
FOLDERS = [os.environ.get("CUDA_HOME", "") + "/include", "/usr/local/cuda/include", "/usr/include"]
# Our names of NVIDIA's values.
PREFIXES = {
    "Result": "CUDA_ERROR_",
    "DeviceAttribute": "CU_DEVICE_ATTRIBUTE_",
    "FunctionAttribute": "CU_FUNC_ATTRIBUTE_",
}
NAMES = {
    "Success": "CUDA_SUCCESS",
    "CaptureUnsupported": "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
    "CaptureInvalidated": "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
    "CaptureUnmatched": "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
    "CaptureUnjoined": "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
    "CaptureIsolation": "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
    "MaxSharedBytesPerBlock": "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK",
    "CapabilityMajor": "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR",
    "CapabilityMinor": "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR",
    "MaxSharedBytesOptin": "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
    "FunctionMaxThreads": "CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK",
    "FunctionSharedBytes": "CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES",
    "FunctionLocalBytes": "CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES",
    "FunctionRegisters": "CU_FUNC_ATTRIBUTE_NUM_REGS",
    "FunctionMaxDynamicSharedBytes": "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES",
    "JitErrorLog": "CU_JIT_ERROR_LOG_BUFFER",
    "JitErrorLogBytes": "CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES",
    "StreamNonBlocking": "CU_STREAM_NON_BLOCKING",
    "EventDisableTiming": "CU_EVENT_DISABLE_TIMING",
    "CaptureThreadLocal": "CU_STREAM_CAPTURE_MODE_THREAD_LOCAL",
    "CaptureNone": "CU_STREAM_CAPTURE_STATUS_NONE",
    "CaptureActive": "CU_STREAM_CAPTURE_STATUS_ACTIVE",
    "CaptureBroken": "CU_STREAM_CAPTURE_STATUS_INVALIDATED",
    "ProcFound": "CU_GET_PROC_ADDRESS_SUCCESS",
    "ProcNotFound": "CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND",
    "ProcTooNew": "CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT",
}
BLAS_NAMES = {
    "BlasSuccess": "CUBLAS_STATUS_SUCCESS",
    "BlasInvalidValue": "CUBLAS_STATUS_INVALID_VALUE",
    "BlasExecutionFailed": "CUBLAS_STATUS_EXECUTION_FAILED",
    "BlasNotSupported": "CUBLAS_STATUS_NOT_SUPPORTED",
    "Real32F": "CUDA_R_32F",
    "Real64F": "CUDA_R_64F",
    "Real16F": "CUDA_R_16F",
    "Real16BF": "CUDA_R_16BF",
    "Compute32F": "CUBLAS_COMPUTE_32F",
    "Compute64F": "CUBLAS_COMPUTE_64F",
    "BlasTransposeA": "CUBLASLT_MATMUL_DESC_TRANSA",
    "BlasTransposeB": "CUBLASLT_MATMUL_DESC_TRANSB",
    "BlasBatchCount": "CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT",
    "BlasBatchStride": "CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET",
    "BlasMostWorkspace": "CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES",
    "BlasReductionSchemes": "CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK",
    "BlasAlignmentA": "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES",
    "BlasAlignmentB": "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES",
    "BlasAlignmentC": "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES",
    "BlasAlignmentD": "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES",
}
NCCL_NAMES = {
    "NcclSuccess": "ncclSuccess",
    "NcclSystemError": "ncclSystemError",
    "NcclInvalidArgument": "ncclInvalidArgument",
    "NcclInvalidUsage": "ncclInvalidUsage",
    "NcclRemoteError": "ncclRemoteError",
    "NcclInProgress": "ncclInProgress",
    "NcclInt8": "ncclInt8",
}
# What is only equal in size, or opaque.
SAME = """
template <> struct Same<ours::Uuid, CUuuid> : std::bool_constant<sizeof(ours::Uuid) == sizeof(CUuuid)> {};
"""
BLAS_SAME = """
template <> struct Same<ours::BlasProductOpaque, cublasLtMatmulDescOpaque_t> : std::true_type {};
template <> struct Same<ours::BlasMatrixOpaque, cublasLtMatrixLayoutOpaque_t> : std::true_type {};
template <> struct Same<ours::BlasPreferenceOpaque, cublasLtMatmulPreferenceOpaque_t> : std::true_type {};
template <> struct Same<ours::BlasAlgorithm, cublasLtMatmulAlgo_t> : std::bool_constant<
    sizeof(ours::BlasAlgorithm) == sizeof(cublasLtMatmulAlgo_t)> {};
template <> struct Same<const ours::BlasAlgorithm, const cublasLtMatmulAlgo_t> : std::bool_constant<
    sizeof(ours::BlasAlgorithm) == sizeof(cublasLtMatmulAlgo_t)> {};
using Found = cublasLtMatmulHeuristicResult_t;
template <> struct Same<ours::BlasHeuristic, Found> : std::bool_constant<
    sizeof(ours::BlasHeuristic) == sizeof(Found) &&
    offsetof(ours::BlasHeuristic, workspaceBytes) == offsetof(Found, workspaceSize) &&
    offsetof(ours::BlasHeuristic, state) == offsetof(Found, state)> {};
"""
NCCL_SAME = """
template <> struct Same<ours::NcclId, ncclUniqueId> : std::bool_constant<sizeof(ours::NcclId) == sizeof(ncclUniqueId)> {};
"""
PROGRAM = """
#include "{header}"
#include <cstddef>
#include <type_traits>
namespace ours = dist::cuda;
// Before NVIDIA's header makes other names of these.
namespace pointers {{
{pointers}
}}
#include <{theirs}>
// Equal, but for the names of enumerations, and of structures of equal size.
template <class A, class B> constexpr bool areAlike() {{
  if constexpr (std::is_same_v<A, B>) return true;
  else if constexpr (std::is_enum_v<A> && std::is_enum_v<B>) return sizeof(A) == sizeof(B);
  else return false;
}}
template <class A, class B> struct Same : std::bool_constant<areAlike<A, B>()> {{}};
template <class A, class B> struct Same<A *, B *> : Same<A, B> {{}};
{same}
template <class R, class... A, class S, class... B> struct Same<R (*)(A...), S (*)(B...)> {{
  static constexpr bool value = [] {{
    if constexpr (sizeof...(A) == sizeof...(B)) return Same<R, S>::value && (Same<A, B>::value && ...);
    else return false;
  }}();
}};
{checks}
"""


def find_header(name="cuda.h"):
    return next((folder for folder in FOLDERS if os.path.exists(os.path.join(folder, name))), None)


def constant(name, enumeration):
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()
    return NAMES.get(name) or BLAS_NAMES.get(name) or NCCL_NAMES.get(name) or PREFIXES[enumeration] + words


def make_checks(text):
    checks = []
    for name, body in re.findall(r"enum (\w+) : \w+ \{([^}]*)\}", text):
        for value in re.findall(r"(\w+)(?: = \d+)?\s*(?:,|$)", body.strip()):
            checks.append(f'static_assert(int(ours::{value}) == int({constant(value, name)}), "{value}");')
    # By number: NVIDIA's names are macros.
    functions = re.findall(r"^  X\((\w+),", text, re.M)
    for i, name in enumerate(functions):
        checks.append(f'static_assert(Same<pointers::F{i}, decltype(&{name})>::value, "{name}");')
    return checks, functions


def read_checks(header=HEADER, least=40):
    with open(header, encoding="utf-8") as file:
        checks, functions = make_checks(file.read())
    assert len(functions) > least and len(checks) > len(functions) + least, checks
    assert len(set(checks)) == len(checks), checks
    return checks, functions


def check(extra="", header=HEADER, theirs="cuda.h", table="DriverFunctions", same=SAME, least=40):
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "check.cpp")
        with open(source, "w", encoding="utf-8") as file:
            checks, functions = read_checks(header, least)
            pointers = [f"using F{i} = decltype(ours::{table}::{name});" for i, name in enumerate(functions)]
            text = "\n".join([*checks, extra])
            file.write(PROGRAM.format(header=header, theirs=theirs, same=same, pointers="\n".join(pointers), checks=text))
        compiler = sorted(glob.glob("/usr/lib/llvm-*/bin/clang++"))[-1]
        command = [compiler, "-std=c++20", "-fsyntax-only", "-ferror-limit=0", "-I.", "-isystem", find_header(), source]
        return subprocess.run(command, capture_output=True, text=True, check=False)


def check_equal():
    done = check()
    assert done.returncode == 0, done.stderr


def check_blas(extra=""):
    return check(extra, BLAS_HEADER, "cublasLt.h", "BlasFunctions", BLAS_SAME, least=14)


def check_blas_equal():
    done = check_blas()
    assert done.returncode == 0, done.stderr
    wrong = check_blas('static_assert(Same<ours::BlasStatus (*)(int), decltype(&cublasLtCreate)>::value, "handle");').stderr
    assert re.search("static assertion failed.*handle", wrong), wrong


def check_nccl(extra=""):
    return check(extra, NCCL_HEADER, "nccl.h", "NcclFunctions", NCCL_SAME, least=6)


def check_nccl_equal():
    done = check_nccl()
    assert done.returncode == 0, done.stderr
    wrong = check_nccl('static_assert(Same<ours::NcclResult (*)(int), decltype(&ncclGetVersion)>::value, "version");').stderr
    assert re.search("static assertion failed.*version", wrong), wrong


def check_differences_show():
    wrong = [
        'static_assert(Same<ours::Result (*)(int *), decltype(&cuDeviceGetCount)>::value, "right");',
        'static_assert(Same<ours::Result (*)(unsigned *), decltype(&cuDeviceGetCount)>::value, "unsigned");',
        'static_assert(Same<ours::Result (*)(int), decltype(&cuDeviceGetCount)>::value, "pointer");',
        'static_assert(Same<ours::Result (*)(int *, int), decltype(&cuDeviceGetCount)>::value, "count");',
    ]
    errors = check("\n".join(wrong)).stderr
    assert "right" not in re.findall(r"static assertion failed[^:]*: (\w+)", errors), errors
    for word in "unsigned", "pointer", "count":
        assert re.search(rf"static assertion failed.*{word}", errors), errors


def main():
    cases = {
        "declarations": read_checks,
        "blas_declarations": lambda: read_checks(BLAS_HEADER, 14),
        "nccl_declarations": lambda: read_checks(NCCL_HEADER, 6),
    }
    if find_header("nccl.h"):
        cases["nccl_api"] = check_nccl_equal
    else:
        print("skipped: no nccl.h is installed, with which runtime/cuda/NcclApi.h is compared")
    if find_header("cublasLt.h"):
        cases["blas_api"] = check_blas_equal
    else:
        print("skipped: no cublasLt.h is installed, with which runtime/cuda/BlasApi.h is compared")
    if find_header():
        cases |= {"driver_api": check_equal, "differences_show": check_differences_show}
    else:
        print("skipped: no cuda.h is installed, with which runtime/cuda/DriverApi.h is compared")
    return xunit.run("runtime.cuda", cases)


if __name__ == "__main__":
    sys.exit(main())
