//===- Kernels.cpp - Kernels and what plain C++ makes of their inputs -----===//

#include "test/runtime/emulated/Kernels.h"

#include <bit>
#include <cmath>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>

using namespace dist;
using namespace dist::test;
using namespace dist::emulated;

std::string test::readKernels(const std::string &name) {
  std::ifstream file("test/runtime/emulated/Inputs/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Outcome::str() const {
  std::string text;
  for (const Report &report : result.reports)
    text += report.str() + "\n";
  if (wrong)
    text += std::to_string(wrong) + " elements differ, the first is " +
            firstWrong + "\n";
  return text;
}

namespace {

using Random = std::mt19937;

std::vector<float> makeFloats(size_t count, Random &random) {
  std::vector<float> values(count);
  for (float &value : values)
    value = (int(random() % 2001) - 1000) / 256.0f;
  return values;
}

std::vector<uint32_t> makeWords(size_t count, Random &random,
                                uint32_t below = 0) {
  std::vector<uint32_t> values(count);
  for (uint32_t &value : values)
    value = below ? random() % below : random();
  return values;
}

/// Compares with what is expected; the tolerance is of sums whose order
/// differs, and zero where nothing rounds.
template <class T>
void compare(Outcome &outcome, const Array<T> &array, const std::string &name,
             const std::function<double(size_t)> &expected,
             double tolerance = 0) {
  uint64_t unwritten = array.unwritten();
  auto note = [&](size_t i, const std::string &what) {
    if (!outcome.wrong++)
      outcome.firstWrong = name + "[" + std::to_string(i) + "]: " + what;
  };
  for (size_t i = 0; i < array.size(); ++i) {
    double value = double(array[i]), want = expected(i);
    // NaN fails.
    if (!(std::fabs(value - want) <= tolerance * std::fmax(1, std::fabs(want))))
      note(i, std::to_string(value) + " instead of " + std::to_string(want));
  }
  if (unwritten)
    note(0, std::to_string(unwritten) + " bytes are not written");
}

/// f16 and bf16 by integers and long doubles, apart from the executor's.
double halfValue(uint16_t bits, int fraction, int bias) {
  int exponent = (bits & 0x7fff) >> fraction;
  int rest = bits & ((1 << fraction) - 1);
  double value = exponent ? std::ldexp((1 << fraction) + rest,
                                       exponent - bias - fraction)
                          : std::ldexp(rest, 1 - bias - fraction);
  return bits & 0x8000 ? -value : value;
}
/// The nearest half of a number within range, ties to even: by search.
uint16_t nearestHalf(long double value, int fraction, int bias) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  long double size = std::fabs(value);
  uint32_t low = 0, high = 0x7fff;
  while (high - low > 1) {
    uint32_t middle = (low + high) / 2;
    (halfValue(middle, fraction, bias) <= size ? low : high) = middle;
  }
  long double below = size - halfValue(low, fraction, bias);
  long double above = halfValue(high, fraction, bias) - size;
  bool isUp = above < below || (above == below && low % 2);
  return sign | (isUp ? high : low);
}

Case vectorAdd() {
  return {"vector_add",
          [](Memory &memory, const Module &module, const LaunchOptions &o) {
            Random random(1);
            uint32_t n = 1000;
            std::vector<float> x = makeFloats(n, random),
                               y = makeFloats(n, random);
            Array<float> a(memory, "a", x), b(memory, "b", y),
                c(memory, "c", n);
            Outcome outcome;
            outcome.result = launch(
                module, "vector_add", {{8, 1, 1}, {128, 1, 1}, 0},
                {a.argument(), b.argument(), c.argument(), &n}, o);
            compare<float>(outcome, c, "c",
                           [&](size_t i) { return x[i] + y[i]; });
            return outcome;
          }};
}

Case axpy() {
  return {"axpy",
          [](Memory &memory, const Module &module, const LaunchOptions &o) {
            Random random(2);
            uint32_t n = 4096;
            float factor = 0.75f;
            std::vector<float> u = makeFloats(n, random),
                               v = makeFloats(n, random);
            Array<float> x(memory, "x", u), y(memory, "y", v);
            Outcome outcome;
            outcome.result =
                launch(module, "axpy", {{3, 1, 1}, {64, 1, 1}, 0},
                       {&factor, x.argument(), y.argument(), &n}, o);
            compare<float>(outcome, y, "y", [&](size_t i) {
              float product = factor * u[i];
              return product + v[i];
            });
            return outcome;
          }};
}

Case transpose() {
  return {"transpose",
          [](Memory &memory, const Module &module, const LaunchOptions &o) {
            Random random(3);
            uint32_t n = 70, m = 100;
            std::vector<float> x = makeFloats(n * m, random);
            Array<float> in(memory, "in", x), out(memory, "out", n * m);
            Outcome outcome;
            outcome.result =
                launch(module, "transpose", {{4, 3, 1}, {32, 8, 1}, 0},
                       {in.argument(), out.argument(), &n, &m}, o);
            compare<float>(outcome, out, "out", [&](size_t i) {
              return x[i % n * m + i / n];
            });
            return outcome;
          }};
}

Case rowSums() {
  return {"row_sums",
          [](Memory &memory, const Module &module, const LaunchOptions &o) {
            Random random(4);
            uint32_t rows = 4, length = 2777;
            std::vector<float> x = makeFloats(rows * length, random);
            Array<float> in(memory, "in", x), out(memory, "out", rows);
            Outcome outcome;
            outcome.result = launch(
                module, "row_sums", {{rows, 1, 1}, {1024, 1, 1}, 0},
                {in.argument(), out.argument(), &length}, o);
            // Multiples of 1/256 that stay below 2^16: sums are exact.
            compare<float>(outcome, out, "out", [&](size_t i) {
              return std::accumulate(x.begin() + i * length,
                                     x.begin() + (i + 1) * length, 0.0);
            });
            return outcome;
          }};
}

Case treeSum() {
  return {"tree_sum",
          [](Memory &memory, const Module &module, const LaunchOptions &o) {
            Random random(5);
            uint32_t blocks = 5, size = 128;
            std::vector<float> x = makeFloats(blocks * size, random);
            Array<float> in(memory, "in", x), out(memory, "out", blocks);
            Outcome outcome;
            outcome.result =
                launch(module, "tree_sum",
                       {{blocks, 1, 1}, {size, 1, 1}, size * 4},
                       {in.argument(), out.argument()}, o);
            compare<float>(outcome, out, "out", [&](size_t i) {
              return std::accumulate(x.begin() + i * size,
                                     x.begin() + (i + 1) * size, 0.0);
            });
            return outcome;
          }};
}

Case warpScan() {
  return {"warp_scan",
          [](Memory &memory, const Module &module, const LaunchOptions &o) {
            Random random(6);
            std::vector<uint32_t> x = makeWords(256, random, 1000);
            Array<uint32_t> in(memory, "in", x);
            Array<int> out(memory, "out", x.size());
            Outcome outcome;
            outcome.result =
                launch(module, "warp_scan", {{2, 1, 1}, {128, 1, 1}, 0},
                       {in.argument(), out.argument()}, o);
            compare<int>(outcome, out, "out", [&](size_t i) {
              double sum = 0;
              for (size_t j = i / 32 * 32; j <= i; ++j)
                sum += x[j];
              return sum;
            });
            return outcome;
          }};
}

Case compact() {
  return {"compact",
          [](Memory &memory, const Module &module, const LaunchOptions &o) {
            Random random(7);
            std::vector<int> x(256);
            for (size_t i = 0; i < x.size(); ++i)
              x[i] = i / 32 == 2 ? 1 : i / 32 == 5 ? -1 : int(random() % 3) - 1;
            Array<int> in(memory, "in", x), places(memory, "places", 256);
            Array<uint32_t> masks(memory, "masks", 8);
            Outcome outcome;
            outcome.result = launch(
                module, "compact", {{2, 1, 1}, {128, 1, 1}, 0},
                {in.argument(), masks.argument(), places.argument()}, o);
            auto maskOf = [&](size_t warp) {
              uint32_t mask = 0;
              for (int l = 0; l < 32; ++l)
                mask |= uint32_t(x[warp * 32 + l] > 0) << l;
              return mask;
            };
            compare<uint32_t>(outcome, masks, "masks", maskOf);
            compare<int>(outcome, places, "places", [&](size_t i) {
              uint32_t mask = maskOf(i / 32), below = (1u << i % 32) - 1;
              int place = x[i] > 0 ? std::popcount(mask & below) : -1;
              return place + (mask == ~0u ? 1000 : 0) - (mask ? 0 : 1000);
            });
            return outcome;
          }};
}

Case histogram() {
  return {"histogram",
          [](Memory &memory, const Module &module, const LaunchOptions &o) {
            Random random(8);
            uint32_t n = 3000;
            std::vector<uint32_t> x = makeWords(n, random);
            Array<uint32_t> in(memory, "in", x);
            Array<uint32_t> out(memory, "out", std::vector<uint32_t>(64, 10));
            Outcome outcome;
            outcome.result =
                launch(module, "histogram", {{3, 1, 1}, {96, 1, 1}, 0},
                       {in.argument(), out.argument(), &n}, o);
            compare<uint32_t>(outcome, out, "out", [&](size_t i) {
              double count = 10;
              for (uint32_t value : x)
                count += (value & 63) == i;
              return count;
            });
            return outcome;
          }};
}

Case atomics() {
  return {"atomics",
          [](Memory &memory, const Module &module, const LaunchOptions &o) {
            Random random(9);
            std::vector<uint32_t> x(128);
            for (size_t i = 0; i < x.size(); ++i)
              x[i] = 1000 + random() % 8; // what cas stores is one of them
            Array<uint32_t> in(memory, "in", x);
            Array<uint32_t> out(memory, "out",
                                {~0u, 0u, 0u, 0u, ~0u, 0u});
            Array<float> sum(memory, "sum", std::vector<float>{0.5f});
            Array<double> wide(memory, "wide", std::vector<double>{0.25});
            Outcome outcome;
            outcome.result =
                launch(module, "atomics", {{2, 1, 1}, {64, 1, 1}, 0},
                       {in.argument(), out.argument(), sum.argument(),
                        wide.argument()},
                       o);
            uint32_t want[6] = {~0u, 0, 0, 0, ~0u, 0};
            double total = 0;
            for (uint32_t value : x) {
              want[0] &= value;
              want[1] |= value;
              want[2] ^= value;
              want[3] = std::max(want[3], value);
              want[4] = std::min(want[4], value);
              total += value & 15;
            }
            // Any thread's value may be the first.
            want[5] = out[5] >= 1000 && out[5] < 1008 ? out[5] : 1000;
            compare<uint32_t>(outcome, out, "out",
                              [&](size_t i) { return want[i]; });
            compare<float>(outcome, sum, "sum",
                           [&](size_t) { return total + 0.5; });
            compare<double>(outcome, wide, "wide",
                            [&](size_t) { return total + 0.25; });
            return outcome;
          }};
}

Case steps() {
  return {"steps",
          [](Memory &memory, const Module &module, const LaunchOptions &o) {
            Random random(10);
            std::vector<uint32_t> x = makeWords(96, random, 10000);
            for (uint32_t &value : x)
              value += 1;
            Array<uint32_t> in(memory, "in", x);
            Array<int> out(memory, "out", x.size());
            Outcome outcome;
            outcome.result = launch(module, "steps", {{3, 1, 1}, {32, 1, 1}, 0},
                                    {in.argument(), out.argument()}, o);
            auto collatz = [](uint64_t n) {
              int steps = 0;
              for (; n != 1 && steps < 1000; ++steps)
                n = n % 2 ? 3 * n + 1 : n / 2;
              return steps;
            };
            compare<int>(outcome, out, "out", [&](size_t i) {
              return x[i] % 3 ? collatz(x[i]) : -collatz(x[i] + 1);
            });
            return outcome;
          }};
}

Case reverseDigits() {
  return {"reverse_digits",
          [](Memory &memory, const Module &module, const LaunchOptions &o) {
            Random random(11);
            std::vector<uint32_t> x = makeWords(80, random, 1'000'000);
            Array<uint32_t> in(memory, "in", x);
            Array<uint32_t> out(memory, "out", x.size());
            Outcome outcome;
            outcome.result =
                launch(module, "reverse_digits", {{2, 1, 1}, {40, 1, 1}, 0},
                       {in.argument(), out.argument()}, o);
            compare<uint32_t>(outcome, out, "out", [&](size_t i) {
              std::string digits = std::to_string(x[i]);
              return std::stod(std::string(digits.rbegin(), digits.rend()));
            });
            return outcome;
          }};
}

Case halves() {
  return {"halves",
          [](Memory &memory, const Module &module, const LaunchOptions &o) {
            Random random(12);
            size_t n = 256;
            std::vector<uint16_t> a(n), b(n), c(n);
            for (size_t i = 0; i < n; ++i) {
              a[i] = nearestHalf((int(random() % 2001) - 1000) / 97.0L, 10, 15);
              b[i] = nearestHalf((int(random() % 2001) - 1000) / 89.0L, 10, 15);
              c[i] = nearestHalf((int(random() % 2001) - 1000) / 83.0L, 7, 127);
            }
            Array<uint16_t> u(memory, "a", a), v(memory, "b", b),
                w(memory, "c", c), x(memory, "x", n), y(memory, "y", n);
            Array<float> z(memory, "z", n);
            Outcome outcome;
            outcome.result =
                launch(module, "halves", {{4, 1, 1}, {64, 1, 1}, 0},
                       {u.argument(), v.argument(), w.argument(), x.argument(),
                        y.argument(), z.argument()},
                       o);
            auto half = [](uint16_t bits) { return halfValue(bits, 10, 15); };
            auto brain = [](uint16_t bits) { return halfValue(bits, 7, 127); };
            compare<uint16_t>(outcome, x, "x", [&](size_t i) {
              uint16_t product = nearestHalf(half(a[i]) * half(b[i]), 10, 15);
              return nearestHalf(half(product) + half(a[i]), 10, 15);
            });
            compare<uint16_t>(outcome, y, "y", [&](size_t i) {
              uint16_t rounded = nearestHalf(half(b[i]), 7, 127);
              return nearestHalf(brain(c[i]) + brain(rounded), 7, 127);
            });
            compare<float>(outcome, z, "z", [&](size_t i) {
              return float(half(a[i]) * brain(c[i]));
            });
            return outcome;
          }};
}

Case divisions() {
  return {"divisions",
          [](Memory &memory, const Module &module, const LaunchOptions &o) {
            Random random(13);
            size_t n = 64;
            std::vector<int> a(n), b(n);
            for (size_t i = 0; i < n; ++i) {
              a[i] = int(random());
              b[i] = int(random()) >> random() % 30;
              if (!b[i])
                b[i] = -7;
            }
            Array<int> x(memory, "a", a), y(memory, "b", b);
            Array<int64_t> out(memory, "out", n * 8);
            Outcome outcome;
            outcome.result = launch(
                module, "divisions", {{2, 1, 1}, {32, 1, 1}, 0},
                {x.argument(), y.argument(), out.argument()}, o);
            for (size_t i = 0; i < n; ++i) {
              int64_t u = int64_t(a[i]) * 65537, v = b[i];
              uint64_t bits = u, divisor = v;
              int64_t want[] = {a[i] / b[i],
                                a[i] % b[i],
                                uint32_t(a[i]) / uint32_t(b[i]),
                                uint32_t(a[i]) % uint32_t(b[i]),
                                u / v,
                                u % v,
                                int64_t(bits / divisor),
                                int64_t(bits % divisor)};
              for (int k = 0; k < 8; ++k)
                if (out[i * 8 + k] != want[k] && !outcome.wrong++)
                  outcome.firstWrong = "out[" + std::to_string(i * 8 + k) + "]";
            }
            outcome.wrong += out.unwritten();
            return outcome;
          }};
}

Case functions() {
  return {"functions",
          [](Memory &memory, const Module &module, const LaunchOptions &o) {
            Random random(14);
            size_t n = 64;
            std::vector<double> x(n);
            for (double &value : x)
              value = random() % 20000 / 1777.0;
            Array<double> in(memory, "in", x), out(memory, "out", n * 4);
            Array<float> near(memory, "near", n * 6);
            Outcome outcome;
            outcome.result = launch(
                module, "functions", {{1, 1, 1}, {64, 1, 1}, 0},
                {in.argument(), out.argument(), near.argument()}, o);
            compare<double>(outcome, out, "out", [&](size_t i) {
              double v = x[i / 4], square = v * v;
              switch (i % 4) {
              case 0:
                return std::sqrt(square + 1);
              case 1:
                return 1 / (square + 3);
              case 2:
                return std::fma(v, v, -v);
              default:
                return 4 * std::floor(v); // v is positive
              }
            });
            compare<float>(
                outcome, near, "near",
                [&](size_t i) {
                  float f = x[i / 6];
                  switch (i % 6) {
                  case 0:
                    return std::exp2(double(f));
                  case 1:
                    return std::log2(double(f * f + 1));
                  case 2:
                    return 1 / std::sqrt(double(f * f + 1));
                  case 3:
                    return std::sin(double(f));
                  case 4:
                    return std::cos(double(f));
                  default:
                    return 1 / (x[i / 6] * x[i / 6] + 1);
                  }
                },
                1e-6);
            return outcome;
          }};
}

Case lookups() {
  return {"lookups",
          [](Memory &memory, const Module &module, const LaunchOptions &o) {
            Random random(15);
            size_t n = 128;
            std::vector<uint32_t> x = makeWords(n, random, 64);
            std::vector<float> y = makeFloats(1024 + n, random);
            Array<uint32_t> in(memory, "in", x);
            Array<float> out(memory, "out", y);
            Outcome outcome;
            outcome.result =
                launch(module, "lookups", {{2, 1, 1}, {64, 1, 1}, 0},
                       {in.argument(), out.argument()}, o);
            compare<float>(outcome, out, "out", [&](size_t i) -> float {
              if (i >= n)
                return y[i];
              float v = float(1 << (x[i] & 7)) * 5;
              switch (x[i] >> 3) {
              case 0:
                return v + 1;
              case 1:
                return v * 3;
              case 2:
                return v - y[i + 1024];
              case 3:
                return v / 7;
              case 4:
                return -v;
              case 5:
                return v * v;
              case 6:
                return std::fabs(v - 100);
              default:
                return 0;
              }
            });
            return outcome;
          }};
}

Case columnArgmax() {
  return {"column_argmax",
          [](Memory &memory, const Module &module, const LaunchOptions &o) {
            Random random(16);
            uint32_t rows = 37, columns = 75;
            std::vector<float> x = makeFloats(rows * columns, random);
            Array<float> in(memory, "in", x), most(memory, "most", columns);
            Array<int> where(memory, "where", columns);
            Outcome outcome;
            outcome.result =
                launch(module, "column_argmax", {{3, 1, 1}, {32, 1, 1}, 0},
                       {in.argument(), most.argument(), where.argument(), &rows,
                        &columns},
                       o);
            auto find = [&](size_t c) {
              size_t best = 0;
              for (size_t r = 1; r < rows; ++r)
                if (x[r * columns + c] > x[best * columns + c])
                  best = r;
              return best;
            };
            compare<float>(outcome, most, "most", [&](size_t c) {
              return x[find(c) * columns + c];
            });
            compare<int>(outcome, where, "where", find);
            return outcome;
          }};
}

Case layerNorm() {
  return {"layer_norm",
          [](Memory &memory, const Module &module, const LaunchOptions &o) {
            Random random(17);
            uint32_t rows = 4, n = 2048;
            std::vector<float> v = makeFloats(rows * n, random),
                               u = makeFloats(n, random),
                               w = makeFloats(n, random);
            // Of a variance that 1e-5 changes.
            for (float &value : v)
              value /= 256;
            Array<float> x(memory, "x", v), gain(memory, "gain", u),
                bias(memory, "bias", w), y(memory, "y", rows * n);
            Outcome outcome;
            outcome.result =
                launch(module, "layer_norm", {{rows, 1, 1}, {256, 1, 1}, 0},
                       {x.argument(), gain.argument(), bias.argument(),
                        y.argument()},
                       o);
            std::vector<double> mean(rows), scale(rows);
            for (uint32_t r = 0; r < rows; ++r) {
              for (uint32_t c = 0; c < n; ++c)
                mean[r] += v[r * n + c] / double(n);
              for (uint32_t c = 0; c < n; ++c)
                scale[r] += std::pow(v[r * n + c] - mean[r], 2) / n;
              scale[r] = 1 / std::sqrt(scale[r] + 1e-5);
            }
            compare<float>(
                outcome, y, "y",
                [&](size_t i) {
                  return (v[i] - mean[i / n]) * scale[i / n] * u[i % n] +
                         w[i % n];
                },
                1e-5);
            return outcome;
          }};
}

Case softmax() {
  return {"softmax",
          [](Memory &memory, const Module &module, const LaunchOptions &o) {
            Random random(18);
            uint32_t rows = 12, n = 512;
            std::vector<float> v = makeFloats(rows * n, random);
            Array<float> x(memory, "x", v), y(memory, "y", rows * n);
            Outcome outcome;
            outcome.result =
                launch(module, "softmax", {{3, 1, 1}, {128, 1, 1}, 0},
                       {x.argument(), y.argument()}, o);
            std::vector<double> most(rows, -1e30), sum(rows);
            for (size_t i = 0; i < v.size(); ++i)
              most[i / n] = std::fmax(most[i / n], v[i]);
            for (size_t i = 0; i < v.size(); ++i)
              sum[i / n] += std::exp(v[i] - most[i / n]);
            compare<float>(
                outcome, y, "y",
                [&](size_t i) {
                  return std::exp(v[i] - most[i / n]) / sum[i / n];
                },
                1e-6);
            return outcome;
          }};
}

Case columnSums() {
  return {"column_sums",
          [](Memory &memory, const Module &module, const LaunchOptions &o) {
            Random random(19);
            uint32_t rows = 45, columns = 70;
            std::vector<float> x = makeFloats(rows * columns, random);
            Array<float> in(memory, "in", x), out(memory, "out", columns);
            Outcome outcome;
            outcome.result =
                launch(module, "column_sums", {{3, 1, 1}, {32, 8, 1}, 0},
                       {in.argument(), out.argument(), &rows, &columns}, o);
            compare<float>(outcome, out, "out", [&](size_t c) {
              double sum = 0;
              for (uint32_t r = 0; r < rows; ++r)
                sum += x[r * columns + c];
              return sum;
            });
            return outcome;
          }};
}

} // namespace

std::vector<Case> test::makeCases() {
  return {vectorAdd(),     axpy(),      transpose(), rowSums(),
          treeSum(),       warpScan(),  compact(),   histogram(),
          atomics(),       steps(),     halves(),    reverseDigits(),
          divisions(),     functions(), lookups(),   columnArgmax(),
          layerNorm(),     softmax(),   columnSums()};
}

std::vector<LaunchOptions> test::makeOrders() {
  std::vector<LaunchOptions> orders(4);
  orders[1].order = Order::Reverse;
  orders[2].order = orders[3].order = Order::Seeded;
  orders[2].seed = 1;
  orders[3].seed = 2;
  return orders;
}

Outcome test::runCase(const Case &one, const std::string &ptx,
                      const LaunchOptions &options, std::string *error) {
  Memory memory;
  try {
    Module module(ptx, "kernels.ptx", memory);
    return one.run(memory, module, options);
  } catch (const Error &thrown) {
    if (error)
      *error = thrown.what();
  }
  return {};
}
