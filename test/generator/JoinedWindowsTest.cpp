//===- JoinedWindowsTest.cpp - Two layers of windows, one exchange --------===//
//
// Two layers of windows, joined wherever that can be (--dist-join-halos). A
// bias in between makes rows of padding differ from what the second layer pads
// with.
//
// Nothing is random. Windows are sums of products and maxima, for each stride,
// dilation, width and padding. 2 to 4 devices divide the sizes or do not. All
// must agree with one device. Exchanges must be joined where blocks are even
// and their rows are enough.
//
//===----------------------------------------------------------------------===//

#include "test/generator/Check.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

using namespace mlir::dist::test;

namespace {
struct Layer {
  bool isMaximum;
  int64_t stride, dilation, width, low, high;

  int64_t getReach() const { return (width - 1) * dilation + 1; }
  int64_t getPadded(int64_t size) const { return low + size + high; }
  int64_t getCount(int64_t size) const {
    return (getPadded(size) - getReach()) / stride + 1;
  }
  /// Rows after a block that is `stride` times as long as what is made of it.
  int64_t getAfter() const { return getReach() - stride - low; }
};

struct Case {
  int64_t devices, size;
  Layer first, second;
};
} // namespace

static std::string writeLayer(const Layer &layer, int64_t size, int number,
                              llvm::StringRef in, llvm::StringRef out) {
  int64_t padded = layer.getPadded(size), count = layer.getCount(size);
  return llvm::formatv(
      R"(
  %fill{0} = arith.constant {1} : f64
  %p{0} = tensor.pad %{2} low[{3}, 0] high[{4}, 0] {{
  ^bb0(%a: index, %b: index):
    tensor.yield %fill{0} : f64
  } : tensor<{5}x2xf64> to tensor<{6}x2xf64>
  %e{0} = tensor.empty() : tensor<{7}x2xf64>
  %start{0} = arith.constant {8} : f64
  %f{0} = linalg.fill ins(%start{0} : f64) outs(%e{0} : tensor<{7}x2xf64>) -> tensor<{7}x2xf64>
  %r{0} = linalg.generic {{indexing_maps = [affine_map<(o, k, c) -> (o * {9} + k * {10}, c)>, affine_map<(o, k, c) -> (k)>, affine_map<(o, k, c) -> (o, c)>], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%p{0}, %w{0} : tensor<{6}x2xf64>, tensor<{11}xf64>) outs(%f{0} : tensor<{7}x2xf64>) {{
  ^bb0(%a: f64, %b: f64, %s: f64):
    %t = {12} %a, %b : f64
    %u = {13} %s, %t : f64
    linalg.yield %u : f64
  } -> tensor<{7}x2xf64>
  %{14} = linalg.generic {{indexing_maps = [affine_map<(o, c) -> (o, c)>, affine_map<(o, c) -> (o, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%r{0} : tensor<{7}x2xf64>) outs(%e{0} : tensor<{7}x2xf64>) {{
  ^bb0(%a: f64, %s: f64):
    %t = arith.addf %a, %bias : f64
    linalg.yield %t : f64
  } -> tensor<{7}x2xf64>)",
      number, layer.isMaximum ? "-9.0" : "0.0", in, layer.low, layer.high, size,
      padded, count, layer.isMaximum ? "-1.0e9" : "0.0", layer.stride,
      layer.dilation, layer.width,
      layer.isMaximum ? "arith.addf" : "arith.mulf",
      layer.isMaximum ? "arith.maximumf" : "arith.addf", out);
}

static std::string makeModule(const Case &c) {
  int64_t middle = c.first.getCount(c.size);
  int64_t count = c.second.getCount(middle);
  return llvm::formatv(R"(
dist.mesh @m ["x" = {0}]
func.func @main(%x: tensor<{1}x2xf64> {{dist.sharding = #dist.sharding<@m, [{{"x"}, {{}]>}, %w0: tensor<{2}xf64>, %w1: tensor<{3}xf64>) -> tensor<{4}x2xf64> {{
  %bias = arith.constant 3.0 : f64)",
                       c.devices, c.size, c.first.width, c.second.width, count)
             .str() +
         writeLayer(c.first, c.size, 0, "x", "y") +
         writeLayer(c.second, middle, 1, "y", "z") +
         llvm::formatv("\n  return %z : tensor<{0}x2xf64>\n}\n", count).str();
}

/// Whether blocks are even and lie beside each other in both layers, both need
/// rows of neighbours, and a neighbour has what both need.
static bool mustJoin(const Case &c) {
  int64_t size = c.size, low = 0, high = 0;
  bool isEven = true, areNeeded = true;
  int64_t sizes[] = {size, c.first.getCount(size),
                     c.second.getCount(c.first.getCount(size))};
  const Layer *layers[] = {&c.first, &c.second};
  for (int i = 0; i < 2; ++i) {
    isEven &= sizes[i] % c.devices == 0 && sizes[i + 1] % c.devices == 0 &&
              sizes[i] == sizes[i + 1] * layers[i]->stride;
    int64_t after = layers[i]->getAfter();
    areNeeded &= after >= 0 && layers[i]->low + after > 0;
  }
  for (int i = 1; i >= 0; --i) {
    low = low * layers[i]->stride + layers[i]->low;
    high = high * layers[i]->stride + layers[i]->getAfter();
  }
  return isEven && areNeeded && std::max(low, high) <= size / c.devices;
}

TEST(JoinedWindows, Agree) {
  std::vector<Layer> layers;
  for (bool isMaximum : {false, true})
    for (int64_t stride : {1, 2})
      for (int64_t dilation : {1, 2})
        for (int64_t width : {2, 3})
          for (auto [low, high] :
               {std::pair<int64_t, int64_t>{0, 0}, {1, 1}, {2, 2}, {0, 2}})
            layers.push_back({isMaximum, stride, dilation, width, low, high});
  std::vector<Case> cases;
  size_t number = 0;
  for (int64_t devices : {2, 3, 4})
    for (int64_t size : {11, 12, 16, 24})
      for (const Layer &first : layers)
        for (const Layer &second : layers)
          // All pairs are met, each on some sizes and devices.
          if (number++ % 5 == 0 && first.getReach() <= first.getPadded(size) &&
              second.getReach() <= second.getPadded(first.getCount(size)))
            cases.push_back({devices, size, first, second});
  size_t failures = 0, joined = 0, expected = 0;
  auto make = [&](size_t i) {
    CheckCase out{makeModule(cases[i]), CheckOptions()};
    out.options.seed = i;
    out.options.joinsHalos = true;
    return out;
  };
  checkAllApart(cases.size(), 60, make, [&](size_t i, const Verdict &verdict) {
    bool isJoined = !verdict.detail.empty(), must = mustJoin(cases[i]);
    joined += isJoined;
    expected += must;
    bool isRight = verdict.outcome == Outcome::Agrees && (isJoined || !must);
    if (!isRight && ++failures <= 3)
      ADD_FAILURE() << "case " << i << ": " << getName(verdict.outcome).str()
                    << " in " << verdict.pass << ": " << verdict.detail << "\n"
                    << (must ? "must be joined" : "") << makeModule(cases[i]);
  });
  EXPECT_EQ(failures, 0u) << "of " << cases.size();
  EXPECT_GT(expected, 100u);
  std::cout << cases.size() << " cases, " << joined << " joined, of which "
            << expected << " had to be\n";
}
