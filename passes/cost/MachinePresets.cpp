//===- MachinePresets.cpp - Machines that are known by name ---------------===//
//
// Files as users write them, composed of common parts; each figure with its
// source.
//
//===----------------------------------------------------------------------===//

#include "passes/cost/Machine.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::dist;

/// The cost of a collective of NCCL.
static constexpr llvm::StringLiteral kCall = R"json(
  "source": "call_seconds: baseLat of ring, Simple in NCCL's src/graph/tuning.cc (2.8)",
  "call_seconds": 8.4e-6,
  "overlap": {
    "start_seconds": 1e-6, "slowdown": 0.189,
    "source": "start_seconds: assumed, an event recorded and one waited for, each as long as op_seconds; slowdown: the mean of arXiv 2507.03114"
  },)json";

static constexpr llvm::StringLiteral kA100 = R"json(
  "device": {
    "flops_per_second": {"f64": 15.2e12, "f32": 15.2e12, "bf16": 243e12, "f16": 243e12},
    "scalar_ops_per_second": 7.6e12,
    "bytes_per_second": 1.83e12,
    "cache_bytes": 0, "cache_bytes_per_second": 1.83e12,
    "memory_bytes": 80e9,
    "op_seconds": 0.5e-6,
    "source": "NVIDIA A100 80GB SXM datasheet: 19.5 (f64, f32), 312 (bf16, f16) TFLOP/s, 2039 GB/s, 80 GB; scalar operations: half of f32's, in which one that adds and multiplies counts as two; times 0.78 for products and 0.9 for memory, the shares that an H200 was seen to reach (770 of 989 TFLOP/s at 8192^3, 4.3 of 4.8 TB/s); no gain of caches is counted. op_seconds: 3.4 us between kernels of 2.9 us in a graph (NVIDIA, Getting Started with CUDA Graphs, 2019)"
  },)json";

static constexpr llvm::StringLiteral kH100 = R"json(
  "device": {
    "flops_per_second": {"f64": 52e12, "f32": 52e12, "bf16": 770e12, "f16": 770e12},
    "scalar_ops_per_second": 26e12,
    "bytes_per_second": 3.0e12,
    "cache_bytes": 0, "cache_bytes_per_second": 3.0e12,
    "memory_bytes": 80e9,
    "op_seconds": 0.5e-6,
    "source": "NVIDIA H100 SXM datasheet: 67 (f64, f32), 989 (bf16, f16) TFLOP/s, 3.35 TB/s, 80 GB; scalar operations: half of f32's, in which one that adds and multiplies counts as two; times 0.78 for products and 0.9 for memory, the shares that an H200 was seen to reach (770 of 989 TFLOP/s at 8192^3, 4.3 of 4.8 TB/s); no gain of caches is counted. op_seconds: 3.4 us between kernels of 2.9 us in a graph (NVIDIA, Getting Started with CUDA Graphs, 2019)"
  },)json";

static constexpr llvm::StringLiteral kNvLink3 = R"json(
    {"name": "NVLink 3", "devices": 8, "bytes_per_second": 235e9, "step_seconds": 3.4e-6,
     "source": "bus bandwidth at which NCCL's src/graph/tuning.cc caps rings of A100 (300 GB/s in the datasheet); hwLat of NVLINK, ring, Simple there"})json";

static constexpr llvm::StringLiteral kNvLink4 = R"json(
    {"name": "NVLink 4", "devices": 8, "bytes_per_second": 370e9, "step_seconds": 3.4e-6,
     "source": "bus bandwidth of all_reduce without NVLS (nccl-tests issue 212; 450 GB/s in the datasheet); hwLat of NVLINK, ring, Simple in NCCL's src/graph/tuning.cc (2.8)"})json";

static constexpr llvm::StringLiteral kInfiniBand = R"json(
    {"name": "InfiniBand NDR", "devices": 512, "bytes_per_second": 50e9, "step_seconds": 9.6e-6,
     "source": "NVIDIA DGX H100 datasheet: one 400 Gb/s adapter a GPU; hwLat of NET, ring, Simple in NCCL's src/graph/tuning.cc (2.8)"})json";

/// Ranks that are threads, each on a core.
static constexpr llvm::StringLiteral kCpu = R"json({
  "name": "cpu",
  "source": "one core of the machine on which dist was developed, an AVX-512 server; dist-calibrate measures another",
  "device": {
    "flops_per_second": {"f64": 120e9, "f32": 240e9, "bf16": 240e9, "f16": 240e9},
    "scalar_ops_per_second": 15e9,
    "bytes_per_second": 20e9,
    "cache_bytes": 0, "cache_bytes_per_second": 20e9,
    "memory_bytes": 32e9,
    "op_seconds": 0.3e-6,
    "source": "contract_benchmark for f32 and bf16; f64 and f16 assumed from the width of vectors; loop nests and memory: kernels of the GPT stack of benchmarks/step_time.py, caches included"
  },
  "call_seconds": 1e-6,
  "overlap": {
    "start_seconds": 50e-6, "slowdown": 0.25,
    "source": "four wake-ups of a thread that shares the core; the GPT stack, with and without transfers beside it, at 1 GB/s 0.05"
  },
  "links": [
    {"name": "memory", "devices": 1024, "bytes_per_second": 5e9, "step_seconds": 0.3e-6,
     "source": "collectives_benchmark on two threads"}
  ]
}
)json";

static MachinePreset makePreset(const char *name, llvm::StringRef device,
                                llvm::ArrayRef<llvm::StringLiteral> links) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "{\n  \"name\": \"" << name << "\"," << kCall << device
         << "\n  \"links\": [";
  llvm::interleave(links, stream, ",");
  stream << "\n  ]\n}\n";
  return {name, text};
}

llvm::ArrayRef<MachinePreset> mlir::dist::getMachinePresets() {
  static const MachinePreset presets[] = {
      {"cpu", kCpu.str()},
      makePreset("8xA100", kA100, {kNvLink3}),
      makePreset("8xH100", kH100, {kNvLink4}),
      makePreset("64x8xH100", kH100, {kNvLink4, kInfiniBand}),
  };
  return presets;
}
