//===- Products.cpp - Contractions by cuBLASLt ----------------------------===//

#include "runtime/cuda/Products.h"
#include "dist/Tensor.h"
#include "runtime/cuda/Library.h"
#include "runtime/rank/ContractLoops.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <optional>

using namespace dist;
using namespace dist::cuda;

/// A library of CUDA 13 needs a driver that knows it.
static LibraryName nameOf(const Driver &driver) {
  int version = 0;
  driver.check(driver.cuDriverGetVersion(&version), "the driver's version");
  if (version < 13000)
    return {{"libcublasLt.so.12"},
            {"cublas"},
            "cuBLAS 12, as this driver is of CUDA 12 (NVIDIA's toolkit; pip "
            "install nvidia-cublas-cu12)"};
  return {{"libcublasLt.so.13", "libcublasLt.so.12"},
          {"cu13", "cublas"},
          "cuBLAS 13 (NVIDIA's toolkit; pip install nvidia-cublas)"};
}

Products::Products(const Driver &driver) {
  // What the library would do otherwise where the environment says so.
  setenv("NVIDIA_TF32_OVERRIDE", "0", /*overwrite=*/1);
  unsetenv("CUBLAS_EMULATE_SINGLE_PRECISION");
  unsetenv("CUBLAS_EMULATE_DOUBLE_PRECISION");
  // The emulated driver has a stand-in of the library.
  void *library =
      driver.isEmulated() ? driver.library() : loadLibrary(nameOf(driver));
#define DIST_BLAS_FIND(name, result, parameters)                               \
  blas.name = reinterpret_cast<decltype(blas.name)>(dlsym(library, #name));    \
  if (!blas.name)                                                              \
    throw Error("cuBLASLt has no " #name ": it is older than 12");
  DIST_BLAS_FUNCTIONS(DIST_BLAS_FIND)
#undef DIST_BLAS_FIND
  check(blas.cublasLtCreate(&handle), "cublasLtCreate");
}

Products::~Products() {
  plans.clear();
  if (handle)
    blas.cublasLtDestroy(handle);
}

void Products::check(BlasStatus status, const std::string &doing) const {
  if (status != BlasSuccess)
    throw Error("cuBLASLt: " + doing + ": " +
                blas.cublasLtGetStatusString(status) + " (" +
                std::to_string(status) + ")");
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

namespace {

/// A matrix of so many rows and columns as the library has it, by columns that
/// are `leading` elements apart; or its transpose.
struct Stored {
  bool isTransposed;
  int64_t leading;
};

/// One product of matrices, and the loops around it: those of kind k last.
struct Product {
  Loop m, n, k;
  std::vector<Loop> around;
  /// c is by rows: the library computes its transpose, b^T a^T.
  bool isSwapped = false;
  Stored a, b, c;
};

} // namespace

/// None if the library has no such matrix: neither columns nor rows are dense,
/// or they overlap.
static std::optional<Stored> findStored(int64_t rows, int64_t columns,
                                        int64_t rowStride,
                                        int64_t columnStride) {
  auto leadingOf = [](int64_t length, int64_t step, int64_t count,
                      int64_t stride) -> int64_t {
    if (length > 1 && step != 1)
      return 0;
    if (count == 1)
      return std::max<int64_t>(length, 1);
    return stride >= length ? stride : 0;
  };
  if (int64_t leading = leadingOf(rows, rowStride, columns, columnStride))
    return Stored{false, leading};
  if (int64_t leading = leadingOf(columns, columnStride, rows, rowStride))
    return Stored{true, leading};
  return std::nullopt;
}

/// Which loops are matrices' own. One that the library has no matrix for goes
/// around; where sums must not be split (`keepsSums`), none that adds up.
static Product arrangeProduct(const ContractLoopNest &nest, bool keepsSums) {
  Product product;
  product.m = nest.m;
  product.n = nest.n;
  product.k = nest.k;
  product.around = nest.around;
  Loop &m = product.m, &n = product.n, &k = product.k;
  auto takeOut = [&](Loop &one, Loop &other) {
    bool takesOther =
        one.extent == 1 || (other.extent != 1 && other.extent <= one.extent);
    if (keepsSums && (takesOther ? other : one).kind == DIST_LOOP_K)
      takesOther = !takesOther;
    Loop &taken = takesOther ? other : one;
    if (taken.extent == 1)
      throw Error("dist_contract: cuBLASLt has no product of these strides "
                  "with sums of 16 bits");
    product.around.push_back(taken);
    taken.extent = 1;
  };
  for (;;) {
    std::optional<Stored> a = findStored(m.extent, k.extent, m.a, k.a);
    std::optional<Stored> b = findStored(k.extent, n.extent, k.b, n.b);
    std::optional<Stored> c = findStored(m.extent, n.extent, m.c, n.c);
    if (!c)
      takeOut(m, n);
    else if (!a)
      takeOut(m, k);
    else if (!b)
      takeOut(k, n);
    if (!a || !b || !c)
      continue;
    product.a = *a;
    product.b = *b;
    product.c = *c;
    product.isSwapped = c->isTransposed;
    break;
  }
  std::partition(product.around.begin(), product.around.end(),
                 [](const Loop &loop) { return loop.kind != DIST_LOOP_K; });
  return product;
}

static std::optional<DataType> typeOf(int32_t dtype) {
  switch (dtype) {
  case DIST_F32:
    return Real32F;
  case DIST_F64:
    return Real64F;
  case DIST_F16:
    return Real16F;
  case DIST_BF16:
    return Real16BF;
  default:
    return std::nullopt;
  }
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// What is chosen for a table. In the library's order: where c is by rows, its
/// first factor is b.
struct Products::Plan {
  explicit Plan(const BlasFunctions &blas) : blas(blas) {}
  ~Plan() {
    for (BlasMatrix matrix : matrices)
      if (matrix)
        blas.cublasLtMatrixLayoutDestroy(matrix);
    if (product)
      blas.cublasLtMatmulDescDestroy(product);
  }

  const BlasFunctions &blas;
  BlasProduct product = nullptr;
  BlasMatrix matrices[3] = {};
  BlasAlgorithm algorithm;
  bool isSwapped = false, isDouble = false;
  /// Calls: loops but the batch, those of kind k last.
  std::vector<Loop> around;
  int64_t inBytes = 0, outBytes = 0;
};

/// Matrices of a batch.
static constexpr int64_t kMostBatch = 65'535;

/// The largest power of two, up to 256, that divides all of these.
static uint32_t alignmentOf(std::initializer_list<int64_t> values) {
  uint64_t bits = 256;
  for (int64_t value : values)
    bits |= static_cast<uint64_t>(value);
  return bits & -bits;
}

std::unique_ptr<Products::Plan>
Products::makePlan(const ContractCall &call,
                   const int64_t (&alignments)[3]) const {
  std::optional<DataType> in = typeOf(call.inDtype),
                          out = typeOf(call.outDtype);
  bool areKnown =
      in && out &&
      (in == out || (out == Real32F && (in == Real16F || in == Real16BF)));
  if (!areKnown)
    throw Error("dist_contract: no product of dtype " +
                std::to_string(call.inDtype) + " as " +
                std::to_string(call.outDtype) + " by cuBLASLt");
  ContractLoopNest nest = arrangeLoops(call);
  auto plan = std::make_unique<Plan>(blas);
  plan->inBytes = dtypeBytes(static_cast<dist_dtype>(call.inDtype));
  plan->outBytes = dtypeBytes(static_cast<dist_dtype>(call.outDtype));
  plan->isDouble = in == Real64F;
  if (nest.empty)
    return plan;
  if (nest.emptySum)
    throw Error("dist_contract: a sum of nothing");
  // The sum so far would be rounded with each call.
  bool isNarrow = plan->outBytes < 4;
  Product product = arrangeProduct(nest, isNarrow);
  for (const Loop &loop : product.around)
    if (isNarrow && loop.kind == DIST_LOOP_K)
      throw Error("dist_contract: cuBLASLt has no product of several sums of "
                  "16 bits");
  plan->isSwapped = product.isSwapped;
  plan->around = product.around;
  // The longest loop that adds nothing up is the batch.
  Loop batch{DIST_LOOP_BATCH, 1, 0, 0, 0};
  auto longest = plan->around.end();
  for (auto it = plan->around.begin(); it != plan->around.end(); ++it)
    if (it->kind != DIST_LOOP_K &&
        (longest == plan->around.end() || it->extent > longest->extent))
      longest = it;
  if (longest != plan->around.end()) {
    batch = *longest;
    plan->around.erase(longest);
    // Blocks along z, which some algorithms take for batches, are fewer.
    int64_t parts = 1;
    while (batch.extent % parts || batch.extent / parts > kMostBatch)
      ++parts;
    if (parts > 1) {
      batch.extent /= parts;
      Loop around = batch;
      around.extent = parts;
      around.a *= batch.extent;
      around.b *= batch.extent;
      around.c *= batch.extent;
      plan->around.insert(plan->around.begin(), around);
    }
  }

  check(blas.cublasLtMatmulDescCreate(&plan->product,
                                      plan->isDouble ? Compute64F : Compute32F,
                                      plan->isDouble ? Real64F : Real32F),
        "a description of a product");
  auto makeMatrix = [&](BlasMatrix &matrix, DataType type, int64_t rows,
                        int64_t columns, int64_t leading, int64_t stride) {
    check(
        blas.cublasLtMatrixLayoutCreate(&matrix, type, rows, columns, leading),
        "a description of a matrix");
    auto count = static_cast<int32_t>(batch.extent);
    if (count == 1)
      return;
    check(blas.cublasLtMatrixLayoutSetAttribute(matrix, BlasBatchCount, &count,
                                                sizeof count),
          "a batch");
    check(blas.cublasLtMatrixLayoutSetAttribute(matrix, BlasBatchStride,
                                                &stride, sizeof stride),
          "a batch");
  };
  // The transpose of a stored matrix has its rows as columns.
  auto makeFactor = [&](unsigned place, Stored stored, int64_t rows,
                        int64_t columns, int64_t stride) {
    bool isTransposed = stored.isTransposed != plan->isSwapped;
    if (plan->isSwapped)
      std::swap(rows, columns);
    auto value = static_cast<int32_t>(isTransposed);
    check(blas.cublasLtMatmulDescSetAttribute(
              plan->product, place == 0 ? BlasTransposeA : BlasTransposeB,
              &value, sizeof value),
          "a transpose");
    makeMatrix(plan->matrices[place], *in, isTransposed ? columns : rows,
               isTransposed ? rows : columns, stored.leading, stride);
  };
  int64_t m = product.m.extent, n = product.n.extent, k = product.k.extent;
  makeFactor(plan->isSwapped ? 1 : 0, product.a, m, k, batch.a);
  makeFactor(plan->isSwapped ? 0 : 1, product.b, k, n, batch.b);
  makeMatrix(plan->matrices[2], *out, plan->isSwapped ? n : m,
             plan->isSwapped ? m : n, product.c.leading, batch.c);

  // Alignment of every matrix that a call or a batch takes.
  uint32_t aligned[3] = {
      alignmentOf({alignments[0], batch.a * plan->inBytes}),
      alignmentOf({alignments[1], batch.b * plan->inBytes}),
      alignmentOf({alignments[2], batch.c * plan->outBytes})};
  for (const Loop &loop : plan->around) {
    aligned[0] = alignmentOf({aligned[0], loop.a * plan->inBytes});
    aligned[1] = alignmentOf({aligned[1], loop.b * plan->inBytes});
    aligned[2] = alignmentOf({aligned[2], loop.c * plan->outBytes});
  }
  if (plan->isSwapped)
    std::swap(aligned[0], aligned[1]);
  BlasPreference preference = nullptr;
  check(blas.cublasLtMatmulPreferenceCreate(&preference), "a preference");
  std::shared_ptr<void> destroyed(nullptr, [&](void *) {
    blas.cublasLtMatmulPreferenceDestroy(preference);
  });
  auto prefer = [&](BlasPreferenceAttribute attribute, auto value) {
    check(blas.cublasLtMatmulPreferenceSetAttribute(preference, attribute,
                                                    &value, sizeof value),
          "a preference");
  };
  prefer(BlasMostWorkspace, uint64_t(workspaceBytes));
  // Sums that are split add up in an order that differs from call to call.
  prefer(BlasReductionSchemes, uint32_t(0));
  prefer(BlasAlignmentA, aligned[0]);
  prefer(BlasAlignmentB, aligned[1]);
  prefer(BlasAlignmentC, aligned[2]);
  prefer(BlasAlignmentD, aligned[2]);
  BlasHeuristic found{};
  int count = 0;
  BlasStatus status = blas.cublasLtMatmulAlgoGetHeuristic(
      handle, plan->product, plan->matrices[0], plan->matrices[1],
      plan->matrices[2], plan->matrices[2], preference, 1, &found, &count);
  std::string what = "a product of " + std::to_string(m) + " x " +
                     std::to_string(k) + " and " + std::to_string(k) + " x " +
                     std::to_string(n);
  check(status, what);
  check(count == 1 ? found.state : BlasNotSupported, what);
  plan->algorithm = found.algorithm;
  return plan;
}

void Products::run(const ContractCall &call, void *workspace, Stream stream) {
  auto alignment = [](const void *data) -> int64_t {
    return alignmentOf({reinterpret_cast<int64_t>(data)});
  };
  int64_t alignments[] = {alignment(call.a), alignment(call.b),
                          alignment(call.c)};
  PlanKey key(call.loops, call.loops + call.numLoops * DIST_LOOP_FIELDS);
  key.insert(key.end(), {call.inDtype, call.outDtype, alignments[0],
                         alignments[1], alignments[2]});
  std::unique_ptr<Plan> &plan = plans[key];
  if (!plan)
    plan = makePlan(call, alignments);
  if (!plan->product)
    return;
  bool isAdded = call.flags & DIST_CONTRACT_ACCUMULATE;
  std::vector<int64_t> at(plan->around.size());
  for (;;) {
    int64_t a = 0, b = 0, c = 0;
    bool isFirst = true;
    for (size_t i = 0; i < at.size(); ++i) {
      const Loop &loop = plan->around[i];
      a += at[i] * loop.a;
      b += at[i] * loop.b;
      c += at[i] * loop.c;
      isFirst &= loop.kind != DIST_LOOP_K || at[i] == 0;
    }
    const char *factors[] = {
        static_cast<const char *>(call.a) + a * plan->inBytes,
        static_cast<const char *>(call.b) + b * plan->inBytes};
    char *sum = static_cast<char *>(call.c) + c * plan->outBytes;
    if (plan->isSwapped)
      std::swap(factors[0], factors[1]);
    float alpha = 1, beta = isAdded || !isFirst;
    double alphaOfDouble = alpha, betaOfDouble = beta;
    bool isDouble = plan->isDouble;
    check(blas.cublasLtMatmul(
              handle, plan->product,
              isDouble ? static_cast<void *>(&alphaOfDouble) : &alpha,
              factors[0], plan->matrices[0], factors[1], plan->matrices[1],
              isDouble ? static_cast<void *>(&betaOfDouble) : &beta, sum,
              plan->matrices[2], sum, plan->matrices[2], &plan->algorithm,
              workspace, workspaceBytes, stream),
          "cublasLtMatmul");
    size_t i = at.size();
    while (i > 0 && ++at[i - 1] == plan->around[i - 1].extent)
      at[--i] = 0;
    if (i == 0)
      return;
  }
}
