//===- Contract.cpp - Contractions through oneDNN -------------------------===//
//
// Which of oneDNN's entry points runs a product was chosen by measurement
// (benchmarks/contract_benchmark.cpp, benchmarks/results/runtime.md):
// - a constant operand: a convolution whose window is one place. Its rows are
//   places and its columns channels. oneDNN packs the operand, once for each
//   address.
// - else dnnl_sgemm for a single f32 product, the matmul primitive for batches
//   and for bf16. The primitive takes its slow reference code for some strides;
//   then the batch is a loop over dnnl_sgemm.
// Without AVX-512 oneDNN has no fast bf16 product: then operands are converted,
// and products and their sums are f32.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/Contract.h"
#include "dist/Tensor.h"
#include "runtime/rank/ContractLoops.h"
#include "runtime/cpu/Dnnl.h"
#include "runtime/cpu/Gemm.h"
#include "runtime/rank/Rank.h"

#include <chrono>
#include <cstring>
#include <limits>
#include <optional>

using namespace dist;
using dnnl::memory;

static memory::data_type dnnlType(int32_t dtype) {
  return dtype == DIST_BF16 ? memory::data_type::bf16 : memory::data_type::f32;
}

static std::string nameOf(int32_t dtype) {
  if (dtype < DIST_F64 || dtype > DIST_U64)
    return "dtype " + std::to_string(dtype);
  return dtypeName(static_cast<dist_dtype>(dtype));
}

/// Whether the result is added to what is there.
static dnnl::primitive_attr describeSum(bool accumulating) {
  dnnl::primitive_attr attributes;
  if (accumulating) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  return attributes;
}

/// Uses of an element that pay for copying it once more.
constexpr int64_t fewestUses = 128;

/// Multiplications below which a call of a convolution takes longer than they
/// do; batches of such products are one primitive.
constexpr int64_t smallestConvolution = 1 << 16;

namespace dist {

class ContractPlan {
public:
  ContractPlan(const ContractCall &call, OperandPool &pool);
  void run(const char *a, const char *b, char *c);
  double flops() const { return totalFlops; }

private:
  void swapOperands();
  bool makePrimitive(bool withBatch, bool accumulate,
                     std::optional<dnnl::primitive> &primitive);
  template <typename Description>
  void usePrimitive(const Description &description, const memory::desc &givenB,
                    std::optional<dnnl::primitive> &primitive);
  bool makeConvolution(bool accumulate,
                       std::optional<dnnl::primitive> &primitive);
  void zero(char *c);
  void runAround(size_t depth, bool accumulating, const char *a, const char *b,
                 char *c);
  void product(bool accumulating, const char *a, const char *b, char *c);
  GemmCall describeGemm() const;
  void gemm(bool accumulating, const float *a, const float *b, float *c);
  void addConverted(const char *a, const char *b);
  void addProducts(size_t depth, const char *a, const char *b);
  void sumUp(size_t depth, bool accumulating, const char *a, const char *b,
             char *c);
  void execute(dnnl::primitive &primitive, bool accumulating, const char *a,
               const char *b, char *c);
  const memory &packB(const char *b);

  OperandPool &pool;
  ContractLoopNest nest;
  int32_t inDtype, outDtype;
  bool accumulate;
  /// Whether a and b have changed places.
  bool swapped = false;
  /// Whether b never changes and is packed once; and nobody else reads it.
  bool packs = false, isOnlyB = false;
  /// Whether rows of a or c are copied together for a convolution.
  bool gathersA = false, gathersC = false;
  int64_t inBytes, outBytes;
  double totalFlops = 0;

  /// All loops in one primitive.
  std::optional<dnnl::primitive> whole;
  /// One product, first (beta = 0 unless accumulating) and added.
  std::optional<dnnl::primitive> first, added;
  dnnl::stream stream{cpuEngine()};
  memory memoryA, memoryB, memoryC;
  /// The order that b is read in, and what brings b there, if it is given in
  /// another.
  std::optional<memory::desc> packedDesc;
  std::optional<dnnl::reorder> takeB;
  /// b in that order, by the address that it was given at.
  std::unordered_map<const char *, memory> packed;
  std::vector<float> packedA, packedB, packedC;
  /// Some rows of a and b at a time (GemmCall).
  std::vector<float> copyA, copyB;
  /// All rows of a and c (makeConvolution).
  std::vector<char> gatheredA, gatheredC;
};

} // namespace dist

ContractPlan::ContractPlan(const ContractCall &call, OperandPool &pool)
    : pool(pool), nest(arrangeLoops(call)), inDtype(call.inDtype),
      outDtype(call.outDtype),
      accumulate(call.flags & DIST_CONTRACT_ACCUMULATE),
      inBytes(inDtype == DIST_BF16 ? 2 : 4),
      outBytes(outDtype == DIST_BF16 ? 2 : 4) {
  bool f32 = inDtype == DIST_F32 && outDtype == DIST_F32;
  bool bf16 =
      inDtype == DIST_BF16 && (outDtype == DIST_BF16 || outDtype == DIST_F32);
  if (!f32 && !bf16)
    throw Error(std::string("dist_contract: no contraction of ") +
                nameOf(inDtype) + " to " + nameOf(outDtype) +
                "; the compiler has to generate loops for it");
  if (nest.empty || nest.emptySum)
    return;
  totalFlops = nest.flops();

  bool constantA = call.flags & DIST_CONTRACT_CONSTANT_A,
       constantB = call.flags & DIST_CONTRACT_CONSTANT_B;
  // The primitive writes rows of c.
  bool writesColumns = bf16 && nest.n.c != 1;
  if (!constantB && nest.m.c == 1 && (constantA || writesColumns))
    swapOperands();
  bool isConstant = (swapped ? constantA : constantB) && nest.n.extent > 1 &&
                    nest.k.extent > 1;
  isOnlyB =
      call.flags & (swapped ? DIST_CONTRACT_ONLY_A : DIST_CONTRACT_ONLY_B);
  bool sumsAround =
      !nest.around.empty() && nest.around.back().kind == DIST_LOOP_K;
  // Several sums of a bf16 result are added up in f32 (sumUp).
  bool sumsUp = sumsAround && outDtype == DIST_BF16;
  if (isConstant && !sumsUp && makeConvolution(accumulate, first) &&
      (!sumsAround || makeConvolution(/*accumulating=*/true, added)))
    return;
  first.reset();
  packedDesc.reset();
  gathersA = gathersC = false;
  packs = isConstant && bf16;
  // The primitive reads in place what single products copy.
  if (f32 && describeGemm().copies())
    return;
  if (!nest.around.empty() && !sumsAround &&
      makePrimitive(/*withBatch=*/true, accumulate, whole))
    return;
  if (f32 || sumsUp)
    return;
  if (makePrimitive(/*withBatch=*/false, accumulate, first) && sumsAround &&
      !makePrimitive(/*withBatch=*/false, /*accumulating=*/true, added))
    first.reset();
}

/// The transposed product: c^T = b^T a^T.
void ContractPlan::swapOperands() {
  swapped = true;
  for (Loop *loop : {&nest.m, &nest.n, &nest.k})
    std::swap(loop->a, loop->b);
  std::swap(nest.m, nest.n);
  for (Loop &loop : nest.around)
    std::swap(loop.a, loop.b);
}

/// Describes the product to oneDNN as a convolution: m places of k channels,
/// each times a k x n kernel. It wants dense rows; others are copied if there
/// is enough to compute with each element. False if there is no fast code.
bool ContractPlan::makeConvolution(bool accumulating,
                                   std::optional<dnnl::primitive> &primitive) {
  int64_t m = nest.m.extent, n = nest.n.extent, k = nest.k.extent;
  if (nest.k.a != 1 || nest.n.c != 1 || nest.k.b <= 0 || nest.n.b <= 0)
    return false;
  if (!nest.around.empty() && m * n * k < smallestConvolution)
    return false;
  // oneDNN counts places and channels by 32 bits.
  int64_t most = std::numeric_limits<int32_t>::max();
  if (m > most / k || m > most / n || k > most / n)
    return false;
  bool isApartA = m > 1 && nest.m.a != k, isApartC = m > 1 && nest.m.c != n;
  if ((isApartA && n < fewestUses) || (isApartC && k < fewestUses))
    return false;

  try {
    auto places = [&](int64_t channels, int32_t dtype) {
      return memory::desc({1, channels, m, 1}, dnnlType(dtype),
                          memory::format_tag::nhwc);
    };
    memory::dims kernel{n, k, 1, 1};
    memory::desc givenB(kernel, dnnlType(inDtype),
                        memory::dims{nest.n.b, nest.k.b, 1, 1}),
        layoutB = packedDesc.value_or(memory::desc(
            kernel, dnnlType(inDtype), memory::format_tag::any));
    dnnl::convolution_forward::primitive_desc description(
        {dnnl::prop_kind::forward_inference,
         dnnl::algorithm::convolution_direct,
         places(k, inDtype),
         layoutB,
         places(n, outDtype),
         {1, 1},
         {0, 0},
         {0, 0}},
        describeSum(accumulating), cpuEngine());
    const char *name = description.impl_info_str();
    if (std::strstr(name, "ref") || std::strstr(name, "gemm:"))
      return false;
    usePrimitive(description, givenB, primitive);
  } catch (const dnnl::error &) {
    return false;
  }
  gathersA = isApartA;
  gathersC = isApartC;
  return true;
}

/// Takes over a primitive that reads b, which is given as `givenB`, in the
/// order that it describes.
template <typename Description>
void ContractPlan::usePrimitive(const Description &description,
                                const memory::desc &givenB,
                                std::optional<dnnl::primitive> &primitive) {
  memoryA = memory(description.src_desc(), cpuEngine(), nullptr);
  memoryB = memory(givenB, cpuEngine(), nullptr);
  memoryC = memory(description.dst_desc(), cpuEngine(), nullptr);
  packedDesc = description.weights_desc();
  takeB.reset();
  if (*packedDesc != givenB)
    takeB.emplace(memoryB, memory(*packedDesc, cpuEngine(), nullptr));
  primitive.emplace(description.get());
}

/// Describes the product, and the loops around it as batch dimensions, to
/// oneDNN. False if it has no fast code for it.
bool ContractPlan::makePrimitive(bool withBatch, bool accumulating,
                                 std::optional<dnnl::primitive> &primitive) {
  memory::dims extentsA, extentsB, extentsC, stridesA, stridesB, stridesC;
  if (withBatch) {
    if (nest.around.size() + 2 > DNNL_MAX_NDIMS)
      return false;
    for (const Loop &loop : nest.around) {
      // An operand that does not depend on the loop is broadcast.
      extentsA.push_back(loop.a ? loop.extent : 1);
      extentsB.push_back(loop.b ? loop.extent : 1);
      extentsC.push_back(loop.extent);
      stridesA.push_back(loop.a);
      stridesB.push_back(loop.b);
      stridesC.push_back(loop.c);
    }
  }
  auto addMatrix = [](memory::dims &extents, memory::dims &strides,
                      int64_t rows, int64_t columns, int64_t row,
                      int64_t column) {
    // oneDNN's fast code recognises layouts by their strides, also those of
    // extents of 1: make them look dense.
    if (columns == 1)
      column = 1;
    if (rows == 1)
      row = column == 1 ? columns : 1;
    extents.insert(extents.end(), {rows, columns});
    strides.insert(strides.end(), {row, column});
  };
  addMatrix(extentsA, stridesA, nest.m.extent, nest.k.extent, nest.m.a,
            nest.k.a);
  addMatrix(extentsB, stridesB, nest.k.extent, nest.n.extent, nest.k.b,
            nest.n.b);
  addMatrix(extentsC, stridesC, nest.m.extent, nest.n.extent, nest.m.c,
            nest.n.c);
  // Outer extents of 1 too, from the inside out.
  auto densify = [](const memory::dims &extents, memory::dims &strides) {
    int64_t span = 1;
    for (size_t i = extents.size(); i-- > 0;) {
      if (extents[i] == 1 && i + 2 < extents.size())
        strides[i] = span;
      span = std::max(span, extents[i] * strides[i]);
    }
  };
  densify(extentsA, stridesA);
  densify(extentsB, stridesB);
  for (const memory::dims *strides : {&stridesA, &stridesB, &stridesC})
    for (int64_t stride : *strides)
      if (stride <= 0)
        return false;

  try {
    memory::desc givenB(extentsB, dnnlType(inDtype), stridesB),
        layoutB = givenB;
    if (packs) // `added` reads what `first` does.
      layoutB = packedDesc.value_or(
          memory::desc(extentsB, dnnlType(inDtype), memory::format_tag::any));
    dnnl::matmul::primitive_desc description(
        {memory::desc(extentsA, dnnlType(inDtype), stridesA), layoutB,
         memory::desc(extentsC, dnnlType(outDtype), stridesC)},
        describeSum(accumulating), cpuEngine());
    if (std::strstr(description.impl_info_str(), "ref"))
      return false;
    usePrimitive(description, givenB, primitive);
  } catch (const dnnl::error &) {
    return false;
  }
  return true;
}

/// c = 0 at every point.
void ContractPlan::zero(char *c) {
  std::vector<int64_t> at(nest.points.size(), 0);
  while (true) {
    std::memset(c, 0, outBytes);
    size_t i = at.size();
    while (i-- > 0) {
      const Loop &loop = nest.points[i];
      c += loop.c * outBytes;
      if (++at[i] < loop.extent)
        break;
      c -= loop.c * loop.extent * outBytes;
      at[i] = 0;
    }
    if (i == static_cast<size_t>(-1))
      return;
  }
}

const memory &ContractPlan::packB(const char *b) {
  memoryB.set_data_handle(const_cast<char *>(b));
  if (!takeB)
    return memoryB;
  auto found = packed.find(b);
  if (found == packed.end()) {
    memory copy = pool.make(*packedDesc);
    takeB->execute(stream, memoryB, copy);
    pool.release(memoryB, isOnlyB);
    found = packed.emplace(b, copy).first;
  }
  return found->second;
}

void ContractPlan::execute(dnnl::primitive &primitive, bool accumulating,
                           const char *a, const char *b, char *c) {
  int64_t m = nest.m.extent, rowA = nest.k.extent * inBytes,
          rowC = nest.n.extent * outBytes;
  char *result = c;
  if (gathersA) {
    gatheredA.resize(m * rowA);
    copyRows(a, nest.m.a * inBytes, m, rowA, gatheredA.data(), rowA);
    a = gatheredA.data();
  }
  if (gathersC) {
    gatheredC.resize(m * rowC);
    result = gatheredC.data();
    if (accumulating)
      copyRows(c, nest.m.c * outBytes, m, rowC, result, rowC);
  }
  memoryA.set_data_handle(const_cast<char *>(a));
  memoryC.set_data_handle(result);
  primitive.execute(stream, {{DNNL_ARG_SRC, memoryA},
                             {DNNL_ARG_WEIGHTS, packB(b)},
                             {DNNL_ARG_DST, memoryC}});
  if (gathersC)
    copyRows(result, rowC, m, rowC, c, nest.m.c * outBytes);
}

GemmCall ContractPlan::describeGemm() const {
  int64_t m = nest.m.extent, n = nest.n.extent, k = nest.k.extent;
  return GemmCall(describeOperand({nest.m.a, nest.k.a}, m, k),
                  describeOperand({nest.k.b, nest.n.b}, k, n),
                  describeOperand({nest.m.c, nest.n.c}, m, n), m, n, k);
}

void ContractPlan::gemm(bool accumulating, const float *a, const float *b,
                        float *c) {
  MatrixStrides stridesA{nest.m.a, nest.k.a}, stridesB{nest.k.b, nest.n.b},
      stridesC{nest.m.c, nest.n.c};
  int64_t m = nest.m.extent, n = nest.n.extent, k = nest.k.extent;
  if (!describeOperand(stridesA, m, k).direct) {
    packedA.resize(m * k);
    pack(a, stridesA, m, k, packedA.data());
    a = packedA.data();
  }
  if (!describeOperand(stridesB, k, n).direct) {
    packedB.resize(k * n);
    pack(b, stridesB, k, n, packedB.data());
    b = packedB.data();
  }
  GemmCall call = describeGemm();
  float *result = c;
  if (!call.c.direct) {
    packedC.resize(m * n);
    if (accumulating)
      pack(c, stridesC, m, n, packedC.data());
    result = packedC.data();
  }
  if (call.isSwapped)
    std::swap(a, b);
  multiply(call, accumulating, a, b, result, copyA, copyB);
  if (!call.c.direct)
    unpack(result, stridesC, m, n, c);
}

/// packedC += a * b, in f32.
void ContractPlan::addConverted(const char *a, const char *b) {
  int64_t m = nest.m.extent, n = nest.n.extent, k = nest.k.extent;
  auto in = static_cast<dist_dtype>(inDtype);
  convertFrom(in, a, {nest.m.a, nest.k.a}, m, k, packedA);
  convertFrom(in, b, {nest.k.b, nest.n.b}, k, n, packedB);
  dnnl_status_t status = dnnl_sgemm('N', 'N', m, n, k, 1.0f, packedA.data(), k,
                                    packedB.data(), n, 1.0f, packedC.data(), n);
  if (status != dnnl_success)
    throw Error("dist_contract: dnnl_sgemm returned " + std::to_string(status) +
                " for " + std::to_string(m) + "x" + std::to_string(k) + "x" +
                std::to_string(n) + " in bf16");
}

/// The products of the loops from `depth` on, which are all sums.
void ContractPlan::addProducts(size_t depth, const char *a, const char *b) {
  if (depth == nest.around.size())
    return addConverted(a, b);
  const Loop &loop = nest.around[depth];
  for (int64_t i = 0; i < loop.extent; ++i)
    addProducts(depth + 1, a + i * loop.a * inBytes, b + i * loop.b * inBytes);
}

/// The same, in f32, rounded once.
void ContractPlan::sumUp(size_t depth, bool accumulating, const char *a,
                         const char *b, char *c) {
  int64_t m = nest.m.extent, n = nest.n.extent;
  auto out = static_cast<dist_dtype>(outDtype);
  MatrixStrides stridesC{nest.m.c, nest.n.c};
  packedC.assign(m * n, 0.0f);
  if (accumulating)
    convertFrom(out, c, stridesC, m, n, packedC);
  addProducts(depth, a, b);
  convertTo(out, packedC, stridesC, m, n, c);
}

void ContractPlan::product(bool accumulating, const char *a, const char *b,
                           char *c) {
  if (first)
    execute(accumulating && added ? *added : *first, accumulating, a, b, c);
  else if (inDtype == DIST_BF16)
    sumUp(nest.around.size(), accumulating, a, b, c);
  else
    gemm(accumulating, reinterpret_cast<const float *>(a),
         reinterpret_cast<const float *>(b), reinterpret_cast<float *>(c));
}

void ContractPlan::runAround(size_t depth, bool accumulating, const char *a,
                             const char *b, char *c) {
  if (depth == nest.around.size())
    return product(accumulating, a, b, c);
  const Loop &loop = nest.around[depth];
  // Sums come last.
  if (loop.kind == DIST_LOOP_K && outDtype == DIST_BF16)
    return sumUp(depth, accumulating, a, b, c);
  for (int64_t i = 0; i < loop.extent; ++i) {
    bool addsUp = accumulating || (loop.kind == DIST_LOOP_K && i > 0);
    runAround(depth + 1, addsUp, a + i * loop.a * inBytes,
              b + i * loop.b * inBytes, c + i * loop.c * outBytes);
  }
}

void ContractPlan::run(const char *a, const char *b, char *c) {
  if (nest.empty)
    return;
  if (nest.emptySum) {
    if (!accumulate)
      zero(c);
    return;
  }
  if (swapped)
    std::swap(a, b);
  if (whole)
    execute(*whole, accumulate, a, b, c);
  else
    runAround(0, accumulate, a, b, c);
}

Contractions::Contractions(OperandPool::TakeBack takeBack)
    : pool(std::make_unique<OperandPool>(std::move(takeBack))) {}
Contractions::~Contractions() = default;

ContractPlan &Contractions::plan(const ContractCall &call) {
  key.assign({call.inDtype, call.outDtype, call.flags});
  key.insert(key.end(), call.loops,
             call.loops + int64_t(call.numLoops) * DIST_LOOP_FIELDS);
  std::unique_ptr<ContractPlan> &known = plans[key];
  if (!known) {
    try {
      known = std::make_unique<ContractPlan>(call, *pool);
    } catch (...) {
      plans.erase(key);
      throw;
    }
  }
  return *known;
}

double Contractions::run(const ContractCall &call) {
  useOneThread();
  ContractPlan &plan = this->plan(call);
  plan.run(static_cast<const char *>(call.a), static_cast<const char *>(call.b),
           static_cast<char *>(call.c));
  return plan.flops();
}
