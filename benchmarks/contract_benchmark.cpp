//===- contract_benchmark.cpp - GF/s of dist_contract on one core ---------===//
//
// Matrix products as the compiler calls them. Some have the constant weights of
// exported models. Others are those of a training step of a GPT block: batch 4,
// sequence 256, hidden 512, 8 heads. Their activations have three dimensions,
// weights are stored [k, n] or [n, k], heads in either layout.
//
// Beside each stands what other libraries reach on a plain product of the same
// sizes, b stored either way: oneDNN's dnnl_sgemm, and libraries with
// cblas_sgemm that are named. All run in turns; the best turn counts.
//
//   taskset -c 1 bazel-bin/benchmarks/contract_benchmark
//       [--only TEXT] [--turns N] [NAME=libopenblas.so.0 ...]
//
// The limit of AVX2 can be tried on a machine with AVX-512 by
// ONEDNN_MAX_CPU_ISA=AVX2; the other libraries have their own variables.
//
// Exit status 1 if a product with a constant weight reaches less than 0.95 of
// the best library.
//
//===----------------------------------------------------------------------===//

#include "dist/Tensor.h"
#include "runtime/cpu/Dnnl.h"
#include "runtime/threads/ThreadsRun.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <string>
#include <vector>

using namespace dist;

namespace {

constexpr int64_t B = DIST_LOOP_BATCH, M = DIST_LOOP_M, N = DIST_LOOP_N,
                  K = DIST_LOOP_K;

struct Product {
  std::string name;
  std::vector<int64_t> loops;
  int32_t flags = 0;
};

/// [m, k] times a constant weight of k x n.
Product constant(const std::string &layer, int64_t m, int64_t k, int64_t n) {
  std::string name = layer + " " + std::to_string(m) + "x" + std::to_string(k) +
                     "x" + std::to_string(n);
  return {name,
          {M, m, k, 0, n, N, n, 0, 1, 1, K, k, 1, n, 0},
          DIST_CONTRACT_CONSTANT_B};
}

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
  std::vector<Product> result{
      constant("ViT q", 197, 768, 768),
      constant("ViT up", 197, 768, 3072),
      constant("ViT down", 197, 3072, 768),
      constant("BERT q", 512, 768, 768),
      constant("BERT up", 512, 768, 3072),
      constant("BERT down", 512, 3072, 768),
      constant("LLaMA q", 512, 512, 512),
      constant("LLaMA k", 512, 512, 128),
      constant("LLaMA up", 512, 512, 1376),
      constant("LLaMA down", 512, 1376, 512),
      constant("ConvNeXt 1 up", 3136, 96, 384),
      constant("ConvNeXt 1 down", 3136, 384, 96),
      constant("ConvNeXt 2 up", 784, 192, 768),
      constant("ConvNeXt 2 down", 784, 768, 192),
      constant("ConvNeXt 3 up", 196, 384, 1536),
      constant("ConvNeXt 3 down", 196, 1536, 384),
      constant("ConvNeXt 4 up", 49, 768, 3072),
      constant("ConvNeXt 4 down", 49, 3072, 768),
      constant("GPT-2 up", 128, 768, 3072),
      constant("ResNet classes", 1, 2048, 1000)};
  const int64_t h = 8, s = 256, d = 64;
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

using Sgemm = std::function<void(bool transposedB, int64_t m, int64_t n,
                                 int64_t k, const float *a, const float *b,
                                 float *c)>;

struct Library {
  std::string name;
  Sgemm sgemm;
};

/// A library with cblas_sgemm, given as NAME=FILE.
Library load(const std::string &argument) {
  size_t equals = argument.find('=');
  std::string file =
      equals == std::string::npos ? argument : argument.substr(equals + 1);
  // Libraries for BLAS export the same names: each is to find its own.
  void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  void *function = library ? dlsym(library, "cblas_sgemm") : nullptr;
  if (!function) {
    std::fprintf(stderr, "contract_benchmark: %s\n", dlerror());
    std::exit(1);
  }
  auto cblas = reinterpret_cast<void (*)(int, int, int, int, int, int, float,
                                         const float *, int, const float *, int,
                                         float, float *, int)>(function);
  constexpr int rowMajor = 101, plain = 111, transpose = 112;
  return {argument.substr(0, equals),
          [cblas](bool transposedB, int64_t m, int64_t n, int64_t k,
                  const float *a, const float *b, float *c) {
            cblas(rowMajor, plain, transposedB ? transpose : plain, m, n, k, 1,
                  a, k, b, transposedB ? k : n, 0, c, n);
          }};
}

/// Calls what is given in turns, with the number of the call; returns the best
/// time of each, in seconds a call.
std::vector<double>
measure(double flops, int turns,
        const std::vector<std::function<void(int64_t)>> &ways) {
  using Clock = std::chrono::steady_clock;
  int64_t calls = std::max<int64_t>(1, 1e9 / flops);
  std::vector<double> best(ways.size(), 1e9);
  for (int turn = 0; turn <= turns; ++turn)
    for (size_t i = 0; i < ways.size(); ++i) {
      auto start = Clock::now();
      for (int64_t call = 0; call < calls; ++call)
        ways[i](call);
      std::chrono::duration<double> time = Clock::now() - start;
      if (turn > 0) // operands are packed in the first
        best[i] = std::min(best[i], time.count() / calls);
    }
  return best;
}

} // namespace

int main(int argc, char **argv) {
  std::string only;
  int turns = 5;
  std::vector<Library> libraries{
      {"oneDNN", [](bool transposedB, int64_t m, int64_t n, int64_t k,
                    const float *a, const float *b, float *c) {
         dnnl_sgemm('N', transposedB ? 'T' : 'N', m, n, k, 1, a, k, b,
                    transposedB ? k : n, 0, c, n);
       }}};
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--only" && i + 1 < argc)
      only = argv[++i];
    else if (argument == "--turns" && i + 1 < argc)
      turns = std::max(1, std::atoi(argv[++i]));
    else if (argument.find('=') != std::string::npos)
      libraries.push_back(load(argument));
    else {
      std::fprintf(stderr, "usage: contract_benchmark [--only TEXT] "
                           "[--turns N] [NAME=LIBRARY ...]\n");
      return 2;
    }
  }

  std::printf("%-44s %7s", "GF/s", "dist");
  for (const Library &library : libraries)
    std::printf(" %8s", library.name.c_str());
  std::printf("  dist/best\n");
  constexpr int64_t elements = 16 << 20;
  Tensor a = randomTensor(DIST_F32, {elements}, 1),
         b = randomTensor(DIST_F32, {elements}, 2),
         c = Tensor::zeros(DIST_F32, {elements});
  auto *dataA = reinterpret_cast<const float *>(a.data),
       *dataB = reinterpret_cast<const float *>(b.data);
  auto *dataC = reinterpret_cast<float *>(c.data);
  bool reached = true;
  Mesh mesh;
  ThreadsRun ranks({mesh, {}, {}});
  bool ran = ranks.run([&](dist_rank &rank) -> int32_t {
    useOneThread();
    for (const Product &product : products()) {
      if (product.name.find(only) == std::string::npos)
        continue;
      int32_t loops = product.loops.size() / DIST_LOOP_FIELDS;
      int64_t sizes[] = {1, 1, 1, 1}; // by kind
      double flops = 2;
      for (int64_t i = 0; i < loops; ++i) {
        const int64_t *loop = &product.loops[i * DIST_LOOP_FIELDS];
        sizes[loop[0]] *= loop[1];
        flops *= loop[1];
      }
      int64_t m = sizes[M], n = sizes[N], k = sizes[K];
      // A model has many weights: caches do not hold them.
      int64_t weights =
          product.flags ? std::min<int64_t>(8, elements / (k * n)) : 1;
      auto weight = [&](int64_t call) {
        return dataB + call % weights * (k * n);
      };
      bool failed = false;
      std::vector<std::function<void(int64_t)>> ways{[&](int64_t call) {
        failed |= dist_contract(&rank, DIST_F32, DIST_F32, product.flags, loops,
                                product.loops.data(), dataA, weight(call),
                                dataC);
      }};
      for (const Library &library : libraries)
        for (bool transposed : {false, true})
          ways.push_back([&, transposed](int64_t call) {
            for (int64_t i = 0; i < sizes[B]; ++i)
              library.sgemm(transposed, m, n, k, dataA + i * m * k,
                            weight(call) + i * k * n, dataC + i * m * n);
          });
      std::vector<double> times = measure(flops, turns, ways);
      if (failed)
        return 1;
      std::printf("%-44s %7.1f", product.name.c_str(), flops / times[0] * 1e-9);
      double best = 1e9;
      for (size_t i = 1; i < times.size(); i += 2) {
        double time = std::min(times[i], times[i + 1]);
        best = std::min(best, time);
        std::printf(" %8.1f", flops / time * 1e-9);
      }
      std::printf("  %.2f\n", best / times[0]);
      std::fflush(stdout);
      reached &= !product.flags || best / times[0] >= 0.95;
    }
    return 0;
  });
  return ran && reached ? 0 : 1;
}
