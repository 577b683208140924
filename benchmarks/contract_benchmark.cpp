//===- contract_benchmark.cpp - GF/s of dist_contract on one core ---------===//
//
// The products of a GPT block (b 4, s 256, h 512, 8 heads), as the compiler
// calls them: 3-d activations, weights stored [k, n] or [n, k], heads in either
// layout. The bound is oneDNN's dnnl_sgemm on one plain product in the same
// run.
//
//   taskset -c 1 bazel-bin/benchmarks/contract_benchmark
//
//===----------------------------------------------------------------------===//

#include "dist/Tensor.h"
#include "runtime/threads/ThreadsBackend.h"

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

using namespace dist;

namespace {

constexpr int64_t B = DIST_LOOP_BATCH, M = DIST_LOOP_M, N = DIST_LOOP_N,
                  K = DIST_LOOP_K;

struct Product {
  std::string name;
  std::vector<int64_t> loops;
};

/// [b, s, k] times a weight of k x n.
Product linear(int64_t k, int64_t n, bool transposed) {
  const int64_t b = 4, s = 256;
  std::string name = std::to_string(b * s) + "x" + std::to_string(k) + "x" +
                     std::to_string(n) + (transposed ? " [n,k]" : " [k,n]");
  return {name, {M,     b, s * k, 0,
                 s * n, //
                 M,     s, k,     0,
                 n, //
                 N,     n, 0,     transposed ? k : 1,
                 1, //
                 K,     k, 1,     transposed ? 1 : n,
                 0}};
}

/// The gradient of a weight of k x n: the sum over b and s of what is read
/// times what comes back.
Product weightGradient(int64_t k, int64_t n, bool transposed) {
  const int64_t b = 4, s = 256;
  std::string name = std::to_string(k) + "x" + std::to_string(b * s) + "x" +
                     std::to_string(n) + " gradient of " +
                     (transposed ? "[n,k]" : "[k,n]");
  return {name,
          {M,
           k,
           1,
           0,
           transposed ? 1 : n, //
           N,
           n,
           0,
           1,
           transposed ? k : 1, //
           K,
           b,
           s * k,
           s * n,
           0, //
           K,
           s,
           k,
           n,
           0}};
}

/// 32 products of 256x64x256 (scores) or 256x256x64 (values). `headStride` and
/// `rowStride` are those of q, k and v.
Product attention(const std::string &name, bool scores, int64_t headStride,
                  int64_t rowStride, int64_t batchStride) {
  const int64_t b = 4, h = 8, s = 256, d = 64;
  const int64_t scoreBatch = h * s * s, scoreHead = s * s;
  if (scores)
    return {"32x256x64x256 scores " + name,
            {B, b, batchStride, batchStride, scoreBatch, //
             B, h, headStride,  headStride,  scoreHead,  //
             M, s, rowStride,   0,           s,          //
             N, s, 0,           rowStride,   1,          //
             K, d, 1,           1,           0}};
  // The result has the storage of the context, [b, s, h, d] where v has it.
  bool bhsd = rowStride == d;
  return {"32x256x256x64 values " + name,
          {B, b, scoreBatch, batchStride, h * s * d,        //
           B, h, scoreHead,  headStride,  bhsd ? s * d : d, //
           M, s, s,          0,           bhsd ? d : h * d, //
           N, d, 0,          1,           1,                //
           K, s, 1,          rowStride,   0}};
}

std::vector<Product> products() {
  const int64_t h = 8, s = 256, d = 64;
  std::vector<Product> result;
  for (auto [k, n] : {std::pair<int64_t, int64_t>{512, 2048},
                      {2048, 512},
                      {512, 1536},
                      {512, 512}})
    for (bool transposed : {false, true})
      for (auto make : {linear, weightGradient})
        result.push_back(make(k, n, transposed));
  for (bool scores : {true, false}) {
    result.push_back(attention("[b,h,s,d]", scores, s * d, d, h * s * d));
    result.push_back(attention("[b,s,h,d]", scores, d, h * d, h * s * d));
    result.push_back(
        attention("fused q|k|v", scores, d, 3 * h * d, 3 * h * s * d));
  }
  return result;
}

void run(benchmark::State &state, const Product &product) {
  int64_t loops = product.loops.size() / DIST_LOOP_FIELDS;
  double flops = 2;
  for (int64_t i = 0; i < loops; ++i)
    flops *= product.loops[i * DIST_LOOP_FIELDS + 1];
  Tensor a = randomTensor(DIST_F32, {8 << 20}, 1),
         b = randomTensor(DIST_F32, {8 << 20}, 2),
         c = Tensor::zeros(DIST_F32, {8 << 20});
  Mesh mesh;
  ThreadsRun ranks({mesh, {}, {}});
  ranks.run([&](dist_rank &rank) -> int32_t {
    for (auto _ : state)
      if (dist_contract(&rank, DIST_F32, DIST_F32, 0, loops,
                        product.loops.data(), a.data, b.data, c.data))
        return 1;
    return 0;
  });
  state.counters["GF/s"] = benchmark::Counter(
      flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

} // namespace

int main(int argc, char **argv) {
  for (const Product &product : products())
    benchmark::RegisterBenchmark(
        product.name.c_str(),
        [product](benchmark::State &state) { run(state, product); })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
