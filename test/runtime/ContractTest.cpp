//===- ContractTest.cpp - Contractions against three nested loops ---------===//

#include "Ranks.h"
#include "dist/Tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace dist;
using namespace dist::test;

namespace {

struct LoopRow {
  int64_t kind, extent, a, b, c;
};

/// Elements that the loops reach in an operand.
int64_t span(const std::vector<LoopRow> &loops, int64_t LoopRow::*stride) {
  int64_t last = 0;
  for (const LoopRow &loop : loops)
    last += std::max<int64_t>(loop.extent - 1, 0) * loop.*stride;
  return last + 1;
}

/// The definition: every point of every loop.
void reference(const std::vector<LoopRow> &loops, const std::vector<float> &a,
               const std::vector<float> &b, std::vector<double> &c) {
  std::vector<int64_t> at(loops.size(), 0);
  int64_t ia = 0, ib = 0, ic = 0;
  for (const LoopRow &loop : loops)
    if (loop.extent == 0)
      return;
  while (true) {
    c[ic] += double(a[ia]) * b[ib];
    size_t i = loops.size();
    while (i-- > 0) {
      ia += loops[i].a;
      ib += loops[i].b;
      ic += loops[i].c;
      if (++at[i] < loops[i].extent)
        break;
      ia -= loops[i].a * at[i];
      ib -= loops[i].b * at[i];
      ic -= loops[i].c * at[i];
      at[i] = 0;
    }
    if (i == size_t(-1))
      return;
  }
}

/// Runs `loops` with and without accumulating, twice, and with operands that
/// are said to be constant; c outside of them must stay.
void check(const std::string &name, std::vector<LoopRow> loops,
           dist_dtype inDtype = DIST_F32, dist_dtype outDtype = DIST_F32) {
  // What an operand does not depend on is ignored: put nonsense there.
  std::vector<LoopRow> given = loops;
  for (LoopRow &loop : given) {
    if (loop.kind == DIST_LOOP_M)
      loop.b = 12345;
    if (loop.kind == DIST_LOOP_N)
      loop.a = 12345;
    if (loop.kind == DIST_LOOP_K)
      loop.c = 12345;
  }
  for (int32_t flags = 0; flags < 8; ++flags) {
    bool accumulate = flags & DIST_CONTRACT_ACCUMULATE;
    std::string message = runThreads(line(1), [&](dist_rank *rank) {
      std::mt19937 random(7);
      std::uniform_int_distribution<int> small(-4, 4);
      std::vector<float> a(span(loops, &LoopRow::a)),
          b(span(loops, &LoopRow::b)), c(span(loops, &LoopRow::c));
      for (auto *v : {&a, &b, &c})
        for (float &x : *v)
          x = small(random) * 0.5f;
      std::vector<double> expected(c.begin(), c.end());
      if (!accumulate) { // what the loops reach starts at zero
        std::vector<LoopRow> points;
        for (const LoopRow &loop : loops)
          if (loop.kind != DIST_LOOP_K)
            points.push_back({0, loop.extent, 0, 0, loop.c});
        std::vector<float> one(1, 1.0f);
        std::vector<double> reached(c.size());
        reference(points, one, one, reached);
        for (size_t i = 0; i < c.size(); ++i)
          if (reached[i])
            expected[i] = 0;
      }
      reference(loops, a, b, expected);

      auto pack = [](const std::vector<float> &v, dist_dtype dtype) {
        std::vector<char> bytes(v.size() * dtypeBytes(dtype));
        if (dtype == DIST_F32)
          memcpy(bytes.data(), v.data(), bytes.size());
        else
          for (size_t i = 0; i < v.size(); ++i) {
            uint16_t bits = floatToBfloat(v[i]);
            memcpy(&bytes[2 * i], &bits, 2);
          }
        return bytes;
      };
      std::vector<char> pa = pack(a, inDtype), pb = pack(b, inDtype),
                        pc = pack(c, outDtype);
      std::vector<char> before = pc;
      for (int call = 0; call < 2; ++call) {
        pc = before;
        if (dist_contract(rank, inDtype, outDtype, flags, given.size(),
                          &given[0].kind, pa.data(), pb.data(), pc.data()) != 0)
          return 1;
      }
      std::vector<float> got(c.size());
      convert(outDtype, pc.data(), DIST_F32, got.data(), got.size());
      for (size_t i = 0; i < got.size(); ++i) {
        // Multiples of a quarter: sums are exact in f32.
        float want = expected[i];
        if (outDtype == DIST_BF16)
          want = bfloatToFloat(floatToBfloat(want));
        EXPECT_EQ(got[i], want)
            << name << ", flags " << flags << ", element " << i << " of c";
        if (got[i] != want)
          return 0;
      }
      return 0;
    });
    EXPECT_EQ(message, "") << name;
  }
}

constexpr int64_t B = DIST_LOOP_BATCH, M = DIST_LOOP_M, N = DIST_LOOP_N,
                  K = DIST_LOOP_K;

TEST(Contract, Products) {
  check("m x k times k x n",
        {{M, 5, 7, 0, 9}, {N, 9, 0, 1, 1}, {K, 7, 1, 9, 0}});
  check("b transposed", {{M, 5, 7, 0, 9}, {N, 9, 0, 7, 1}, {K, 7, 1, 1, 0}});
  check("a transposed", {{M, 5, 1, 0, 9}, {N, 9, 0, 1, 1}, {K, 7, 5, 9, 0}});
  check("c transposed", {{M, 5, 7, 0, 1}, {N, 9, 0, 1, 5}, {K, 7, 1, 9, 0}});
  check("all transposed", {{M, 5, 1, 0, 1}, {N, 9, 0, 7, 5}, {K, 7, 5, 1, 0}});
  check("rows apart", {{M, 5, 11, 0, 13}, {N, 9, 0, 1, 1}, {K, 7, 1, 12, 0}});
  check("nothing is contiguous",
        {{M, 5, 21, 0, 40}, {N, 9, 0, 2, 4}, {K, 7, 3, 20, 0}});
  check("large", {{M, 130, 70, 0, 150}, {N, 150, 0, 1, 1}, {K, 70, 1, 150, 0}});
  check("large, b transposed",
        {{M, 130, 70, 0, 150}, {N, 150, 0, 70, 1}, {K, 70, 1, 1, 0}});
  check("large, a transposed, c too",
        {{M, 130, 1, 0, 1}, {N, 150, 0, 1, 130}, {K, 70, 130, 150, 0}});
}

/// Operands whose rows are a multiple of 1 KiB apart, which are copied in parts
/// (Contract.cpp, GemmCall): 256 rows at a time, and some left.
TEST(Contract, FarRows) {
  for (int64_t m : {64, 65})
    for (int64_t n : {8, 128, 130})
      for (int64_t k : {3, 300}) {
        std::string size = " of " + std::to_string(m) + "x" +
                           std::to_string(k) + "x" + std::to_string(n);
        check("a transposed, far" + size,
              {{M, m, 1, 0, n}, {N, n, 0, 1, 1}, {K, k, 256, n, 0}});
        check("both far" + size,
              {{M, m, 1, 0, n}, {N, n, 0, 1, 1}, {K, k, 512, 512, 0}});
        check("b far" + size,
              {{M, m, k, 0, 512}, {N, n, 0, 1, 1}, {K, k, 1, 512, 0}});
        check("c transposed" + size,
              {{M, m, 1, 0, 1}, {N, n, 0, 1, m}, {K, k, 512, 512, 0}});
      }
  // With AVX-512: rows 4 KiB apart.
  for (int64_t n : {8, 200})
    check("a transposed, 4 KiB apart, " + std::to_string(n) + " columns",
          {{M, 1024, 1, 0, n}, {N, n, 0, 1, 1}, {K, 300, 1024, n, 0}});
  check("heads", {{B, 2, 65 * 70, 70 * 512, 65 * 512},
                  {B, 8, 2 * 65 * 70, 64, 64},
                  {M, 65, 70, 0, 512},
                  {N, 64, 0, 1, 1},
                  {K, 70, 1, 512, 0}});
  check("heads, a transposed", {{B, 2, 8 * 70 * 256, 70 * 512, 65 * 512},
                                {B, 4, 70 * 256, 128, 128},
                                {M, 65, 1, 0, 512},
                                {N, 128, 0, 1, 1},
                                {K, 70, 256, 512, 0}});
  check("sums around", {{M, 64, 1, 0, 256},
                        {N, 200, 0, 1, 1},
                        {K, 3, 300 * 512, 300 * 256 + 1, 0},
                        {K, 300, 512, 256, 0}});
}

/// Constant operands, which convolutions read (Contract.cpp, makeConvolution):
/// blocks of channels, places and features, and what is left of them, and
/// neighbours for which other calls are made: no unit stride, rows apart of
/// little to compute.
TEST(Contract, Constants) {
  for (int64_t m : {1, 2, 31, 65})
    for (int64_t n : {2, 33, 128, 130})
      for (int64_t k : {2, 70, 129}) {
        std::string size = " of " + std::to_string(m) + "x" +
                           std::to_string(k) + "x" + std::to_string(n);
        check("[k, n]" + size,
              {{M, m, k, 0, n}, {N, n, 0, 1, 1}, {K, k, 1, n, 0}});
        check("[k, n], far" + size,
              {{M, m, k, 0, n}, {N, n, 0, 1, 1}, {K, k, 1, 256, 0}});
        check("[n, k]" + size,
              {{M, m, k, 0, n}, {N, n, 0, k, 1}, {K, k, 1, 1, 0}});
        check("rows apart" + size,
              {{M, m, k + 3, 0, n + 5}, {N, n, 0, k + 2, 1}, {K, k, 1, 1, 0}});
        check("no unit stride" + size,
              {{M, m, k, 0, n}, {N, n, 0, 3 * k, 1}, {K, k, 1, 3, 0}});
        // The transposed product: a is the constant one.
        check("c transposed" + size,
              {{M, n, k, 0, 1}, {N, m, 0, k, n}, {K, k, 1, 1, 0}});
      }
  check("a weight each of a batch", {{B, 3, 40 * 70, 70 * 130, 40 * 130},
                                     {M, 40, 70, 0, 130},
                                     {N, 130, 0, 1, 1},
                                     {K, 70, 1, 130, 0}});
  check("rows of two strides", {{M, 3, 40 * 70 + 1, 0, 40 * 130 + 2},
                                {M, 40, 70, 0, 130},
                                {N, 130, 0, 1, 1},
                                {K, 70, 1, 130, 0}});
  check("sums around", {{M, 40, 70 * 3 + 5, 0, 130},
                        {N, 130, 0, 1, 1},
                        {K, 3, 71, 70 * 140, 0},
                        {K, 70, 1, 140, 0}});
  check("rows that overlap, b [n, k]",
        {{M, 40, 1, 0, 9}, {N, 9, 0, 7, 1}, {K, 7, 1, 1, 0}});
  check("a window over b",
        {{M, 40, 7, 0, 9}, {N, 9, 0, 1, 1}, {K, 7, 1, 1, 0}});
}

/// Two operands of one table each keep their own copy.
TEST(Contract, ConstantsByAddress) {
  const int64_t m = 40, n = 33, k = 17;
  std::vector<LoopRow> loops{{M, m, k, 0, n}, {N, n, 0, k, 1}, {K, k, 1, 1, 0}};
  std::string message = runThreads(line(1), [&](dist_rank *rank) {
    std::vector<float> a(m * k, 1.0f), first(n * k, 2.0f), second(n * k, 3.0f),
        c(m * n);
    for (int round = 0; round < 2; ++round)
      for (const std::vector<float> *b : {&first, &second}) {
        if (dist_contract(rank, DIST_F32, DIST_F32, DIST_CONTRACT_CONSTANT_B,
                          loops.size(), &loops[0].kind, a.data(), b->data(),
                          c.data()) != 0)
          return 1;
        for (float x : c)
          EXPECT_EQ(x, k * b->front());
      }
    return 0;
  });
  EXPECT_EQ(message, "");
}

/// Memory that nobody else reads goes back to the system once it is packed, and
/// only what was lent.
TEST(Contract, GivesBackWhatIsPacked) {
  const int64_t m = 40, n = 256, k = 512;
  std::vector<LoopRow> loops{{M, m, k, 0, n}, {N, n, 0, k, 1}, {K, k, 1, 1, 0}};
  auto body = [&](dist_rank *rank) {
    auto make = [&](int64_t count, float value) {
      std::shared_ptr<void> memory = rank->backend.allocate(count * 4);
      std::fill_n(static_cast<float *>(memory.get()), count, value);
      return memory;
    };
    std::shared_ptr<void> a = make(m * k, 1), c = make(m * n, 0);
    constexpr int32_t only = DIST_CONTRACT_CONSTANT_B | DIST_CONTRACT_ONLY_B;
    struct Case {
      int32_t flags;
      bool isLent, stays;
    };
    for (Case one : {Case{only, true, false}, Case{only, false, true},
                     Case{DIST_CONTRACT_CONSTANT_B, true, true}}) {
      // With something before and behind.
      std::shared_ptr<void> all = make(n * k + 20, 2);
      float *b = static_cast<float *>(all.get()) + 10;
      if (one.isLent)
        rank->backend.lend(b, n * k * 4, /*isMapped=*/false);
      for (int round = 0; round < 2; ++round) {
        if (dist_contract(rank, DIST_F32, DIST_F32, one.flags, loops.size(),
                          &loops[0].kind, a.get(), b, c.get()) != 0)
          return 1;
        for (int64_t i = 0; i < m * n; ++i)
          EXPECT_EQ(static_cast<float *>(c.get())[i], k * 2);
      }
      EXPECT_EQ(b[n * k / 2], one.stays ? 2 : 0);
      for (float *end : {b - 1, b + n * k})
        EXPECT_EQ(*end, 2);
    }
    return 0;
  };
  EXPECT_EQ(runThreads(line(2), body), "");
}

/// A NaN or an infinity of either operand reaches the elements that it belongs
/// to, and no others.
TEST(Contract, ConstantsNotFinite) {
  const int64_t m = 40, n = 33, k = 17;
  std::vector<LoopRow> loops{{M, m, k, 0, n}, {N, n, 0, k, 1}, {K, k, 1, 1, 0}};
  std::string message = runThreads(line(1), [&](dist_rank *rank) {
    std::vector<float> a(m * k, 1.0f), b(n * k, 2.0f), c(m * n);
    a[3 * k + 5] = NAN;
    a[39 * k] = -INFINITY;
    b[32 * k + 16] = INFINITY;
    if (dist_contract(rank, DIST_F32, DIST_F32, DIST_CONTRACT_CONSTANT_B,
                      loops.size(), &loops[0].kind, a.data(), b.data(),
                      c.data()) != 0)
      return 1;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        float x = c[i * n + j];
        if (i == 3 || (i == 39 && j == 32))
          EXPECT_TRUE(std::isnan(x)) << i << ", " << j;
        else
          EXPECT_EQ(x, i == 39   ? -INFINITY
                       : j == 32 ? INFINITY
                                 : 2.0f * k)
              << i << ", " << j;
      }
    return 0;
  });
  EXPECT_EQ(message, "");
}

TEST(Contract, VectorsAndScalars) {
  check("matrix times vector", {{M, 6, 8, 0, 1}, {K, 8, 1, 1, 0}});
  check("vector times matrix", {{N, 6, 0, 1, 1}, {K, 8, 1, 6, 0}});
  check("strided vector", {{M, 6, 8, 0, 3}, {K, 8, 1, 5, 0}});
  check("inner product", {{K, 8, 1, 1, 0}});
  check("outer product", {{M, 6, 1, 0, 4}, {N, 4, 0, 1, 1}});
  check(
      "extents of one",
      {{B, 1, 99, 99, 99}, {M, 1, 3, 0, 5}, {N, 5, 0, 1, 1}, {K, 3, 1, 5, 0}});
}

TEST(Contract, LoopsMerge) {
  check("[b, s, h] x [h, n]",
        {{M, 2, 28, 0, 20}, {M, 4, 7, 0, 5}, {N, 5, 0, 1, 1}, {K, 7, 1, 5, 0}});
  check("[b, s, h] x [n, h], out of order",
        {{K, 7, 1, 1, 0}, {N, 5, 0, 7, 1}, {M, 4, 7, 0, 5}, {M, 2, 28, 0, 20}});
  check("sum over heads and width",
        {{M, 4, 12, 0, 5}, {K, 3, 4, 20, 0}, {K, 4, 1, 5, 0}, {N, 5, 0, 1, 1}});
}

TEST(Contract, LoopsThatDoNotMerge) {
  check(
      "two m, apart",
      {{M, 3, 100, 0, 60}, {M, 4, 7, 0, 5}, {N, 5, 0, 1, 1}, {K, 7, 1, 5, 0}});
  check(
      "two n, apart",
      {{M, 4, 7, 0, 100}, {N, 3, 0, 50, 30}, {N, 5, 0, 1, 1}, {K, 7, 1, 5, 0}});
  check(
      "two k, apart",
      {{M, 4, 40, 0, 5}, {N, 5, 0, 1, 1}, {K, 3, 10, 80, 0}, {K, 7, 1, 5, 0}});
  check("two k, apart, and a batch", {{B, 2, 200, 300, 20},
                                      {M, 4, 40, 0, 5},
                                      {N, 5, 0, 1, 1},
                                      {K, 3, 10, 80, 0},
                                      {K, 7, 1, 5, 0}});
}

TEST(Contract, Batches) {
  const int64_t b = 2, h = 3, s = 5, d = 4;
  check("scores, [b, h, s, d]", {{B, b, h * s * d, h * s * d, h * s * s},
                                 {B, h, s * d, s * d, s * s},
                                 {M, s, d, 0, s},
                                 {N, s, 0, d, 1},
                                 {K, d, 1, 1, 0}});
  check("scores, [b, s, h, d]", {{B, b, s * h * d, s * h * d, h * s * s},
                                 {B, h, d, d, s * s},
                                 {M, s, h * d, 0, s},
                                 {N, s, 0, h * d, 1},
                                 {K, d, 1, 1, 0}});
  check("values, to [b, s, h, d]", {{B, b, h * s * s, s * h * d, s * h * d},
                                    {B, h, s * s, d, d},
                                    {M, s, s, 0, h * d},
                                    {N, d, 0, 1, 1},
                                    {K, s, 1, h * d, 0}});
  check("fused q|k|v", {{B, b, s * 3 * h * d, s * 3 * h * d, h * s * s},
                        {B, h, d, d, s * s},
                        {M, s, 3 * h * d, 0, s},
                        {N, s, 0, 3 * h * d, 1},
                        {K, d, 1, 1, 0}});
  // Grouped queries: two query heads share a key head.
  check("b is shared by a batch", {{B, 3, 40, 20, 50},
                                   {B, 2, 20, 0, 25},
                                   {M, 5, 4, 0, 5},
                                   {N, 5, 0, 4, 1},
                                   {K, 4, 1, 1, 0}});
  check("a is shared by a batch",
        {{B, 3, 0, 20, 25}, {M, 5, 4, 0, 5}, {N, 5, 0, 4, 1}, {K, 4, 1, 1, 0}});
  check(
      "batch is innermost",
      {{M, 5, 12, 0, 15}, {K, 4, 3, 15, 0}, {N, 5, 0, 3, 3}, {B, 3, 1, 1, 1}});
  check("elementwise product", {{B, 24, 1, 1, 1}});
}

TEST(Contract, BroadcastRows) {
  check("a's rows are one row",
        {{M, 5, 0, 0, 9}, {N, 9, 0, 1, 1}, {K, 7, 1, 9, 0}});
  check("b's columns are one column",
        {{M, 5, 7, 0, 9}, {N, 9, 0, 0, 1}, {K, 7, 1, 1, 0}});
}

TEST(Contract, EmptyExtents) {
  check("no m", {{M, 0, 7, 0, 9}, {N, 9, 0, 1, 1}, {K, 7, 1, 9, 0}});
  check("no k", {{M, 5, 7, 0, 12}, {N, 9, 0, 1, 1}, {K, 0, 1, 9, 0}});
}

TEST(Contract, Random) {
  std::mt19937 random(3);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<LoopRow> loops;
    int64_t count = pick(1, 6);
    for (int64_t i = 0; i < count; ++i)
      loops.push_back({pick(0, 3), pick(1, 5), 0, 0, 0});
    // Each operand lays its loops out in an order of its own, with gaps.
    auto layOut = [&](int64_t LoopRow::*stride, int64_t without) {
      std::vector<LoopRow *> order;
      for (LoopRow &loop : loops)
        if (loop.kind != without)
          order.push_back(&loop);
      std::shuffle(order.begin(), order.end(), random);
      int64_t next = 1;
      for (LoopRow *loop : order) {
        loop->*stride = next;
        next *= loop->extent;
        if (pick(0, 3) == 0)
          next += pick(1, 3);
      }
    };
    layOut(&LoopRow::a, N);
    layOut(&LoopRow::b, M);
    layOut(&LoopRow::c, K);
    check("round " + std::to_string(round), loops);
    if (HasFailure())
      break;
  }
}

TEST(Contract, Bf16) {
  for (dist_dtype out : {DIST_F32, DIST_BF16}) {
    check("product", {{M, 5, 7, 0, 9}, {N, 9, 0, 1, 1}, {K, 7, 1, 9, 0}},
          DIST_BF16, out);
    check("b transposed", {{M, 5, 7, 0, 9}, {N, 9, 0, 7, 1}, {K, 7, 1, 1, 0}},
          DIST_BF16, out);
    check(
        "batch",
        {{B, 3, 35, 63, 45}, {M, 5, 7, 0, 9}, {N, 9, 0, 1, 1}, {K, 7, 1, 9, 0}},
        DIST_BF16, out);
    check("strides of two",
          {{M, 5, 14, 0, 18}, {N, 9, 0, 2, 2}, {K, 7, 2, 18, 0}}, DIST_BF16,
          out);
  }
}

TEST(Contract, Bf16SumsAround) {
  for (dist_dtype out : {DIST_F32, DIST_BF16}) {
    check(
        "two sums",
        {{M, 5, 30, 0, 9}, {N, 9, 0, 1, 1}, {K, 7, 1, 9, 0}, {K, 2, 9, 70, 0}},
        DIST_BF16, out);
    // Rounded between them, they would differ.
    check("many sums of a batch",
          {{B, 3, 1000, 2000, 45},
           {M, 5, 200, 0, 9},
           {N, 9, 0, 1, 1},
           {K, 7, 1, 9, 0},
           {K, 16, 10, 70, 0}},
          DIST_BF16, out);
  }
}

TEST(Contract, RefusesOtherTypes) {
  const int64_t loops[] = {DIST_LOOP_K, 4, 1, 1, 0};
  for (auto [in, out] : std::vector<std::pair<dist_dtype, dist_dtype>>{
           {DIST_F64, DIST_F64}, {DIST_I32, DIST_I32}, {DIST_F32, DIST_F64}}) {
    std::string message =
        runThreads(line(1), [&, in = in, out = out](dist_rank *rank) {
          double x[4] = {}, y[4] = {};
          EXPECT_NE(dist_contract(rank, in, out, 0, 1, loops, x, x, y), 0);
          return 0;
        });
    EXPECT_TRUE(mentions(message, {std::string("no contraction of ") +
                                   dtypeName(in) + " to " + dtypeName(out)}));
  }
}

// Same bits, run after run, rank after rank.
TEST(Contract, IsDeterministic) {
  const int64_t loops[] = {DIST_LOOP_M, 64,  300, 0,  80, //
                           DIST_LOOP_N, 80,  0,   1,  1,  //
                           DIST_LOOP_K, 300, 1,   80, 0};
  std::vector<float> a(64 * 300), b(300 * 80);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (auto *v : {&a, &b})
    for (float &x : *v)
      x = normal(random);
  std::vector<std::vector<float>> results(6, std::vector<float>(64 * 80));
  for (int round = 0; round < 2; ++round)
    EXPECT_EQ(runThreads(line(3),
                         [&](dist_rank *rank) {
                           return dist_contract(
                               rank, DIST_F32, DIST_F32, 0, 3, loops, a.data(),
                               b.data(),
                               results[3 * round + rank->index].data());
                         }),
              "");
  for (const std::vector<float> &result : results)
    EXPECT_EQ(result, results[0]);
}

} // namespace
