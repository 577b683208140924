//===- MachinePresets.cpp - Machines that are known by name ---------------===//
//
// Files as users write them; each figure with its source.
//
//===----------------------------------------------------------------------===//

#include "passes/cost/Machine.h"

using namespace mlir::dist;

static constexpr MachinePreset kPresets[] = {
    {"8xA100", R"json({
  "name": "8xA100",
  "source": "call_seconds: baseLat of ring, Simple in NCCL's src/graph/tuning.cc (2.8)",
  "device": {
    "flops_per_second": {"f64": 15.2e12, "f32": 15.2e12, "bf16": 243e12, "f16": 243e12},
    "bytes_per_second": 1.83e12,
    "memory_bytes": 80e9,
    "op_seconds": 0.5e-6,
    "source": "NVIDIA A100 80GB SXM datasheet: 19.5 (f64, f32), 312 (bf16, f16) TFLOP/s, 2039 GB/s, 80 GB; times 0.78 for products and 0.9 for memory, the shares that an H200 was seen to reach (770 of 989 TFLOP/s at 8192^3, 4.3 of 4.8 TB/s). op_seconds: 3.4 us between kernels of 2.9 us in a graph (NVIDIA, Getting Started with CUDA Graphs, 2019)"
  },
  "call_seconds": 8.4e-6,
  "links": [
    {"name": "NVLink 3", "devices": 8, "bytes_per_second": 235e9, "step_seconds": 3.4e-6,
     "source": "bus bandwidth at which NCCL's src/graph/tuning.cc caps rings of A100 (300 GB/s in the datasheet); hwLat of NVLINK, ring, Simple there"}
  ]
}
)json"},
    {"8xH100", R"json({
  "name": "8xH100",
  "source": "call_seconds: baseLat of ring, Simple in NCCL's src/graph/tuning.cc (2.8)",
  "device": {
    "flops_per_second": {"f64": 52e12, "f32": 52e12, "bf16": 770e12, "f16": 770e12},
    "bytes_per_second": 3.0e12,
    "memory_bytes": 80e9,
    "op_seconds": 0.5e-6,
    "source": "NVIDIA H100 SXM datasheet: 67 (f64, f32), 989 (bf16, f16) TFLOP/s, 3.35 TB/s, 80 GB; times 0.78 for products and 0.9 for memory, the shares that an H200 was seen to reach (770 of 989 TFLOP/s at 8192^3, 4.3 of 4.8 TB/s). op_seconds: 3.4 us between kernels of 2.9 us in a graph (NVIDIA, Getting Started with CUDA Graphs, 2019)"
  },
  "call_seconds": 8.4e-6,
  "links": [
    {"name": "NVLink 4", "devices": 8, "bytes_per_second": 370e9, "step_seconds": 3.4e-6,
     "source": "bus bandwidth of all_reduce without NVLS (nccl-tests issue 212; 450 GB/s in the datasheet); hwLat of NVLINK, ring, Simple in NCCL's src/graph/tuning.cc (2.8)"}
  ]
}
)json"},
    {"64x8xH100", R"json({
  "name": "64x8xH100",
  "source": "call_seconds: baseLat of ring, Simple in NCCL's src/graph/tuning.cc (2.8)",
  "device": {
    "flops_per_second": {"f64": 52e12, "f32": 52e12, "bf16": 770e12, "f16": 770e12},
    "bytes_per_second": 3.0e12,
    "memory_bytes": 80e9,
    "op_seconds": 0.5e-6,
    "source": "NVIDIA H100 SXM datasheet: 67 (f64, f32), 989 (bf16, f16) TFLOP/s, 3.35 TB/s, 80 GB; times 0.78 for products and 0.9 for memory, the shares that an H200 was seen to reach (770 of 989 TFLOP/s at 8192^3, 4.3 of 4.8 TB/s). op_seconds: 3.4 us between kernels of 2.9 us in a graph (NVIDIA, Getting Started with CUDA Graphs, 2019)"
  },
  "call_seconds": 8.4e-6,
  "links": [
    {"name": "NVLink 4", "devices": 8, "bytes_per_second": 370e9, "step_seconds": 3.4e-6,
     "source": "bus bandwidth of all_reduce without NVLS (nccl-tests issue 212; 450 GB/s in the datasheet); hwLat of NVLINK, ring, Simple in NCCL's src/graph/tuning.cc (2.8)"},
    {"name": "InfiniBand NDR", "devices": 512, "bytes_per_second": 50e9, "step_seconds": 9.6e-6,
     "source": "NVIDIA DGX H100 datasheet: one 400 Gb/s adapter a GPU; hwLat of NET, ring, Simple in NCCL's src/graph/tuning.cc (2.8)"}
  ]
}
)json"},
};

llvm::ArrayRef<MachinePreset> mlir::dist::getMachinePresets() {
  return kPresets;
}
