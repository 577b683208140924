//===- HaloTest.cpp - Halos and their adjoint -----------------------------===//
//
// Of all dtypes and communicators in CollectivesTest; here the adjoint identity
// on random numbers, rounding, and what is refused.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"
#include "dist/Tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

using namespace dist;
using namespace dist::test;

namespace {

/// A halo along a dimension of [outer, whole, inner], in f64.
struct HaloCase {
  int64_t ranks, outer, whole, inner, low, high;
  int32_t boundary;

  int64_t rows() const { return (whole + ranks - 1) / ranks; }
  int64_t wide() const { return low + rows() + high; }
  int64_t valid(int64_t rank) const {
    return std::clamp<int64_t>(whole - rank * rows(), 0, rows());
  }
  /// Whether an element of a tensor of `count` rows is among the first `used`.
  static bool isUsed(int64_t at, int64_t inner, int64_t count, int64_t used) {
    return at / inner % count < used;
  }
  /// Whether an element of a window is of the dimension.
  bool isInWindow(int64_t at, int64_t rank) const {
    if (boundary == DIST_BOUNDARY_PERIODIC)
      return isUsed(at, inner, wide(),
                    valid(rank) ? low + valid(rank) + high : 0);
    int64_t row = rank * rows() - low + at / inner % wide();
    return row >= 0 && row < whole;
  }
};

double dot(const std::vector<double> &a, const std::vector<double> &b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

std::vector<double> randomNumbers(std::mt19937_64 &random, int64_t count) {
  std::vector<double> numbers(count);
  for (double &number : numbers)
    number = std::normal_distribution<double>()(random);
  return numbers;
}

/// <Hx, y> and <x, H'y> of one case; H is what the exchange does to x, apart
/// from what it fills in. What is padding is not a number.
void checkAdjoint(const HaloCase &c, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> forward(c.ranks), backward(c.ranks), size(c.ranks);
  std::vector<std::vector<double>> xs, ys;
  for (int64_t r = 0; r < c.ranks; ++r) {
    xs.push_back(randomNumbers(random, c.outer * c.rows() * c.inner));
    ys.push_back(randomNumbers(random, c.outer * c.wide() * c.inner));
  }
  std::string message = runRanks(line(c.ranks), [&](dist_rank *rank) {
    int64_t r = rank->index, used = c.valid(r);
    std::vector<double> x = xs[r], y = ys[r], fill(x.size());
    std::vector<double> hx(y.size()), filled(y.size()), hy(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      if (!c.isUsed(i, c.inner, c.rows(), used))
        x[i] = NAN;
    for (size_t i = 0; i < y.size(); ++i)
      if (!c.isInWindow(i, r))
        y[i] = NAN;
    double number = 1.5;
    int64_t bits;
    std::memcpy(&bits, &number, 8);
    auto exchange = [&](const std::vector<double> &in,
                        std::vector<double> &out) {
      return dist_halo_exchange(rank, 0, 0, -1, DIST_F64, c.outer, c.whole,
                                c.inner, c.low, c.high, c.boundary, bits,
                                in.data(), out.data());
    };
    if (exchange(x, hx) || exchange(fill, filled) ||
        dist_halo_reduce(rank, 0, 0, -1, DIST_F64, c.outer, c.whole, c.inner,
                         c.low, c.high, c.boundary == DIST_BOUNDARY_PERIODIC,
                         y.data(), hy.data()))
      return 1;
    for (size_t i = 0; i < hx.size(); ++i) {
      bool isPadding = std::isnan(y[i]);
      hx[i] = isPadding ? 0 : hx[i] - filled[i];
      y[i] = isPadding ? 0 : y[i];
    }
    for (size_t i = 0; i < x.size(); ++i) {
      // Padding gets nothing.
      EXPECT_TRUE(!std::isnan(x[i]) || hy[i] == 0);
      x[i] = std::isnan(x[i]) ? 0 : x[i];
    }
    forward[r] = dot(hx, y);
    backward[r] = dot(x, hy);
    size[r] = std::sqrt(dot(hx, hx) * dot(y, y));
    return 0;
  });
  ASSERT_EQ(message, "");
  double left = std::accumulate(forward.begin(), forward.end(), 0.0);
  double right = std::accumulate(backward.begin(), backward.end(), 0.0);
  double scale = std::accumulate(size.begin(), size.end(), 1e-300);
  EXPECT_LE(std::abs(left - right), 1e-13 * scale)
      << left << " and " << right << ": " << c.ranks << " ranks, " << c.whole
      << " rows, low " << c.low << ", high " << c.high << ", boundary "
      << c.boundary;
}

DIST_ON_RANKS(Halo, Way::Threads, Way::Messages, Way::Processes,
              Way::Devices);

TEST_P(Halo, AdjointIdentity) {
  std::mt19937_64 random(7);
  auto below = [&](int64_t end) {
    return static_cast<int64_t>(random() % end);
  };
  for (int64_t ranks : {1, 2, 3, 4, 8})
    for (int32_t boundary = DIST_BOUNDARY_ZERO;
         boundary <= DIST_BOUNDARY_PERIODIC; ++boundary)
      for (int i = 0; i < 25; ++i) {
        // Uneven and empty blocks; halos wider than blocks, and than all.
        HaloCase c{ranks,        1 + below(3), 1 + below(20),
                   1 + below(4), below(12),    below(i % 5 ? 6 : 50),
                   boundary};
        checkAdjoint(c, random());
      }
}

/// Two dimensions one after the other: corners come along, and go home.
TEST_P(Halo, CornersByExchangeOfBoth) {
  // 2 x 2 ranks, each with one element of [2, 2].
  Mesh mesh = makeMesh({2, 2});
  Topology topology = makeTopology(mesh, {{mesh.whole(0)}, {mesh.whole(1)}});
  std::string message = runRanks(topology, [&](dist_rank *rank) {
    double own = 1 << rank->index, rows[3], all[9], back[3], home;
    int32_t status = dist_halo_exchange(rank, 0, 0, -1, DIST_F64, 1, 2, 1, 1, 1,
                                        DIST_BOUNDARY_ZERO, 0, &own, rows) |
                     dist_halo_exchange(rank, 1, 0, -1, DIST_F64, 3, 2, 1, 1, 1,
                                        DIST_BOUNDARY_ZERO, 0, rows, all);
    if (status)
      return 1;
    double sum = 0;
    for (double number : all)
      sum += number;
    EXPECT_EQ(sum, 1 + 2 + 4 + 8); // each has all four, one at a corner
    EXPECT_EQ(all[4], own);
    for (double &number : all)
      number = 1;
    if (dist_halo_reduce(rank, 1, 0, -1, DIST_F64, 3, 2, 1, 1, 1, 0, all,
                         back) |
        dist_halo_reduce(rank, 0, 0, -1, DIST_F64, 1, 2, 1, 1, 1, 0, back,
                         &home))
      return 1;
    EXPECT_EQ(home, 4); // one from each
    return 0;
  });
  EXPECT_EQ(message, "");
}

/// 256 and eight times 1 in bf16, of which 256 + 1 is 256.
TEST_P(Halo, NarrowFloatsRoundOnce) {
  std::string message = runRanks(line(3), [](dist_rank *rank) {
    std::vector<float> wide(9, 1);
    wide[4] = 256;
    std::vector<uint16_t> in(9);
    convert(DIST_F32, wide.data(), DIST_BF16, in.data(), 9);
    uint16_t out;
    if (dist_halo_reduce(rank, 0, 0, -1, DIST_BF16, 1, 3, 1, 4, 4,
                         /*periodic=*/1, in.data(), &out))
      return 1;
    float sum;
    convert(DIST_BF16, &out, DIST_F32, &sum, 1);
    EXPECT_EQ(sum, 264);
    return 0;
  });
  EXPECT_EQ(message, "");
}

TEST_P(Halo, RefusesWhatDoesNotExist) {
  auto runWith = [](int64_t whole, int64_t low, int32_t boundary) {
    return runRanks(line(2), [&](dist_rank *rank) {
      double in[4] = {}, out[8] = {};
      return dist_halo_exchange(rank, 0, 0, -1, DIST_F64, 1, whole, 1, low, 0,
                                boundary, 0, in, out);
    });
  };
  EXPECT_TRUE(mentions(runWith(4, 1, 4), {"boundary 4 does not exist"}));
  EXPECT_TRUE(mentions(runWith(4, 1, -1), {"boundary -1 does not exist"}));
  EXPECT_TRUE(mentions(runWith(4, -1, 0), {"negative size -1"}));
  EXPECT_TRUE(mentions(runWith(0, 1, DIST_BOUNDARY_PERIODIC),
                       {"periodic over 0 rows"}));
  EXPECT_EQ(runWith(0, 0, DIST_BOUNDARY_PERIODIC), "");
}

} // namespace
