//===- ConvolveTest.cpp - Convolutions against nested loops ---------------===//

#include "Ranks.h"
#include "dist/Tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>

using namespace dist;
using namespace dist::test;

/// For the leak sanitizer: oneDNN 2.6 keeps 1.4 KB of some convolutions, which
/// it allocates inside dnnl_primitive_create; the primitives themselves are
/// owned by dnnl.hpp's handles.
extern "C" const char *__lsan_default_suppressions() {
  return "leak:libdnnl.so";
}

namespace {

struct Window {
  int64_t in, out, taps, stride, dilation, low;
  int64_t imageStride = 0, kernelStride = 0, outStride = 0;
};

/// A convolution and where its operands lie.
struct Case {
  int64_t batch, groups, channels, features;
  std::vector<Window> windows;
  int64_t imageStrides[3] = {};  // batch, group, channel
  int64_t kernelStrides[3] = {}; // group, feature, channel
  int64_t outStrides[3] = {};    // batch, group, feature
  int64_t imageSize = 0, kernelSize = 0, outSize = 0;

  std::vector<int64_t> table() const {
    std::vector<int64_t> values = {
        batch,           imageStrides[0],  outStrides[0], groups,
        imageStrides[1], kernelStrides[0], outStrides[1], channels,
        imageStrides[2], kernelStrides[2], features,      kernelStrides[1],
        outStrides[2]};
    for (const Window &w : windows)
      values.insert(values.end(),
                    {w.in, w.out, w.taps, w.stride, w.dilation, w.low,
                     w.imageStride, w.kernelStride, w.outStride});
    return values;
  }
};

enum class Order { ChannelsFirst, ChannelsLast, Apart };

/// Lays `extents` out, of which the first is outermost; `gap` elements are left
/// between rows of the innermost.
int64_t layOut(const std::vector<std::pair<int64_t, int64_t *>> &extents,
               int64_t gap) {
  int64_t span = 1;
  for (size_t i = extents.size(); i-- > 0;) {
    *extents[i].second = span;
    span *= extents[i].first;
    if (i + 1 == extents.size())
      span += gap;
  }
  return span;
}

void layOut(Case &c, Order order) {
  int64_t gap = order == Order::Apart ? 3 : 0;
  auto lay = [&](int64_t *strides, int64_t inner, int64_t Window::*extent,
                 int64_t Window::*stride) {
    std::vector<std::pair<int64_t, int64_t *>> list = {{c.batch, &strides[0]}};
    auto addChannels = [&] {
      // Groups within channels are in nobody's order.
      if (order == Order::Apart) {
        list.push_back({inner, &strides[2]});
        list.push_back({c.groups, &strides[1]});
        return;
      }
      list.push_back({c.groups, &strides[1]});
      list.push_back({inner, &strides[2]});
    };
    if (order != Order::ChannelsLast)
      addChannels();
    for (Window &w : c.windows)
      list.push_back({w.*extent, &(w.*stride)});
    if (order == Order::ChannelsLast)
      addChannels();
    return layOut(list, gap);
  };
  c.imageSize =
      lay(c.imageStrides, c.channels, &Window::in, &Window::imageStride);
  c.outSize = lay(c.outStrides, c.features, &Window::out, &Window::outStride);
  std::vector<std::pair<int64_t, int64_t *>> list = {
      {c.groups, &c.kernelStrides[0]},
      {c.features, &c.kernelStrides[1]},
      {c.channels, &c.kernelStrides[2]}};
  for (Window &w : c.windows)
    list.push_back({w.taps, &w.kernelStride});
  c.kernelSize = layOut(list, gap);
}

/// Adds to `out` over the windows from `depth` on.
void overWindows(const Case &c, size_t depth, const float *image, int64_t at,
                 const float *kernel, int64_t tap, double &sum,
                 const std::vector<int64_t> &place, bool isInside = true) {
  if (depth == c.windows.size()) {
    sum += double(isInside ? image[at] : 0) * kernel[tap];
    return;
  }
  const Window &w = c.windows[depth];
  for (int64_t t = 0; t < w.taps; ++t) {
    int64_t x = place[depth] * w.stride + t * w.dilation - w.low;
    overWindows(c, depth + 1, image, at + x * w.imageStride, kernel,
                tap + t * w.kernelStride, sum, place,
                isInside && x >= 0 && x < w.in);
  }
}

/// The definition: every point of the result, every channel, every tap.
void reference(const Case &c, const float *image, const float *kernel,
               const float *bias, bool accumulate, std::vector<float> &out) {
  std::vector<int64_t> place(c.windows.size(), 0);
  while (true) {
    int64_t point = 0;
    for (size_t i = 0; i < place.size(); ++i)
      point += place[i] * c.windows[i].outStride;
    for (int64_t n = 0; n < c.batch; ++n)
      for (int64_t g = 0; g < c.groups; ++g)
        for (int64_t f = 0; f < c.features; ++f) {
          float &value = out[point + n * c.outStrides[0] + g * c.outStrides[1] +
                             f * c.outStrides[2]];
          double sum = accumulate ? value : 0;
          if (bias)
            sum += bias[g * c.features + f];
          for (int64_t k = 0; k < c.channels; ++k)
            overWindows(c, 0, image,
                        n * c.imageStrides[0] + g * c.imageStrides[1] +
                            k * c.imageStrides[2],
                        kernel,
                        g * c.kernelStrides[0] + f * c.kernelStrides[1] +
                            k * c.kernelStrides[2],
                        sum, place);
          value = sum;
        }
    size_t i = place.size();
    while (i-- > 0) {
      if (++place[i] < c.windows[i].out)
        break;
      place[i] = 0;
    }
    if (i == size_t(-1))
      return;
  }
}

std::string toString(const Case &c) {
  std::string text;
  for (int64_t value : c.table())
    text += std::to_string(value) + " ";
  return text;
}

/// Numbers of which sums are exact.
std::vector<float> numbers(std::mt19937 &random, int64_t count) {
  std::uniform_int_distribution<int> small(-4, 4);
  std::vector<float> values(count);
  for (float &value : values)
    value = small(random) * 0.5f;
  return values;
}

/// Runs it with and without a bias, adding and not; what is not the result's
/// must stay. A constant kernel at another address is another one.
void check(const Case &c) {
  std::vector<int64_t> table = c.table();
  std::string message = runThreads(line(1), [&](dist_rank *rank) {
    std::mt19937 random(11);
    std::vector<float> image = numbers(random, c.imageSize),
                       bias = numbers(random, c.groups * c.features),
                       start = numbers(random, c.outSize);
    std::vector<float> kernels[] = {numbers(random, c.kernelSize),
                                    numbers(random, c.kernelSize)};
    for (int flags = 0; flags < 4; ++flags)
      for (const float *added :
           {(const float *)nullptr, (const float *)bias.data()})
        for (int call = 0; call < 4; ++call) {
          const std::vector<float> &kernel = kernels[call % 2];
          std::vector<float> expected = start, out = start;
          reference(c, image.data(), kernel.data(), added,
                    flags & DIST_CONVOLVE_ACCUMULATE, expected);
          if (dist_convolve(rank, DIST_F32, flags, c.windows.size(),
                            table.data(), image.data(), kernel.data(), added,
                            out.data(), 0, 0))
            return 1;
          EXPECT_EQ(out, expected)
              << toString(c) << "flags " << flags << " bias " << !!added;
        }
    return 0;
  });
  EXPECT_EQ(message, "") << toString(c);
}

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float largest = std::numeric_limits<float>::max();

/// IEEE's minimum of `high` and IEEE's maximum of `low` and the element.
float bounded(float x, float low, float high) {
  if (std::isnan(x))
    return x;
  x = x > low || (x == low && !std::signbit(x)) ? x : low;
  return x < high ? x : high;
}

/// The same sign of zero, and a NaN for a NaN.
bool areSame(const std::vector<float> &a, const std::vector<float> &b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (std::isnan(a[i]) ? !std::isnan(b[i])
                         : std::memcmp(&a[i], &b[i], sizeof(float)) != 0)
      return false;
  return true;
}

/// Runs it with bounds, first without, then with, then again without `odd`
/// numbers in the image, and then with them in what is added to.
void checkBounds(const Case &c, float low, float high,
                 const std::vector<float> &odd) {
  std::vector<int64_t> table = c.table();
  std::string message = runThreads(line(1), [&](dist_rank *rank) {
    std::mt19937 random(7);
    std::vector<float> image = numbers(random, c.imageSize),
                       bias = numbers(random, c.groups * c.features),
                       kernel = numbers(random, c.kernelSize),
                       start = numbers(random, c.outSize);
    std::vector<float> oddImage = image, oddStart = start;
    for (float number : odd) {
      oddImage[random() % oddImage.size()] = number;
      oddStart[random() % oddStart.size()] = number;
    }
    const struct {
      const std::vector<float> &image, &start;
      int32_t flags;
    } calls[] = {{image, start, 0},
                 {oddImage, start, 0},
                 {image, start, 0},
                 {image, start, DIST_CONVOLVE_ACCUMULATE},
                 {image, oddStart, DIST_CONVOLVE_ACCUMULATE},
                 {oddImage, start, DIST_CONVOLVE_ACCUMULATE},
                 {image, start, DIST_CONVOLVE_ACCUMULATE}};
    for (const float *added :
         {(const float *)nullptr, (const float *)bias.data()})
      for (const auto &call : calls) {
        std::vector<float> expected = call.start, out = call.start,
                           mark(c.outSize, 0), ones(c.kernelSize, 0);
        reference(c, call.image.data(), kernel.data(), added,
                  call.flags & DIST_CONVOLVE_ACCUMULATE, expected);
        // What is not the result's stays without bounds, too.
        std::vector<float> one(c.groups * c.features, 1);
        reference(c, image.data(), ones.data(), one.data(), false, mark);
        for (size_t i = 0; i < expected.size(); ++i)
          if (mark[i] == 1)
            expected[i] = bounded(expected[i], low, high);
        // Of constant kernels, oneDNN may make Winograd's products.
        int32_t flags = call.flags | DIST_CONVOLVE_CLAMP |
                        (added ? DIST_CONVOLVE_CONSTANT_KERNEL : 0);
        if (dist_convolve(rank, DIST_F32, flags, c.windows.size(), table.data(),
                          call.image.data(), kernel.data(), added, out.data(),
                          low, high))
          return 1;
        EXPECT_TRUE(areSame(out, expected))
            << toString(c) << "bounds " << low << " " << high << " call "
            << &call - calls << " bias " << !!added;
      }
    return 0;
  });
  EXPECT_EQ(message, "") << toString(c);
}

struct Kind {
  int64_t groups, channels, features;
};

TEST(Convolve, EveryKindStrideDilationAndPadding) {
  // Dense, of one channel, grouped, depthwise, depthwise with several features.
  for (Kind kind :
       {Kind{1, 16, 32}, Kind{1, 3, 5}, Kind{1, 1, 1}, Kind{2, 16, 16},
        Kind{3, 2, 5}, Kind{16, 1, 1}, Kind{8, 1, 2}})
    for (int64_t taps : {1, 2, 3})
      for (int64_t stride : {1, 2, 3})
        for (int64_t dilation : {1, 2})
          for (int64_t low : {0, 1})
            for (int64_t high : {0, 2}) {
              int64_t in = 7, reach = (taps - 1) * dilation + 1;
              int64_t result = (in + low + high - reach) / stride + 1;
              Case c{2, kind.groups, kind.channels, kind.features, {}};
              c.windows = {{in, result, taps, stride, dilation, low},
                           {5, 3, 3, 1, 1, 0}};
              for (Order order : {Order::ChannelsFirst, Order::ChannelsLast}) {
                layOut(c, order);
                check(c);
              }
            }
}

TEST(Convolve, AnyShape) {
  std::mt19937 random(5);
  auto pick = [&](int64_t from, int64_t to) {
    return std::uniform_int_distribution<int64_t>(from, to)(random);
  };
  for (int i = 0; i < 200; ++i) {
    Case c{pick(1, 3), 1, pick(1, 20), pick(1, 20), {}};
    if (pick(0, 2) == 0) {
      c.groups = pick(2, 17);
      c.channels = pick(1, 3);
      c.features = pick(1, 3);
    }
    for (int64_t rank = pick(1, 3); rank-- > 0;) {
      Window w{pick(1, 9), 0, pick(1, 4), pick(1, 3), pick(1, 3), pick(0, 3)};
      int64_t reach = (w.taps - 1) * w.dilation + 1;
      // Results may end before the image does, or far beyond it.
      w.out = pick(
          1, std::max<int64_t>(1, (w.in + w.low + 3 - reach) / w.stride + 1));
      c.windows.push_back(w);
    }
    layOut(c, static_cast<Order>(pick(0, 2)));
    check(c);
  }
}

/// Runs it with kernels that have odd numbers, with bounds and without.
void checkOddKernels(const Case &c) {
  std::vector<int64_t> table = c.table();
  std::string message = runThreads(line(1), [&](dist_rank *rank) {
    std::mt19937 random(3);
    std::vector<float> image = numbers(random, c.imageSize),
                       start = numbers(random, c.outSize);
    std::vector<float> kernels[3];
    for (std::vector<float> &kernel : kernels)
      kernel = numbers(random, c.kernelSize);
    kernels[1][random() % c.kernelSize] = inf;
    kernels[2][random() % c.kernelSize] = nan;
    for (int flags = 0; flags < 4; ++flags)
      for (bool isBounded : {false, true})
        for (int call = 0; call < 6; ++call) {
          const std::vector<float> &kernel = kernels[call % 3];
          std::vector<float> expected = start, out = start;
          reference(c, image.data(), kernel.data(), nullptr,
                    flags & DIST_CONVOLVE_ACCUMULATE, expected);
          int32_t bounds = isBounded ? DIST_CONVOLVE_CLAMP : 0;
          if (dist_convolve(rank, DIST_F32, flags | bounds, c.windows.size(),
                            table.data(), image.data(), kernel.data(), nullptr,
                            out.data(), -inf, inf))
            return 1;
          EXPECT_TRUE(areSame(out, expected))
              << toString(c) << "flags " << flags << " call " << call;
        }
    return 0;
  });
  EXPECT_EQ(message, "") << toString(c);
}

// oneDNN skips padding.
TEST(Convolve, PaddingIsZeros) {
  for (Kind kind : {Kind{1, 16, 32}, Kind{1, 3, 5}, Kind{2, 16, 16},
                    Kind{16, 1, 1}, Kind{3, 2, 5}})
    for (int64_t stride : {1, 2})
      for (Order order :
           {Order::ChannelsFirst, Order::ChannelsLast, Order::Apart}) {
        Case c{2, kind.groups, kind.channels, kind.features, {}};
        c.windows = {{5, 6 / stride, 3, stride, 1, 1}, {4, 4, 3, 1, 1, 0}};
        layOut(c, order);
        checkOddKernels(c);
        // No tap reaches the image.
        c.windows = {{2, 2, 1, 1, 1, 4}};
        layOut(c, order);
        checkOddKernels(c);
      }
}

/// Runs it twice with a constant kernel, with bounds and without, and compares
/// each element with what rounding sums of its window's products takes.
void checkRounding(const Case &c, const std::vector<float> &image,
                   const std::vector<float> &kernel) {
  std::vector<int64_t> table = c.table();
  std::mt19937 random(23);
  std::vector<float> bias = numbers(random, c.features),
                     start = numbers(random, c.outSize);
  auto sizesOf = [](std::vector<float> values) {
    for (float &value : values)
      value = std::fabs(value);
    return values;
  };
  std::vector<float> weights = sizesOf(kernel), most = sizesOf(image),
                     biases = sizesOf(bias);
  // The errors of a sum of n terms are a walk of n steps.
  float rounding =
      2 * std::sqrt(c.channels * 9.0f) * std::numeric_limits<float>::epsilon();
  for (int32_t accumulate : {0, int32_t(DIST_CONVOLVE_ACCUMULATE)}) {
    std::vector<float> expected = start, sizes = sizesOf(start);
    const float *added = accumulate ? bias.data() : nullptr;
    reference(c, image.data(), kernel.data(), added, accumulate, expected);
    reference(c, most.data(), weights.data(), added ? biases.data() : nullptr,
              accumulate, sizes);
    std::string message = runThreads(line(1), [&](dist_rank *rank) {
      for (int32_t bounds : {0, int32_t(DIST_CONVOLVE_CLAMP), 0}) {
        std::vector<float> out = start;
        if (dist_convolve(rank, DIST_F32,
                          DIST_CONVOLVE_CONSTANT_KERNEL | bounds | accumulate,
                          c.windows.size(), table.data(), image.data(),
                          kernel.data(), added, out.data(), 0, inf))
          return 1;
        int64_t wrong = 0;
        for (size_t i = 0; i < out.size(); ++i) {
          float right = bounds ? bounded(expected[i], 0, inf) : expected[i];
          if (std::isnan(right) || std::isinf(right))
            wrong += std::isnan(right) ? !std::isnan(out[i]) : out[i] != right;
          else
            wrong += !(std::fabs(out[i] - right) <= rounding * sizes[i]);
        }
        EXPECT_EQ(wrong, 0) << toString(c) << "flags " << (bounds | accumulate);
      }
      return 0;
    });
    EXPECT_EQ(message, "") << toString(c);
  }
}

// Winograd's products, of tiles of 2 x 2, are exact where sums are.
TEST(Convolve, ExactSums) {
  for (Kind kind : {Kind{1, 16, 16}, Kind{1, 40, 24}})
    for (int64_t size : {11, 12}) {
      Case c{2, 1, kind.channels, kind.features, {}};
      c.windows = {{size, size, 3, 1, 1, 1}, {size, size - 2, 3, 1, 1, 0}};
      for (Order order :
           {Order::ChannelsFirst, Order::ChannelsLast, Order::Apart}) {
        layOut(c, order);
        check(c);
      }
    }
}

// Winograd's products mix what lies in windows beside each other.
TEST(Convolve, NeighboursDoNotCount) {
  std::mt19937 random(17);
  std::normal_distribution<float> normal;
  const struct {
    int64_t channels, features, size;
  } cases[] = {{16, 32, 12}, {20, 17, 13}, {64, 64, 12}, {128, 96, 14}};
  for (auto [channels, features, size] : cases)
    for (Order order : {Order::ChannelsFirst, Order::ChannelsLast}) {
      Case c{1, 1, channels, features, {}};
      c.windows = {{size, size, 3, 1, 1, 1}, {size, size - 1, 3, 1, 1, 1}};
      layOut(c, order);
      std::vector<float> kernel(c.kernelSize), image(c.imageSize);
      for (std::vector<float> *values : {&kernel, &image})
        for (float &value : *values)
          value = normal(random);
      checkRounding(c, image, kernel);
      for (float odd : {1e6f, inf, 1e30f, -1e38f, nan}) {
        // The definition takes a second here.
        if (channels == 128 && odd == 1e30f)
          break;
        std::vector<float> some = image, others = kernel;
        some[random() % some.size()] = odd;
        checkRounding(c, some, kernel);
        others[random() % others.size()] = odd;
        if (!(std::fabs(odd) < 1e20f))
          checkRounding(c, image, others);
      }
      if (channels == 128)
        continue;
      // Results of ordinary size.
      std::vector<float> small = image, large = kernel;
      for (float &value : small)
        value *= 1e-37f;
      for (float &value : large)
        value *= 1e30f;
      checkRounding(c, small, large);
    }
}

// oneDNN makes a bound of a NaN.
TEST(Convolve, BoundsKeepNaN) {
  const std::vector<float> odd[] = {
      {}, {nan}, {inf}, {-inf}, {inf, -inf, nan}, {largest, -largest}};
  const std::pair<float, float> bounds[] = {
      {0.0f, inf}, {0.0f, 6.0f}, {-1.0f, 1.0f}, {-inf, 2.0f}, {-inf, inf}};
  size_t shift = 0;
  for (Kind kind : {Kind{1, 16, 32}, Kind{1, 64, 64}, Kind{1, 3, 5},
                    Kind{2, 16, 16}, Kind{32, 1, 1}})
    for (int64_t taps : {1, 3}) {
      Case c{2, kind.groups, kind.channels, kind.features, {}};
      c.windows = {{9, 9, taps, 1, 1, taps / 2}, {8, 4, taps, 2, 1, taps / 2}};
      for (Order order :
           {Order::ChannelsFirst, Order::ChannelsLast, Order::Apart}) {
        layOut(c, order);
        // All pairs in turn: the sanitizers' runs take ten times as long.
        for (size_t i = 0; i < std::size(bounds); ++i)
          checkBounds(c, bounds[i].first, bounds[i].second,
                      odd[(i + shift) % std::size(odd)]);
        ++shift;
      }
    }
}

// Where no tap reaches the image, a bias alone is bounded.
TEST(Convolve, BoundsOfPadding) {
  Case c{1, 1, 4, 6, {{3, 4, 1, 1, 1, 9}}};
  layOut(c, Order::ChannelsLast);
  checkBounds(c, 0, 1, {nan});
}

// Every second column of an odd number, in each operand: a row begins before
// the one before it, with what is left out, has ended.
TEST(Convolve, RowsThatInterleave) {
  for (int64_t groups : {1, 2}) {
    Case c{2, groups, 3, 4, {{5, 4, 2, 1, 1, 0}, {4, 3, 2, 1, 1, 0}}};
    Window &rows = c.windows[0], &columns = c.windows[1];
    columns.imageStride = columns.kernelStride = columns.outStride = 2;
    rows.imageStride = 2 * columns.in - 1;
    rows.kernelStride = 2 * columns.taps - 1;
    rows.outStride = 2 * columns.out - 1;
    c.imageStrides[2] = rows.in * rows.imageStride;
    c.imageStrides[1] = c.channels * c.imageStrides[2];
    c.imageStrides[0] = groups * c.imageStrides[1];
    c.imageSize = c.batch * c.imageStrides[0];
    c.kernelStrides[2] = rows.taps * rows.kernelStride;
    c.kernelStrides[1] = c.channels * c.kernelStrides[2];
    c.kernelStrides[0] = c.features * c.kernelStrides[1];
    c.kernelSize = groups * c.kernelStrides[0];
    c.outStrides[2] = rows.out * rows.outStride;
    c.outStrides[1] = c.features * c.outStrides[2];
    c.outStrides[0] = groups * c.outStrides[1];
    c.outSize = c.batch * c.outStrides[0];
    check(c);
  }
}

TEST(Convolve, RefusesWhatItCannotCompute) {
  Case c{1, 1, 2, 2, {{3, 3, 1, 1, 1, 0}}};
  layOut(c, Order::ChannelsFirst);
  std::vector<int64_t> table = c.table();
  float x[16] = {}, y[16] = {}, low = 0, high = 0;
  int32_t flags = 0;
  auto call = [&](int32_t dtype, int32_t windows) {
    return runThreads(line(1), [&](dist_rank *rank) {
      return dist_convolve(rank, dtype, flags, windows, table.data(), x, x,
                           nullptr, y, low, high);
    });
  };
  EXPECT_TRUE(mentions(call(DIST_F64, 1), {"dist_convolve", "dtype"}));
  EXPECT_TRUE(mentions(call(DIST_F32, 4), {"4 windows", "1 to 3"}));
  flags = DIST_CONVOLVE_CLAMP;
  const std::pair<float, float> bad[] = {
      {1.0f, 0.5f}, {nan, 1.0f}, {0.0f, nan}, {-0.0f, 1.0f}, {-1.0f, 0.0f}};
  for (auto [from, to] : bad) {
    low = from;
    high = to;
    EXPECT_TRUE(mentions(call(DIST_F32, 1), {"bounds"})) << from << " " << to;
  }
  flags = 0;
  table[7] = 0;
  EXPECT_TRUE(mentions(call(DIST_F32, 1), {"extents", "at least 1"}));
}

} // namespace
