//===- ArithmeticTest.cpp - One instruction at a time ---------------------===//
//
// Runs an instruction on many operands. What is expected comes from closed
// forms: a rounded result is searched for among all values of its format, by
// exact arithmetic of 113 bits; integers are computed with 128 bits, or bit by
// bit; special values are tables of the PTX ISA manual (8.8, instruction set).
//
//===----------------------------------------------------------------------===//

#include "runtime/emulated/Executor.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>

using namespace dist;
using namespace dist::emulated;

namespace {

using Exact = __float128;
using Wide = __int128;
using Words = std::vector<uint64_t>;

/// Runs `text`, which reads %a, %b and %c and writes %d, for each index of the
/// operands. Sizes are bits; predicates have 1.
Words run(const std::string &text, unsigned result,
          const std::vector<std::pair<unsigned, Words>> &operands) {
  size_t count = operands.at(0).second.size();
  auto type = [](unsigned bits) {
    return bits == 1 ? std::string("pred") : "b" + std::to_string(bits);
  };
  std::string ptx = ".version 8.6\n.target sm_100\n.address_size 64\n"
                    ".visible .entry k(.param .u64 p0, .param .u64 p1, "
                    ".param .u64 p2, .param .u64 p3)\n{\n"
                    ".reg .b32 %i, %t;\n.reg .b64 %x, %y;\n.reg .pred %q;\n";
  ptx += ".reg ." + type(result) + " %d;\n";
  std::string body = "mov.u32 %i, %ctaid.x;\nmov.u32 %t, %tid.x;\n"
                     "mad.lo.s32 %i, %i, 256, %t;\n";
  auto address = [](int k) {
    return "ld.param.u64 %x, [p" + std::to_string(k) +
           "];\nmul.wide.u32 %y, %i, 8;\nadd.s64 %x, %x, %y;\n";
  };
  for (size_t k = 0; k < operands.size(); ++k) {
    std::string name = std::string("%") + char('a' + k);
    unsigned bits = operands[k].first;
    ptx += ".reg ." + type(bits) + " " + name + ";\n";
    body += address(k);
    if (bits == 1)
      body += "ld.global.u32 %t, [%x];\nsetp.ne.u32 " + name + ", %t, 0;\n";
    else
      body += "ld.global." + type(bits) + " " + name + ", [%x];\n";
  }
  body += text + "\n" + address(3);
  if (result == 1)
    body += "selp.b32 %t, 1, 0, %d;\nst.global.b32 [%x], %t;\n";
  else
    body += "st.global." + type(result) + " [%x], %d;\n";
  ptx += body + "ret;\n}\n";

  size_t padded = (count + 255) / 256 * 256;
  Memory memory;
  Module module(ptx, "k.ptx", memory);
  std::vector<uint64_t *> arrays;
  for (size_t k = 0; k < 4; ++k) {
    auto *data = static_cast<uint64_t *>(
        memory.allocate(padded * 8, "p" + std::to_string(k)));
    if (k < operands.size()) {
      std::memset(data, 0, padded * 8);
      std::memcpy(data, operands[k].second.data(), count * 8);
      memory.setWritten(data, padded * 8);
    } else {
      std::memset(data, 0, padded * 8);
    }
    arrays.push_back(data);
  }
  LaunchResult launched =
      launch(module, "k", {{unsigned(padded / 256), 1, 1}, {256, 1, 1}, 0},
             {&arrays[0], &arrays[1], &arrays[2], &arrays[3]});
  for (const Report &report : launched.reports)
    if (report.fault != Fault::DivisionByZero)
      ADD_FAILURE() << text << ": " << report.str();
  return {arrays[3], arrays[3] + count};
}

//===----------------------------------------------------------------------===//
// Formats
//===----------------------------------------------------------------------===//

Exact powerOfTwo(int exponent) {
  static const std::vector<Exact> powers = [] {
    std::vector<Exact> powers(2400, 1);
    for (int i = 1200; i + 1 < 2400; ++i)
      powers[i + 1] = powers[i] * 2;
    for (int i = 1200; i > 0; --i)
      powers[i - 1] = powers[i] / 2;
    return powers;
  }();
  return powers[1200 + exponent];
}

struct Format {
  const char *name;
  unsigned bits;
  int exponent, fraction;

  uint64_t sign() const { return uint64_t(1) << (bits - 1); }
  uint64_t infinity() const {
    return ((uint64_t(1) << exponent) - 1) << fraction;
  }
  uint64_t nan() const {
    return bits == 64 ? 0x7ff8000000000000 : sign() - 1;
  }
  bool isNaN(uint64_t x) const { return (x & (sign() - 1)) > infinity(); }
  int bias() const { return (1 << (exponent - 1)) - 1; }

  /// A finite number's value.
  Exact value(uint64_t x) const {
    int e = (x & (sign() - 1)) >> fraction;
    Exact f = Exact(x & ((uint64_t(1) << fraction) - 1));
    if (e)
      f += Exact(uint64_t(1) << fraction);
    f *= powerOfTwo((e ? e : 1) - bias() - fraction);
    return x & sign() ? -f : f;
  }
  /// The value rounded as `mode` ("rn", "rz", "rm", "rp") says: by search.
  uint64_t round(Exact exact, const std::string &mode,
                 bool zeroIsNegative = false) const {
    bool isNegative = exact < 0 || (exact == 0 && zeroIsNegative);
    Exact size = exact < 0 ? -exact : exact;
    uint64_t low = 0, high = infinity();
    while (high - low > 1) {
      uint64_t middle = (low + high) / 2;
      (value(middle) <= size ? low : high) = middle;
    }
    Exact below = value(low);
    // What infinity would be if exponents went on.
    Exact above = high < infinity()
                      ? value(high)
                      : value(low) * 2 - value(low - 1);
    if (high == infinity() && below != size && above == below)
      above = below * 2;
    bool isUp = false;
    if (below != size) {
      if (mode == "rn")
        isUp = above - size < size - below ||
               (above - size == size - below && low % 2);
      else
        isUp = mode == (isNegative ? "rm" : "rp");
    }
    return (isUp ? high : low) | (isNegative ? sign() : 0);
  }
};

const Format kHalf{"f16", 16, 5, 10}, kBrain{"bf16", 16, 8, 7},
    kSingle{"f32", 32, 8, 23}, kDouble{"f64", 64, 11, 52};

/// Numbers whose exponents lie close, so that 113 bits hold sums and products.
Words makeNumbers(const Format &format, size_t count, unsigned seed,
                  int spread = 8, int bits = 64) {
  std::mt19937_64 random(seed);
  Words words(count);
  for (uint64_t &word : words) {
    int e = format.bias() + int(random() % (2 * spread + 1)) - spread;
    uint64_t f = random() & ((uint64_t(1) << format.fraction) - 1);
    if (random() % 4 == 0) // near ties
      f &= ~uint64_t(0) << random() % format.fraction;
    int unused = format.fraction - bits;
    if (unused > 0)
      f = f >> unused << unused;
    word = uint64_t(e) << format.fraction | f;
    if (random() % 2)
      word |= format.sign();
  }
  return words;
}

void expectEqual(const std::string &text, const Words &got,
                 const std::function<uint64_t(size_t)> &want) {
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], want(i)) << text << ", operands " << i << std::hex
                               << ": 0x" << got[i] << " instead of 0x"
                               << want(i);
}

class Rounded : public testing::TestWithParam<Format> {};

TEST_P(Rounded, SumsProductsAndFma) {
  Format f = GetParam();
  const size_t n = 600;
  // As far apart as 113 bits allow: then double is not enough for f32. Fma of
  // f64 has shorter factors.
  int far = f.bits == 64 ? 8 : std::min(f.bias() - 1, 30);
  int near = f.bits == 64 ? 4 : std::min(f.bias() - 1, 12);
  Words a = makeNumbers(f, n, 1, far), b = makeNumbers(f, n, 2, far);
  Words u = makeNumbers(f, n, 3, near, 30), v = makeNumbers(f, n, 4, near, 30),
        w = makeNumbers(f, n, 5, near, 48);
  bool isHalf = f.bits == 16;
  for (std::string mode : isHalf ? std::vector<std::string>{"rn"}
                                 : std::vector<std::string>{"rn", "rz", "rm",
                                                            "rp"}) {
    std::string suffix = "." + mode + "." + f.name;
    bool isDown = mode == "rm"; // exact zeros
    auto check = [&](const std::string &text, const Words &got,
                     const std::function<Exact(size_t)> &exact) {
      expectEqual(text, got,
                  [&](size_t i) { return f.round(exact(i), mode, isDown); });
    };
    std::string text = "add" + suffix + " %d, %a, %b;";
    check(text, run(text, f.bits, {{f.bits, a}, {f.bits, b}}),
          [&](size_t i) { return f.value(a[i]) + f.value(b[i]); });
    text = "sub" + suffix + " %d, %a, %b;";
    check(text, run(text, f.bits, {{f.bits, a}, {f.bits, b}}),
          [&](size_t i) { return f.value(a[i]) - f.value(b[i]); });
    text = "mul" + suffix + " %d, %a, %b;";
    check(text, run(text, f.bits, {{f.bits, a}, {f.bits, b}}),
          [&](size_t i) { return f.value(a[i]) * f.value(b[i]); });
    text = "fma" + suffix + " %d, %a, %b, %c;";
    check(text, run(text, f.bits, {{f.bits, u}, {f.bits, v}, {f.bits, w}}),
          [&](size_t i) {
            return f.value(u[i]) * f.value(v[i]) + f.value(w[i]);
          });
  }
}

/// PTX has none for halves.
class Divided : public testing::TestWithParam<Format> {};

TEST_P(Divided, QuotientsAndRoots) {
  Format f = GetParam();
  const size_t n = 600;
  Words a = makeNumbers(f, n, 6), b = makeNumbers(f, n, 7), positive = a;
  for (uint64_t &word : positive)
    word &= ~f.sign();
  auto magnitude = [&](uint64_t x) { return f.value(x & ~f.sign()); };
  for (std::string mode : {"rn", "rz", "rm", "rp"}) {
    std::string text =
        "div." + mode + "." + f.name + " %d, %a, %b;";
    Words q = run(text, f.bits, {{f.bits, a}, {f.bits, b}});
    std::string root = "sqrt." + mode + "." + f.name + " %d, %a;";
    Words r = run(root, f.bits, {{f.bits, positive}});
    for (size_t i = 0; i < n; ++i) {
      // Which of two neighbours the quotient lies between is decided by
      // products, which are exact.
      bool isNegative = (a[i] ^ b[i]) & f.sign();
      Exact x = magnitude(a[i]), y = magnitude(b[i]);
      uint64_t low = 0, high = f.infinity();
      auto lowest = [&](auto isBelow) {
        low = 0;
        high = f.infinity();
        while (high - low > 1) {
          uint64_t middle = (low + high) / 2;
          (isBelow(f.value(middle)) ? low : high) = middle;
        }
      };
      auto choose = [&](bool isExact, bool isAboveHalf) {
        bool isUp = !isExact && (mode == "rn" ? isAboveHalf
                                 : mode == "rz" ? false
                                                : mode == (isNegative ? "rm"
                                                                      : "rp"));
        return (isUp ? high : low) | (isNegative ? f.sign() : 0);
      };
      lowest([&](Exact v) { return v * y <= x; });
      // No quotient of two such numbers is a tie.
      Exact half = (f.value(low) + f.value(high)) / 2;
      ASSERT_EQ(q[i], choose(f.value(low) * y == x, half * y < x))
          << text << i;
      isNegative = false;
      Exact s = magnitude(positive[i]);
      lowest([&](Exact v) { return v * v <= s; });
      half = (f.value(low) + f.value(high)) / 2;
      ASSERT_EQ(r[i], choose(f.value(low) * f.value(low) == s, half * half < s))
          << root << i;
    }
  }
}

/// inf - inf, 0 * inf and so on are the canonical NaN, and what NaN takes part
/// in is.
TEST_P(Rounded, SpecialValues) {
  Format f = GetParam();
  uint64_t inf = f.infinity(), one = uint64_t(f.bias()) << f.fraction,
           minus = f.sign(), nan = inf | 1, most = inf - 1;
  Words a = {inf, inf, inf, nan, one, most, 0, minus, minus};
  Words b = {inf | minus, inf, one, one, nan, most, minus, minus, one};
  // Of f64 the manual promises no payload.
  auto check = [&](const char *name, const Words &want) {
    std::string text =
        name + std::string(".rn.") + f.name + " %d, %a, %b;";
    Words got = run(text, f.bits, {{f.bits, a}, {f.bits, b}});
    for (size_t i = 0; i < want.size(); ++i) {
      if (f.isNaN(want[i]) && f.bits == 64)
        EXPECT_TRUE(f.isNaN(got[i])) << text << i;
      else
        EXPECT_EQ(got[i], want[i]) << text << i;
    }
  };
  uint64_t NaN = f.nan();
  check("add", {NaN, inf, inf, NaN, NaN, inf, 0, minus, one});
  check("mul", {inf | minus, inf, inf, NaN, NaN, inf, minus, 0, minus});
}

/// Subnormal results are kept, of all formats.
TEST_P(Rounded, Subnormals) {
  Format f = GetParam();
  std::mt19937_64 random(8);
  Words a, b;
  for (int i = 0; i < 300; ++i) {
    // Products around the smallest normal number.
    a.push_back(uint64_t(1 + random() % 3) << f.fraction |
                (random() & ((uint64_t(1) << f.fraction) - 1)));
    b.push_back(uint64_t(f.bias() - random() % (f.fraction + 3))
                    << f.fraction |
                (random() & ((uint64_t(1) << f.fraction) - 1)));
  }
  if (f.bits == 64) // beyond the exponents of 113 bits is none
    for (uint64_t &word : a)
      word &= ~uint64_t(0xffffffff);
  std::string text = std::string("mul.rn.") + f.name + " %d, %a, %b;";
  expectEqual(text, run(text, f.bits, {{f.bits, a}, {f.bits, b}}),
              [&](size_t i) {
                return f.round(f.value(a[i]) * f.value(b[i]), "rn");
              });
}

INSTANTIATE_TEST_SUITE_P(Formats, Rounded,
                         testing::Values(kHalf, kBrain, kSingle, kDouble),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

INSTANTIATE_TEST_SUITE_P(Formats, Divided, testing::Values(kSingle, kDouble),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

TEST(Arithmetic, FlushesAndSaturates) {
  Words a = {1, 0x80000001, 0x00800000, 0x3fc00000, 0xbf800000, 0x7fc00000};
  Words one(a.size(), 0x3f800000);
  EXPECT_EQ(run("mul.rn.ftz.f32 %d, %a, %b;", 32, {{32, a}, {32, one}}),
            (Words{0, 0x80000000, 0x00800000, 0x3fc00000, 0xbf800000,
                   0x7fffffff}));
  EXPECT_EQ(run("mul.rn.sat.f32 %d, %a, %b;", 32, {{32, a}, {32, one}}),
            (Words{1, 0, 0x00800000, 0x3f800000, 0, 0}));
  EXPECT_EQ(run("fma.rn.relu.f16 %d, %a, %b, %b;", 16,
                {{16, {0xc200, 0x3c00, 0x7e00}}, {16, {0x3c00, 0x3c00, 0}}}),
            (Words{0, 0x4000, 0x7fff}));
  // Both halves, each by itself: 1.5 + 2 and -1 + 0.25.
  EXPECT_EQ(run("add.rn.f16x2 %d, %a, %b;", 32,
                {{32, {0xbc003e00}}, {32, {0x34004000}}}),
            (Words{0xba004300}));
  EXPECT_EQ(run("fma.rz.f32x2 %d, %a, %b, %a;", 64,
                {{64, {0xbf8000003f800001}}, {64, {0x4000000034000000}}}),
            (Words{0xc04000003f800002}));
}

TEST(Arithmetic, ExtremaOfNaNAndZeros) {
  // NaN and a number, both NaN, zeros of both signs.
  Words a = {0x7fc00001, 0x3f800000, 0x7fc00001, 0x80000000, 0, 0x40000000};
  Words b = {0x3f800000, 0x7fc00001, 0xffc00001, 0, 0x80000000, 0xc0000000};
  const uint64_t one = 0x3f800000, NaN = 0x7fffffff, minus = 0x80000000;
  auto of = [&](const char *text) {
    return run(text, 32, {{32, a}, {32, b}});
  };
  EXPECT_EQ(of("min.f32 %d, %a, %b;"),
            (Words{one, one, NaN, minus, minus, 0xc0000000}));
  EXPECT_EQ(of("max.f32 %d, %a, %b;"),
            (Words{one, one, NaN, 0, 0, 0x40000000}));
  EXPECT_EQ(of("max.NaN.f32 %d, %a, %b;"),
            (Words{NaN, NaN, NaN, 0, 0, 0x40000000}));
  // Of three.
  EXPECT_EQ(run("max.f32 %d, %a, %b, %c;", 32,
                {{32, {one, NaN, NaN}},
                 {32, {0, NaN, minus}},
                 {32, {0x40000000, one, NaN}}}),
            (Words{0x40000000, one, minus}));
  EXPECT_EQ(run("min.NaN.f32 %d, %a, %b, %c;", 32,
                {{32, {one}}, {32, {0}}, {32, {NaN}}}),
            (Words{NaN}));
  EXPECT_EQ(run("min.f16 %d, %a, %b;", 16,
                {{16, {0x7e00, 0x8000, 0x3c00}}, {16, {0x3c00, 0, 0xbc00}}}),
            (Words{0x3c00, 0x8000, 0xbc00}));
}

/// Within what the manual promises; the exact values are zeros and infinities.
TEST(Arithmetic, ApproximationsAreNear) {
  Words a = makeNumbers(kSingle, 400, 9, 3);
  struct Approximation {
    const char *name;
    double (*exact)(double);
    double relative, absolute;
  };
  // ex2 2 ulp, lg2 an absolute error near 1, sin and cos an absolute error,
  // tanh a relative one (PTX ISA, floating point instructions).
  Approximation all[] = {
      {"ex2.approx.f32", [](double x) { return std::exp2(x); }, 0x1p-22, 0},
      {"lg2.approx.f32", [](double x) { return std::log2(std::fabs(x)); },
       0x1p-22, 0x1p-22},
      {"rcp.approx.f32", [](double x) { return 1 / x; }, 0x1p-23, 0},
      {"rsqrt.approx.f32",
       [](double x) { return 1 / std::sqrt(std::fabs(x)); }, 0x1.6p-23, 0},
      {"sqrt.approx.f32", [](double x) { return std::sqrt(std::fabs(x)); },
       0x1p-23, 0},
      {"sin.approx.f32", [](double x) { return std::sin(x); }, 0, 0x1p-20},
      {"cos.approx.f32", [](double x) { return std::cos(x); }, 0, 0x1p-20},
      {"tanh.approx.f32", [](double x) { return std::tanh(x); }, 0x1p-11, 0}};
  for (const Approximation &one : all) {
    bool isOfPositive = std::strstr(one.name, "lg2") ||
                        std::strstr(one.name, "sqrt");
    Words x = a;
    if (isOfPositive)
      for (uint64_t &word : x)
        word &= 0x7fffffff;
    std::string text = std::string(one.name) + " %d, %a;";
    Words got = run(text, 32, {{32, x}});
    for (size_t i = 0; i < x.size(); ++i) {
      double value = std::bit_cast<float>(uint32_t(x[i]));
      double result = std::bit_cast<float>(uint32_t(got[i]));
      double want = one.exact(value);
      EXPECT_LE(std::fabs(result - want),
                one.relative * std::fabs(want) + one.absolute)
          << text << " " << value;
    }
  }
  const uint64_t inf = 0x7f800000, NaN = 0x7fffffff;
  auto special = [&](const char *text) {
    return run(text, 32, {{32, {0, 0x80000000, inf, 0xff800000, NaN}}});
  };
  EXPECT_EQ(special("ex2.approx.f32 %d, %a;"),
            (Words{0x3f800000, 0x3f800000, inf, 0, NaN}));
  EXPECT_EQ(special("lg2.approx.f32 %d, %a;"),
            (Words{0xff800000, 0xff800000, inf, NaN, NaN}));
  EXPECT_EQ(special("rcp.approx.f32 %d, %a;"),
            (Words{inf, 0xff800000, 0, 0x80000000, NaN}));
  EXPECT_EQ(special("rsqrt.approx.f32 %d, %a;"),
            (Words{inf, 0xff800000, 0, NaN, NaN}));
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

TEST(Conversions, BetweenFloats) {
  const Format formats[] = {kHalf, kBrain, kSingle, kDouble};
  for (const Format &to : formats)
    for (const Format &from : formats) {
      if (to.bits >= from.bits || (to.bits == 16 && from.bits == 64))
        continue;
      // Overflow and subnormals of the narrower one among them.
      Words a = makeNumbers(from, 400, 10, to.bias() + to.fraction);
      for (std::string mode : {"rn", "rz", "rm", "rp"}) {
        if (to.bits == 16 && mode != "rn" && mode != "rz")
          continue;
        std::string text = "cvt." + mode + "." + to.name + "." + from.name +
                           " %d, %a;";
        expectEqual(text, run(text, to.bits, {{from.bits, a}}), [&](size_t i) {
          return to.round(from.value(a[i]), mode);
        });
      }
    }
  // Wider ones hold all.
  Words all(1 << 16);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = i;
  for (const Format &from : {kHalf, kBrain}) {
    std::string text = std::string("cvt.f32.") + from.name + " %d, %a;";
    expectEqual(text, run(text, 32, {{16, all}}), [&](size_t i) {
      if (from.isNaN(i))
        return uint64_t(0x7fffffff);
      if ((i & 0x7fff) == from.infinity())
        return uint64_t(i & 0x8000 ? 0xff800000 : 0x7f800000);
      float value = std::fabs(double(from.value(i)));
      return uint64_t(std::bit_cast<uint32_t>(i & 0x8000 ? -value : value));
    });
    // And back.
    text = std::string("cvt.f32.") + from.name + " %t, %a; cvt.rn." +
           from.name + ".f32 %d, %t;";
    expectEqual(text, run(text, 16, {{16, all}}), [&](size_t i) {
      return from.isNaN(i) ? from.nan() : i;
    });
  }
}

TEST(Conversions, OfFloatsToIntegers) {
  for (const Format &from : {kHalf, kSingle, kDouble}) {
    Words a = makeNumbers(from, 500, 11, std::min(from.bias() - 1, 66));
    uint64_t inf = from.infinity(), special[] = {0, from.sign(), inf,
                                                 inf | from.sign(), inf | 1};
    a.insert(a.end(), std::begin(special), std::end(special));
    for (unsigned bits : {8, 16, 32, 64})
      for (char sign : {'s', 'u'})
        for (std::string mode : {"rni", "rzi", "rmi", "rpi"}) {
          unsigned wide = std::max(bits, 16u);
          std::string text = "cvt." + mode + "." + sign +
                             std::to_string(bits) + "." + from.name +
                             " %d, %a;";
          Words got = run(text, wide, {{from.bits, a}});
          Wide most = (Wide(1) << (sign == 's' ? bits - 1 : bits)) - 1;
          Wide least = sign == 's' ? -most - 1 : Wide(0);
          expectEqual(text, got, [&](size_t i) {
            uint64_t mask = ~uint64_t(0) >> (64 - wide);
            uint64_t size = a[i] & (from.sign() - 1);
            bool isNegative = a[i] & from.sign();
            if (size > inf) // NaN
              return from.bits == 64 || bits == 64
                         ? sign == 's' ? uint64_t(least) & mask
                                       : uint64_t(1) << (bits - 1)
                         : 0;
            Wide value;
            if (size == inf) {
              value = isNegative ? least : most;
            } else {
              Exact exact = from.value(size), limit = Exact(Wide(1) << 100);
              if (exact > limit)
                exact = limit;
              Wide whole = Wide(exact);
              Exact rest = exact - Exact(whole);
              bool isUp = mode == "rni"
                              ? rest > Exact(0.5) ||
                                    (rest == Exact(0.5) && whole % 2)
                              : rest > 0 && mode == (isNegative ? "rmi"
                                                                : "rpi");
              whole += isUp;
              value = isNegative ? -whole : whole;
            }
            value = std::min(std::max(value, least), most);
            return uint64_t(value) & mask;
          });
        }
  }
}

TEST(Conversions, OfIntegersToFloats) {
  std::mt19937_64 random(12);
  for (unsigned bits : {8, 16, 32, 64})
    for (char sign : {'s', 'u'}) {
      Words a(400);
      for (uint64_t &word : a)
        word = random() >> random() % 64 & ~uint64_t(0) >> (64 - bits);
      for (const Format &to : {kHalf, kSingle, kDouble})
        for (std::string mode : {"rn", "rz", "rm", "rp"}) {
          std::string text = "cvt." + mode + "." + to.name + "." + sign +
                             std::to_string(bits) + " %d, %a;";
          expectEqual(
              text, run(text, to.bits, {{std::max(bits, 16u), a}}),
              [&](size_t i) {
                Wide value = a[i];
                if (sign == 's' && a[i] >> (bits - 1))
                  value -= Wide(1) << bits;
                return to.round(Exact(value), mode);
              });
        }
    }
}

TEST(Conversions, BetweenIntegers) {
  std::mt19937_64 random(13);
  for (unsigned from : {8, 16, 32, 64})
    for (unsigned to : {8, 16, 32, 64})
      for (char fromSign : {'s', 'u'})
        for (char toSign : {'s', 'u'})
          for (bool isSaturated : {false, true}) {
            Words a(100);
            for (uint64_t &word : a)
              word = random() >> random() % 64 & ~uint64_t(0) >> (64 - from);
            unsigned wide = std::max(to, 16u);
            std::string text = std::string("cvt") +
                               (isSaturated ? ".sat." : ".") + toSign +
                               std::to_string(to) + "." + fromSign +
                               std::to_string(from) + " %d, %a;";
            expectEqual(
                text, run(text, wide, {{std::max(from, 16u), a}}),
                [&](size_t i) {
                  Wide value = a[i];
                  if (fromSign == 's' && a[i] >> (from - 1))
                    value -= Wide(1) << from;
                  Wide most = (Wide(1) << (toSign == 's' ? to - 1 : to)) - 1;
                  Wide least = toSign == 's' ? -most - 1 : Wide(0);
                  if (isSaturated)
                    value = std::min(std::max(value, least), most);
                  // What does not fit is cut, then extended to the register.
                  value &= (Wide(1) << to) - 1;
                  if (toSign == 's' && value >> (to - 1) & 1)
                    value -= Wide(1) << to;
                  return uint64_t(value) & ~uint64_t(0) >> (64 - wide);
                });
          }
}

TEST(Conversions, RoundsToWholeFloatsAndPacks) {
  Words a = {0x3fc00000, 0x40200000, 0xbfc00000, 0x3f000000, 0x80000000};
  EXPECT_EQ(run("cvt.rni.f32.f32 %d, %a;", 32, {{32, a}}),
            (Words{0x40000000, 0x40000000, 0xc0000000, 0, 0x80000000}));
  EXPECT_EQ(run("cvt.rmi.f32.f32 %d, %a;", 32, {{32, a}}),
            (Words{0x3f800000, 0x40000000, 0xc0000000, 0, 0x80000000}));
  EXPECT_EQ(run("cvt.sat.f32.f32 %d, %a;", 32,
                {{32, {0x40000000, 0xbf800000, 0x7fc00000, 0x3f000000}}}),
            (Words{0x3f800000, 0, 0, 0x3f000000}));
  // The first operand goes to the upper half: 1.5 and -2.
  EXPECT_EQ(run("cvt.rn.f16x2.f32 %d, %a, %b;", 32,
                {{32, {0x3fc00000}}, {32, {0xc0000000}}}),
            (Words{0x3e00c000}));
  EXPECT_EQ(run("cvt.rn.relu.bf16x2.f32 %d, %a, %b;", 32,
                {{32, {0x3fc00000}}, {32, {0xc0000000}}}),
            (Words{0x3fc00000}));
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

Words makeIntegers(unsigned bits, size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  Words words(count);
  for (uint64_t &word : words) {
    word = random() >> random() % bits;
    if (random() % 2)
      word = -word;
    word &= ~uint64_t(0) >> (64 - bits);
  }
  return words;
}

TEST(Integers, SumsProductsAndQuotients) {
  for (unsigned bits : {16, 32, 64})
    for (char sign : {'s', 'u'}) {
      Words a = makeIntegers(bits, 300, 20), b = makeIntegers(bits, 300, 21),
            c = makeIntegers(bits, 300, 22);
      b[0] = 0;
      a[1] = uint64_t(1) << (bits - 1); // lowest / -1
      b[1] = ~uint64_t(0) >> (64 - bits);
      uint64_t mask = ~uint64_t(0) >> (64 - bits);
      std::string type = std::string(".") + sign + std::to_string(bits);
      auto value = [&](uint64_t word) {
        Wide wide = word;
        return sign == 's' && word >> (bits - 1) ? wide - (Wide(1) << bits)
                                                 : wide;
      };
      auto check = [&](const std::string &name,
                       const std::function<Wide(Wide, Wide, Wide)> &want) {
        std::string text = name + type + " %d, %a, %b" +
                           (name.starts_with("mad") || name == "sad"
                                ? ", %c;"
                                : ";");
        expectEqual(text, run(text, bits, {{bits, a}, {bits, b}, {bits, c}}),
                    [&](size_t i) {
                      return uint64_t(
                                 want(value(a[i]), value(b[i]), value(c[i]))) &
                             mask;
                    });
      };
      check("add", [](Wide x, Wide y, Wide) { return x + y; });
      check("sub", [](Wide x, Wide y, Wide) { return x - y; });
      check("mul.lo", [](Wide x, Wide y, Wide) {
        return Wide((unsigned __int128)x * (unsigned __int128)y);
      });
      auto high = [&](Wide x, Wide y) {
        // Unsigned products of 64 bits need all 128.
        return sign == 'u' ? Wide((unsigned __int128)x *
                                      (unsigned __int128)y >>
                                  bits)
                           : x * y >> bits;
      };
      check("mul.hi", [&](Wide x, Wide y, Wide) { return high(x, y); });
      check("mad.lo", [](Wide x, Wide y, Wide z) {
        return Wide((unsigned __int128)x * (unsigned __int128)y +
                    (unsigned __int128)z);
      });
      check("mad.hi", [&](Wide x, Wide y, Wide z) { return high(x, y) + z; });
      check("min", [](Wide x, Wide y, Wide) { return std::min(x, y); });
      check("max", [](Wide x, Wide y, Wide) { return std::max(x, y); });
      check("sad", [](Wide x, Wide y, Wide z) {
        return z + (x < y ? y - x : x - y);
      });
      // By zero: all bits, and the dividend, beside the report.
      check("div", [](Wide x, Wide y, Wide) { return y ? x / y : Wide(-1); });
      check("rem", [](Wide x, Wide y, Wide) { return y ? x % y : x; });
      if (bits < 64) {
        std::string text = "mul.wide" + type + " %d, %a, %b;";
        expectEqual(text, run(text, 2 * bits, {{bits, a}, {bits, b}}),
                    [&](size_t i) {
                      return uint64_t(value(a[i]) * value(b[i])) &
                             ~uint64_t(0) >> (64 - 2 * bits);
                    });
      }
    }
}

TEST(Integers, ShiftsAreBounded) {
  Words a = makeIntegers(32, 200, 23), n(200);
  for (size_t i = 0; i < n.size(); ++i)
    n[i] = i < 100 ? i % 40 : 0xffffffff - i;
  auto of = [&](const std::string &text) {
    return run(text, 32, {{32, a}, {32, n}});
  };
  expectEqual("shl", of("shl.b32 %d, %a, %b;"), [&](size_t i) {
    return n[i] > 31 ? 0 : uint32_t(a[i] << n[i]);
  });
  expectEqual("shr.u32", of("shr.u32 %d, %a, %b;"),
              [&](size_t i) { return n[i] > 31 ? 0 : a[i] >> n[i]; });
  expectEqual("shr.s32", of("shr.s32 %d, %a, %b;"), [&](size_t i) {
    return uint32_t(int64_t(int32_t(a[i])) >> std::min<uint64_t>(n[i], 31));
  });
  Words b = makeIntegers(32, 200, 24);
  auto funnel = [&](const std::string &text) {
    return run(text, 32, {{32, a}, {32, b}, {32, n}});
  };
  auto both = [&](size_t i) { return b[i] << 32 | a[i]; };
  expectEqual("shf.l.wrap", funnel("shf.l.wrap.b32 %d, %a, %b, %c;"),
              [&](size_t i) { return uint32_t(both(i) << n[i] % 32 >> 32); });
  expectEqual("shf.r.clamp", funnel("shf.r.clamp.b32 %d, %a, %b, %c;"),
              [&](size_t i) {
                return uint32_t(both(i) >> std::min<uint64_t>(n[i], 32));
              });
}

TEST(Integers, BitsOneByOne) {
  for (unsigned bits : {32, 64}) {
    Words a = makeIntegers(bits, 300, 25), b = makeIntegers(bits, 300, 26);
    Words p(300), n(300);
    std::mt19937 random(27);
    for (size_t i = 0; i < 300; ++i) {
      p[i] = random() % (bits + 8);
      n[i] = random() % (bits + 8);
    }
    std::string type = std::to_string(bits);
    auto bit = [&](uint64_t x, unsigned i) { return i < bits && x >> i & 1; };
    expectEqual("popc", run("popc.b" + type + " %d, %a;", 32, {{bits, a}}),
                [&](size_t i) {
                  uint64_t count = 0;
                  for (unsigned k = 0; k < bits; ++k)
                    count += bit(a[i], k);
                  return count;
                });
    auto highest = [&](uint64_t x) {
      int at = bits - 1;
      while (at >= 0 && !bit(x, at))
        --at;
      return at;
    };
    expectEqual("clz", run("clz.b" + type + " %d, %a;", 32, {{bits, a}}),
                [&](size_t i) { return bits - 1 - highest(a[i]); });
    expectEqual("bfind", run("bfind.u" + type + " %d, %a;", 32, {{bits, a}}),
                [&](size_t i) { return uint32_t(highest(a[i])); });
    expectEqual("brev", run("brev.b" + type + " %d, %a;", bits, {{bits, a}}),
                [&](size_t i) {
                  uint64_t x = 0;
                  for (unsigned k = 0; k < bits; ++k)
                    x |= uint64_t(bit(a[i], k)) << (bits - 1 - k);
                  return x;
                });
    // The manual's own pseudo code.
    for (char sign : {'u', 's'})
      expectEqual("bfe",
                  run(std::string("bfe.") + sign + type + " %d, %a, %b, %c;",
                      bits, {{bits, a}, {32, p}, {32, n}}),
                  [&](size_t i) {
                    uint64_t x = 0;
                    bool fill = sign == 's' && n[i] &&
                                bit(a[i], std::min<uint64_t>(p[i] + n[i] - 1,
                                                             bits - 1));
                    for (unsigned k = 0; k < bits; ++k)
                      x |= uint64_t(k < n[i] && p[i] + k < bits
                                        ? bit(a[i], p[i] + k)
                                        : fill)
                           << k;
                    return x;
                  });
    expectEqual("bfi",
                run("bfi.b" + type + " %d, %a, %b, %c, 9;", bits,
                    {{bits, a}, {bits, b}, {32, p}}),
                [&](size_t i) {
                  uint64_t x = b[i];
                  for (unsigned k = 0; k < 9 && p[i] + k < bits; ++k) {
                    x &= ~(uint64_t(1) << (p[i] + k));
                    x |= uint64_t(bit(a[i], k)) << (p[i] + k);
                  }
                  return x;
                });
  }
  EXPECT_EQ(run("prmt.b32 %d, %a, %b, %c;", 32,
                {{32, {0x03020100, 0x83828180}},
                 {32, {0x07060504, 0x87868584}},
                 {32, {0x7520, 0x8c1b}}}),
            (Words{0x07050200, 0xffff81ff}));
  EXPECT_EQ(run("lop3.b32 %d, %a, %b, %c, 0xE8;", 32, // majority
                {{32, {0xff00ff00}}, {32, {0xf0f0f0f0}}, {32, {0xcccccccc}}}),
            (Words{(0xff00ff00 & 0xf0f0f0f0) | (0xff00ff00 & 0xcccccccc) |
                   (0xf0f0f0f0 & 0xcccccccc)}));
}

TEST(Integers, CarriesGoOn) {
  Words a = {0xffffffff, 0x80000000, 1, 0}, b = {1, 0x80000000, 2, 0};
  EXPECT_EQ(run("add.cc.u32 %t, %a, %b; addc.u32 %d, %a, %b;", 32,
                {{32, a}, {32, b}}),
            (Words{1, 1, 3, 0}));
  EXPECT_EQ(run("sub.cc.u32 %t, %a, %b; subc.u32 %d, %a, %b;", 32,
                {{32, a}, {32, b}}),
            (Words{0xfffffffe, 0, 0xfffffffe, 0}));
  // Three words of 0 - 1: the borrow goes through.
  EXPECT_EQ(run("sub.cc.u32 %t, %a, %b; subc.cc.u32 %t, %b, %b; "
                "subc.u32 %d, %a, 0;",
                32, {{32, {0, 1}}, {32, {1, 1}}}),
            (Words{0xffffffff, 1}));
  EXPECT_EQ(run("add.sat.s32 %d, %a, %b;", 32,
                {{32, {0x7fffffff, 0x80000000}}, {32, {1, 0xffffffff}}}),
            (Words{0x7fffffff, 0x80000000}));
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

TEST(Comparisons, OfFloats) {
  const double values[] = {-INFINITY, -1, -0.0, 0, 1, INFINITY, NAN};
  Words a, b;
  std::vector<std::pair<double, double>> pairs;
  for (double x : values)
    for (double y : values) {
      a.push_back(std::bit_cast<uint64_t>(x));
      b.push_back(std::bit_cast<uint64_t>(y));
      pairs.push_back({x, y});
    }
  struct Comparison {
    const char *name;
    bool less, equal, greater, unordered;
  };
  const Comparison all[] = {
      {"eq", 0, 1, 0, 0},  {"ne", 1, 0, 1, 0},  {"lt", 1, 0, 0, 0},
      {"le", 1, 1, 0, 0},  {"gt", 0, 0, 1, 0},  {"ge", 0, 1, 1, 0},
      {"equ", 0, 1, 0, 1}, {"neu", 1, 0, 1, 1}, {"ltu", 1, 0, 0, 1},
      {"leu", 1, 1, 0, 1}, {"gtu", 0, 0, 1, 1}, {"geu", 0, 1, 1, 1},
      {"num", 1, 1, 1, 0}, {"nan", 0, 0, 0, 1}};
  for (const Comparison &one : all)
    expectEqual(one.name,
                run(std::string("setp.") + one.name + ".f64 %d, %a, %b;", 1,
                    {{64, a}, {64, b}}),
                [&](size_t i) -> uint64_t {
                  auto [x, y] = pairs[i];
                  return std::isnan(x) || std::isnan(y) ? one.unordered
                         : x < y                        ? one.less
                         : x > y                        ? one.greater
                                                        : one.equal;
                });
}

TEST(Comparisons, OfIntegersAndPredicates) {
  Words a = {1, 0xffffffff, 5, 0x80000000}, b = {2, 1, 5, 0x7fffffff};
  auto of = [&](const char *text) { return run(text, 1, {{32, a}, {32, b}}); };
  EXPECT_EQ(of("setp.lt.s32 %d, %a, %b;"), (Words{1, 1, 0, 1}));
  EXPECT_EQ(of("setp.lt.u32 %d, %a, %b;"), (Words{1, 0, 0, 0}));
  EXPECT_EQ(of("setp.hs.u32 %d, %a, %b;"), (Words{0, 1, 1, 1}));
  EXPECT_EQ(of("setp.ne.b32 %d, %a, %b;"), (Words{1, 1, 0, 1}));
  Words c = {0, 1, 1, 0};
  auto with = [&](const char *text) {
    return run(text, 1, {{32, a}, {32, b}, {1, c}});
  };
  EXPECT_EQ(with("setp.lt.and.s32 %d, %a, %b, %c;"), (Words{0, 1, 0, 0}));
  EXPECT_EQ(with("setp.lt.or.s32 %d|%q, %a, %b, !%c;"), (Words{1, 1, 0, 1}));
  EXPECT_EQ(with("setp.lt.xor.s32 %q|%d, %a, %b, %c;"), (Words{0, 1, 0, 0}));
  EXPECT_EQ(with("setp.lt.s32 %q, %a, %b; xor.pred %d, %q, %c;"),
            (Words{1, 0, 1, 1}));
  EXPECT_EQ(with("mov.pred %q, -1; and.pred %d, %q, %c;"), c);
  // Of pairs the lower one's result is the first: -2 and 1.5 beside 0.
  for (const char *type : {"f16x2", "bf16x2"}) {
    Words pair = {type[0] == 'f' ? 0x3e00c000u : 0x3fc0c000u};
    auto compare = [&](const char *results) {
      return run("setp.lt." + std::string(type) + results + ", %a, %b;", 1,
                 {{32, pair}, {32, {0}}});
    };
    EXPECT_EQ(compare(" %d|%q"), Words{1});
    EXPECT_EQ(compare(" %q|%d"), Words{0});
  }
  EXPECT_EQ(run("set.lt.u32.s32 %d, %a, %b;", 32, {{32, a}, {32, b}}),
            (Words{~0u, ~0u, 0, ~0u}));
  EXPECT_EQ(run("testp.subnormal.f32 %d, %a;", 1,
                {{32, {1, 0, 0x3f800000, 0x7fc00000}}}),
            (Words{1, 0, 0, 0}));
}

} // namespace
