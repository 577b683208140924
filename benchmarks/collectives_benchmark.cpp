//===- collectives_benchmark.cpp - Bandwidth of the threads backend -------===//
//
// Each collective over all ranks, with one tensor of 1, 16 or 64 MB. Prints
// bytes of the whole tensor per second, as figures of shared memory are usually
// given, and the time of the smallest tensor. The first argument is the number
// of ranks.
//
//   bazel-bin/benchmarks/collectives_benchmark
//
//===----------------------------------------------------------------------===//

#include "dist/Tensor.h"
#include "runtime/threads/ThreadsRun.h"

#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

using namespace dist;

namespace {

enum Kind { AllReduce, AllReduceInPlace, AllGather, ReduceScatter, AllToAll };

int32_t call(dist_rank *rank, Kind kind, int64_t count, void *in, void *out) {
  int64_t p = rank->topology.comms[0].size;
  switch (kind) {
  case AllReduce:
    return dist_all_reduce(rank, 0, 0, -1, DIST_F32, DIST_SUM, count, in, out);
  case AllReduceInPlace:
    return dist_all_reduce(rank, 0, 0, -1, DIST_F32, DIST_SUM, count, in, in);
  case AllGather:
    return dist_all_gather(rank, 0, 0, -1, DIST_F32, 1, count, 1, in, out);
  case ReduceScatter:
    return dist_reduce_scatter(rank, 0, 0, -1, DIST_F32, DIST_SUM, 1, count, 1,
                               in, out);
  case AllToAll: // of the local tensor
    return dist_all_to_all(rank, 0, 0, -1, DIST_F32, 1, 1, p, 1, p, count / p,
                           in, out);
  }
  return 1;
}

/// Rank 0 runs the benchmark's loop; it tells the others whether to go on.
void run(benchmark::State &state, Kind kind) {
  int64_t ranks = state.range(0), count = state.range(1) / 4;
  Mesh mesh{{{"a", ranks}}};
  Topology topology;
  topology.mesh = mesh;
  topology.comms.emplace_back(mesh, std::vector<AxisRef>{mesh.whole(0)});
  ThreadsRun threads(topology);
  constexpr int64_t batch = 10; // collectives between two questions
  bool ok = threads.run([&](dist_rank &rank) -> int32_t {
    Tensor in = Tensor::zeros(DIST_F32, {count + 64}),
           out = Tensor::zeros(DIST_F32, {count + 64});
    std::memset(in.data, 0, in.bytes());
    std::memset(out.data, 0, out.bytes());
    int32_t more = 1;
    auto ask = [&](bool again) {
      more = again;
      return dist_broadcast(&rank, 0, 0, -1, DIST_I32, 0, 1, &more, &more);
    };
    if (rank.index == 0) {
      while (state.KeepRunningBatch(batch)) {
        ask(true);
        for (int64_t i = 0; i < batch; ++i)
          call(&rank, kind, count, in.data, out.data);
      }
      return ask(false);
    }
    while (ask(false) == 0 && more)
      for (int64_t i = 0; i < batch; ++i)
        call(&rank, kind, count, in.data, out.data);
    return 0;
  });
  if (!ok)
    state.SkipWithError(threads.message().c_str());
  state.counters["GB/s"] = benchmark::Counter(
      count * 4e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void sizes(benchmark::internal::Benchmark *benchmark) {
  for (int64_t ranks : {2, 4})
    for (int64_t bytes : {4, 65536, 1 << 20, 16 << 20, 64 << 20})
      benchmark->Args({ranks, bytes});
  benchmark->UseRealTime()->Unit(benchmark::kMicrosecond);
}

BENCHMARK_CAPTURE(run, all_reduce, AllReduce)->Apply(sizes);
BENCHMARK_CAPTURE(run, all_reduce_in_place, AllReduceInPlace)->Apply(sizes);
BENCHMARK_CAPTURE(run, all_gather, AllGather)->Apply(sizes);
BENCHMARK_CAPTURE(run, reduce_scatter, ReduceScatter)->Apply(sizes);
BENCHMARK_CAPTURE(run, all_to_all, AllToAll)->Apply(sizes);

} // namespace

BENCHMARK_MAIN();
