//===- RowsTest.cpp - Rows that indices name, and their adjoint -----------===//
//
// Against a closed form on random graphs, uneven blocks and communicators of
// several axes; the bytes that are said to be sent; what is refused.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"
#include "dist/Tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

using namespace dist;
using namespace dist::test;

namespace {

/// A dimension of [outer, whole, inner], cut over a communicator of axes of
/// `sizes`; each rank has `count` indices.
struct RowsCase {
  std::vector<int64_t> sizes;
  int64_t outer, whole, inner, count;

  int64_t ranks() const {
    int64_t product = 1;
    for (int64_t size : sizes)
      product *= size;
    return product;
  }
  double element(int64_t o, int64_t row, int64_t i) const {
    return (o * whole + row) * inner + i + 1;
  }
};

Topology topologyOf(const RowsCase &c) {
  Mesh mesh = makeMesh(c.sizes);
  std::vector<AxisRef> refs;
  for (size_t i = 0; i < c.sizes.size(); ++i)
    refs.push_back(mesh.whole(static_cast<int32_t>(i)));
  return makeTopology(mesh, {refs});
}

void checkCase(const RowsCase &c, uint64_t seed, int32_t stream) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<int64_t>> named(c.ranks());
  for (auto &indices : named)
    for (int64_t i = 0; i < c.count; ++i)
      indices.push_back(random() % c.whole);
  // A small integer: sums are exact, in any order.
  auto sent = [&](int64_t rank, int64_t k, int64_t o, int64_t i) -> double {
    return (rank * 7 + k * 3 + o * 5 + i) % 101 - 50;
  };
  std::string message = runRanks(topologyOf(c), [&](dist_rank *rank) {
    int64_t r = rank->index, rows = blockRows(c.sizes, c.whole);
    Block own = blockAt(c.sizes, c.whole, r);
    std::vector<double> block(c.outer * rows * c.inner, NAN);
    for (int64_t o = 0; o < c.outer; ++o)
      for (int64_t row = 0; row < own.valid; ++row)
        for (int64_t i = 0; i < c.inner; ++i)
          block[(o * rows + row) * c.inner + i] =
              c.element(o, own.start + row, i);
    std::vector<double> got(c.count * c.outer * c.inner, NAN), given(got);
    for (int64_t k = 0; k < c.count; ++k)
      for (int64_t o = 0; o < c.outer; ++o)
        for (int64_t i = 0; i < c.inner; ++i)
          given[(k * c.outer + o) * c.inner + i] = sent(r, k, o, i);
    std::vector<double> home(block.size(), NAN);
    std::vector<int64_t> indices = named[r];
    if (dist_plan_rows(rank, 0, -1, 3, c.whole, c.count, indices.data()))
      return 1;
    // It has copies.
    std::fill(indices.begin(), indices.end(), -1);
    if (dist_gather_rows(rank, 0, stream, -1, DIST_F64, 3, c.outer, c.whole,
                         c.inner, block.data(), got.data()) ||
        dist_reduce_rows(rank, 0, stream, -1, DIST_F64, 3, c.outer, c.whole,
                         c.inner, given.data(), home.data()) ||
        sync(rank, stream))
      return 1;
    for (int64_t k = 0; k < c.count; ++k)
      for (int64_t o = 0; o < c.outer; ++o)
        for (int64_t i = 0; i < c.inner; ++i)
          EXPECT_EQ(got[(k * c.outer + o) * c.inner + i],
                    c.element(o, named[r][k], i));
    for (int64_t o = 0; o < c.outer; ++o)
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t i = 0; i < c.inner; ++i) {
          double sum = 0;
          for (int64_t other = 0; other < c.ranks() && row < own.valid; ++other)
            for (int64_t k = 0; k < c.count; ++k)
              if (named[other][k] == own.start + row)
                sum += sent(other, k, o, i);
          EXPECT_EQ(home[(o * rows + row) * c.inner + i], sum);
        }
    return 0;
  });
  ASSERT_EQ(message, "") << c.whole << " rows, " << c.count << " indices";
}

DIST_ON_RANKS(Rows, Way::Threads, Way::Messages, Way::Processes,
              Way::Devices);

TEST_P(Rows, ClosedForm) {
  std::mt19937_64 random(5);
  auto below = [&](int64_t end) {
    return static_cast<int64_t>(random() % end);
  };
  for (std::vector<int64_t> sizes : std::vector<std::vector<int64_t>>{
           {1}, {2}, {3}, {8}, {2, 2}, {2, 3}, {3, 2}})
    for (int i = 0; i < 20; ++i)
      checkCase({sizes, 1 + below(3), 1 + below(20), 1 + below(4), below(40)},
                random(), i % 2);
}

/// Few of many rows, which are sorted otherwise.
TEST_P(Rows, FewOfMany) {
  checkCase({{3}, 1, 5000, 1, 40}, 1, 0);
  checkCase({{2, 2}, 1, 5001, 1, 600}, 2, 0);
  checkCase({{2, 2}, 1, 5001, 1, 700}, 2, 0);
}

/// Fewer rows than ranks, and nobody who names any.
TEST_P(Rows, EmptyBlocksAndNoIndices) {
  checkCase({{4}, 1, 2, 3, 5}, 1, 0);
  checkCase({{4}, 1, 2, 3, 0}, 1, 0);
}

/// A plan is made anew where indices change, and only there.
TEST_P(Rows, PlansFollowTheIndices) {
  std::string message = runRanks(line(2), [](dist_rank *rank) {
    double in[2] = {rank->index * 2.0, rank->index * 2.0 + 1}, out;
    const RowPlan *before = nullptr;
    for (int64_t step = 0; step < 8; ++step) {
      int64_t index = step / 2;
      if (dist_plan_rows(rank, 0, -1, 0, 4, 1, &index))
        return 1;
      EXPECT_EQ(rank->rowPlans[0].get() == before, step % 2 == 1);
      before = rank->rowPlans[0].get();
      if (dist_gather_rows(rank, 0, 0, -1, DIST_F64, 0, 1, 4, 1, in, &out))
        return 1;
      EXPECT_EQ(out, step / 2);
    }
    return 0;
  });
  EXPECT_EQ(message, "");
}

/// 256 and eight times 1 in bf16, of which 256 + 1 is 256: sums are rounded
/// once by who has the rows, and once at home.
TEST_P(Rows, NarrowFloatsRoundOncePerSide) {
  std::string message = runRanks(line(3), [](dist_rank *rank) {
    std::vector<float> wide = {rank->index == 0 ? 256.f : 1.f, 1, 1};
    std::vector<uint16_t> in(3);
    convert(DIST_F32, wide.data(), DIST_BF16, in.data(), 3);
    int64_t indices[3] = {0, 0, 0};
    uint16_t out;
    if (dist_plan_rows(rank, 0, -1, 0, 3, 3, indices) ||
        dist_reduce_rows(rank, 0, 0, -1, DIST_BF16, 0, 1, 3, 1, in.data(),
                         &out))
      return 1;
    float sum;
    convert(DIST_BF16, &out, DIST_F32, &sum, 1);
    EXPECT_EQ(sum, rank->index == 0 ? 264 : 0);
    return 0;
  });
  EXPECT_EQ(message, "");
}

/// A row is named once, however many indices name it; it is sent once.
TEST(RowPlans, NameRowsOnce) {
  Topology topology = makeTopology(makeMesh({3}), {{{0, 1, 3, 1}}});
  RowPlan::List<int64_t> indices = {5, 2, 5, 0, 4, 5};
  RowPlan plan(0, topology.comms[0], 6, indices.size(), indices.data());
  EXPECT_EQ(plan.wrong, -1);
  EXPECT_EQ(plan.namedOf(0), 1);
  EXPECT_EQ(plan.namedOf(1), 1);
  EXPECT_EQ(plan.namedOf(2), 2);
  EXPECT_EQ(plan.named, (RowPlan::List<int64_t>{0, 0, 0, 1}));
  EXPECT_EQ(plan.starts, (RowPlan::List<int64_t>{0, 1, 2, 3, 6}));
  EXPECT_EQ(plan.users, (RowPlan::List<int64_t>{3, 1, 4, 0, 2, 5}));
  EXPECT_EQ(plan.owners, (RowPlan::List<int32_t>{2, 1, 2, 0, 2, 2}));
  EXPECT_EQ(plan.rows, (RowPlan::List<int64_t>{1, 0, 1, 0, 0, 1}));
}

TEST_P(Rows, RefusesWhatDoesNotExist) {
  auto runWith = [](int32_t plan, int64_t whole, int64_t index,
                    bool isMade = true) {
    return runRanks(line(2), [&](dist_rank *rank) {
      double in[2] = {}, out[1];
      if (isMade && dist_plan_rows(rank, 0, -1, plan, 4, 1, &index))
        return 1;
      return dist_gather_rows(rank, 0, 0, -1, DIST_F64, plan, 1, whole, 1, in,
                              out);
    });
  };
  EXPECT_EQ(runWith(0, 4, 3), "");
  EXPECT_TRUE(mentions(runWith(0, 4, 4), {"gather_rows of f64",
                                          "index 0 must be in [0, 4), not 4"}));
  EXPECT_TRUE(
      mentions(runWith(0, 4, -1), {"index 0 must be in [0, 4), not -1"}));
  EXPECT_TRUE(
      mentions(runWith(256, 4, 0),
               {"plan 256 of rows does not exist: plans are 0 to 255"}));
  EXPECT_TRUE(mentions(runWith(-1, 4, 0), {"plan -1 of rows"}));
  EXPECT_TRUE(mentions(runWith(0, 6, 0), {"there is no plan 0 for 6 rows"}));
  EXPECT_TRUE(mentions(runWith(0, 4, 0, false), {"there is no plan 0"}));
}

} // namespace
