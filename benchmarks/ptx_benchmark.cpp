//===- ptx_benchmark.cpp - Speed of the PTX executor ----------------------===//
//
// Kernels of test/runtime/emulated/Inputs/kernels.ptx on one core, in thread
// instructions a second of processor time, with all checks and counts.
//
//   bazel run //benchmarks:ptx_benchmark
//
//===----------------------------------------------------------------------===//

#include "runtime/emulated/Executor.h"

#include <benchmark/benchmark.h>

#include <fstream>
#include <iterator>

using namespace dist::emulated;

namespace {

std::string readKernels() {
  std::ifstream file("test/runtime/emulated/Inputs/kernels.ptx");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Buffers of `count` floats, all but the last one written.
void run(benchmark::State &state, const char *kernel, LaunchShape shape,
         const std::vector<uint64_t> &counts,
         const std::vector<uint32_t> &numbers) {
  Memory memory;
  Module module(readKernels(), "kernels.ptx", memory);
  std::vector<void *> buffers;
  for (uint64_t count : counts) {
    auto *data = static_cast<float *>(memory.allocate(count * 4, "buffer"));
    for (uint64_t i = 0; i < count; ++i)
      data[i] = float(i % 1000) / 100 - 5;
    memory.setWritten(data, count * 4, buffers.size() + 1 < counts.size());
    buffers.push_back(data);
  }
  std::vector<const void *> arguments;
  for (void *&buffer : buffers)
    arguments.push_back(&buffer);
  for (const uint32_t &number : numbers)
    arguments.push_back(&number);
  int64_t instructions = 0;
  for (auto _ : state) {
    LaunchResult result = launch(module, kernel, shape, arguments);
    if (!result.reports.empty())
      state.SkipWithError(result.reports[0].str().c_str());
    instructions += result.counts.threadInstructions;
  }
  state.SetItemsProcessed(instructions);
}

void layerNorm(benchmark::State &state) {
  run(state, "layer_norm", {{256, 1, 1}, {256, 1, 1}, 0},
      {256 * 2048, 2048, 2048, 256 * 2048}, {});
}
void softmax(benchmark::State &state) {
  run(state, "softmax", {{256, 1, 1}, {256, 1, 1}, 0},
      {2048 * 512, 2048 * 512}, {});
}
void transpose(benchmark::State &state) {
  run(state, "transpose", {{32, 32, 1}, {32, 8, 1}, 0},
      {1024 * 1024, 1024 * 1024}, {1024, 1024});
}
void vectorAdd(benchmark::State &state) {
  run(state, "vector_add", {{4096, 1, 1}, {256, 1, 1}, 0},
      {1 << 20, 1 << 20, 1 << 20}, {1 << 20});
}

BENCHMARK(layerNorm)->Unit(benchmark::kMillisecond);
BENCHMARK(softmax)->Unit(benchmark::kMillisecond);
BENCHMARK(transpose)->Unit(benchmark::kMillisecond);
BENCHMARK(vectorAdd)->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
