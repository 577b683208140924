#!/usr/bin/env python3
"""Compares runtime/cuda/DriverApi.h with NVIDIA's cuda.h, where that is installed: the sizes of types, values, and signatures."""

import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import xunit  # noqa: E402

HEADER = "runtime/cuda/DriverApi.h"
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
PROGRAM = """
#include "{header}"
#include <type_traits>
namespace ours = dist::cuda;
// Before NVIDIA's header makes other names of these.
namespace pointers {{
{pointers}
}}
#include <cuda.h>
// Equal, but for the names of enumerations, and of structures of equal size.
template <class A, class B> constexpr bool areAlike() {{
  if constexpr (std::is_same_v<A, B>) return true;
  else if constexpr (std::is_enum_v<A> && std::is_enum_v<B>) return sizeof(A) == sizeof(B);
  else return false;
}}
template <class A, class B> struct Same : std::bool_constant<areAlike<A, B>()> {{}};
template <> struct Same<ours::Uuid, CUuuid> : std::bool_constant<sizeof(ours::Uuid) == sizeof(CUuuid)> {{}};
template <class A, class B> struct Same<A *, B *> : Same<A, B> {{}};
template <class R, class... A, class S, class... B> struct Same<R (*)(A...), S (*)(B...)> {{
  static constexpr bool value = [] {{
    if constexpr (sizeof...(A) == sizeof...(B)) return Same<R, S>::value && (Same<A, B>::value && ...);
    else return false;
  }}();
}};
{checks}
"""


def find_header():
    return next((folder for folder in FOLDERS if os.path.exists(os.path.join(folder, "cuda.h"))), None)


def constant(name, enumeration):
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()
    return NAMES.get(name) or PREFIXES[enumeration] + words


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


def read_checks():
    with open(HEADER, encoding="utf-8") as file:
        checks, functions = make_checks(file.read())
    assert len(functions) > 40 and len(checks) > len(functions) + 40, checks
    assert len(set(checks)) == len(checks), checks
    return checks, functions


def check(extra=""):
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "check.cpp")
        with open(source, "w", encoding="utf-8") as file:
            checks, functions = read_checks()
            pointers = [f"using F{i} = decltype(ours::DriverFunctions::{name});" for i, name in enumerate(functions)]
            file.write(PROGRAM.format(header=HEADER, pointers="\n".join(pointers), checks="\n".join([*checks, extra])))
        compiler = sorted(glob.glob("/usr/lib/llvm-*/bin/clang++"))[-1]
        command = [compiler, "-std=c++20", "-fsyntax-only", "-ferror-limit=0", "-I.", "-isystem", find_header(), source]
        return subprocess.run(command, capture_output=True, text=True, check=False)


def check_equal():
    done = check()
    assert done.returncode == 0, done.stderr


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
    cases = {"declarations": read_checks}
    if find_header():
        cases |= {"driver_api": check_equal, "differences_show": check_differences_show}
    else:
        print("skipped: no cuda.h is installed, with which runtime/cuda/DriverApi.h is compared")
    return xunit.run("runtime.cuda", cases)


if __name__ == "__main__":
    sys.exit(main())
