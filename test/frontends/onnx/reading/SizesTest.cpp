//===- SizesTest.cpp - Sizes that only running tells ----------------------===//

#include "frontends/onnx/reading/Sizes.h"
#include "gtest/gtest.h"

using namespace mlir::dist::frontend;

namespace {

struct SizesTest : testing::Test {
  Sizes sizes;
  int64_t b = sizes.named("b"), s = sizes.named("s");

  int64_t add(int64_t x, int64_t y) { return sizes.add(x, y); }
  int64_t sub(int64_t x, int64_t y) { return sizes.sub(x, y); }
  int64_t mul(int64_t x, int64_t y) { return sizes.mul(x, y); }
};

TEST_F(SizesTest, EqualPolynomialsAreEqualNumbers) {
  EXPECT_EQ(sizes.named("b"), b);
  EXPECT_NE(b, s);
  EXPECT_EQ(mul(b, s), mul(s, b));
  EXPECT_EQ(mul(add(b, 1), sub(b, 1)), sub(mul(b, b), 1));
  EXPECT_EQ(mul(add(b, s), 4), add(mul(s, 4), mul(b, 4)));
  // What cancels is a number again.
  EXPECT_EQ(sub(add(b, 3), b), 3);
  EXPECT_EQ(mul(b, 0), 0);
  EXPECT_FALSE(isOpen(sub(mul(b, s), mul(s, b))));
  EXPECT_TRUE(isOpen(b));
}

TEST_F(SizesTest, NumbersHaveTheBoundOfTensors) {
  int64_t most = int64_t(1) << 46;
  EXPECT_EQ(sub(add(b, most), b), most);
  EXPECT_FALSE(sizes.wasExceeded());
  (void)add(b, most + 1);
  EXPECT_TRUE(sizes.wasExceeded());
  (void)mul(mul(b, most), 2);
  EXPECT_TRUE(sizes.wasExceeded());
  // Nothing wraps.
  (void)add(add(b, INT64_MAX), INT64_MAX);
  EXPECT_TRUE(sizes.wasExceeded());
  (void)mul(mul(b, INT64_MAX), s);
  EXPECT_TRUE(sizes.wasExceeded());
  EXPECT_FALSE(sizes.isAtLeast(b, INT64_MAX));
}

TEST_F(SizesTest, DivisionLeavesNoRest) {
  EXPECT_EQ(sizes.divide(mul(mul(b, s), 64), mul(s, 16)), mul(b, 4));
  EXPECT_EQ(sizes.divide(mul(add(b, s), add(b, 2)), add(b, 2)), add(b, s));
  EXPECT_EQ(sizes.divide(mul(sub(mul(s, s), b), add(b, mul(s, 3))),
                         add(b, mul(s, 3))),
            sub(mul(s, s), b));
  EXPECT_EQ(sizes.divide(mul(b, 6), 4), std::nullopt);
  EXPECT_EQ(sizes.divide(b, s), std::nullopt);
  EXPECT_EQ(sizes.divide(add(mul(b, s), 1), b), std::nullopt);
  EXPECT_EQ(sizes.divide(b, 0), std::nullopt);
  EXPECT_EQ(sizes.divide(12, 4), 3);
}

TEST_F(SizesTest, RoundedQuotients) {
  EXPECT_EQ(sizes.floorDiv(mul(b, 4), 4), b);
  EXPECT_EQ(sizes.floorDiv(-7, 2), -4);
  EXPECT_EQ(sizes.ceilDiv(7, 2), 4);
  EXPECT_EQ(sizes.ceilDiv(mul(b, 4), 4), b);
  EXPECT_EQ(sizes.floorDiv(b, 2), sizes.floorDiv(b, 2));
  EXPECT_EQ(sizes.toString(sizes.ceilDiv(b, 2)), "floordiv(b + 1, 2)");
}

TEST_F(SizesTest, BoundsHoldForAllSizesFromOne) {
  EXPECT_TRUE(sizes.isAtLeast(b, 1));
  EXPECT_FALSE(sizes.isAtLeast(b, 2));
  EXPECT_TRUE(sizes.isAtLeast(sub(b, 1), 0));
  EXPECT_TRUE(sizes.isAtLeast(mul(b, s), b));
  EXPECT_TRUE(sizes.isAtLeast(add(b, s), 2));
  EXPECT_FALSE(sizes.isAtLeast(sub(b, s), 0));
  EXPECT_FALSE(sizes.isAtLeast(sub(0, b), 0));
  EXPECT_TRUE(sizes.isAtLeast(-1, sub(0, b)));
  EXPECT_TRUE(sizes.isAtLeast(sizes.floorDiv(b, 2), 0));
  EXPECT_FALSE(sizes.isAtLeast(sizes.floorDiv(b, 2), 1));
  EXPECT_TRUE(sizes.isAtLeast(sizes.max(b, 3), 3));
  EXPECT_TRUE(sizes.isAtLeast(sizes.min(b, s), 1));
  EXPECT_TRUE(sizes.differ(b, add(b, 1)));
  EXPECT_TRUE(sizes.differ(b, -1));
  EXPECT_FALSE(sizes.differ(b, 1));
  EXPECT_FALSE(sizes.differ(b, s));
}

TEST_F(SizesTest, BoundsOfLongProductsTakeNoExpansion) {
  // 2^40 terms, where each factor is written as 1 and what exceeds it.
  int64_t product = 1;
  for (int i = 0; i < 40; ++i)
    product = mul(product, sizes.named("n" + std::to_string(i)));
  EXPECT_TRUE(sizes.isAtLeast(product, 1));
  EXPECT_FALSE(sizes.isAtLeast(product, 2));
  // Nor is it tried where one term is subtracted: it is just not proved.
  EXPECT_FALSE(sizes.isAtLeast(product, s));
  EXPECT_FALSE(sizes.wasExceeded());
}

TEST_F(SizesTest, LimitsOfTermsFactorsAndDepth) {
  int64_t sum = b, power = b, nested = b;
  for (int i = 0; i < 8; ++i)
    sum = add(sum, sizes.named("n" + std::to_string(i)));
  for (int i = 0; i < 2; ++i)
    sum = mul(sum, sum);
  EXPECT_FALSE(sizes.wasExceeded());
  (void)mul(sum, sum);
  EXPECT_TRUE(sizes.wasExceeded());
  EXPECT_FALSE(sizes.wasExceeded());

  for (int i = 0; i < 6; ++i)
    power = mul(power, power);
  EXPECT_FALSE(sizes.wasExceeded());
  (void)mul(power, power);
  EXPECT_TRUE(sizes.wasExceeded());

  // Each is made of the one before twice, and there are 2^64 paths to the
  // first.
  for (int i = 0; i < 64; ++i)
    nested = sizes.floorDiv(nested, add(nested, 2));
  EXPECT_FALSE(sizes.wasExceeded());
  EXPECT_LT(sizes.toString(nested).size(), 2000u);
  std::set<std::string> names;
  sizes.addNames(nested, names);
  EXPECT_EQ(names, (std::set<std::string>{"b"}));
  (void)sizes.floorDiv(nested, add(nested, 2));
  EXPECT_TRUE(sizes.wasExceeded());
}

TEST_F(SizesTest, SmallerAndLarger) {
  EXPECT_EQ(sizes.min(b, add(b, 2)), b);
  EXPECT_EQ(sizes.max(sub(b, 1), 0), sub(b, 1));
  EXPECT_EQ(sizes.min(b, s), sizes.min(s, b));
  EXPECT_TRUE(isOpen(sizes.max(b, 7)));
  EXPECT_EQ(sizes.max(3, 7), 7);
}

TEST_F(SizesTest, Words) {
  EXPECT_EQ(sizes.toString(add(mul(mul(b, s), 2), 1)), "2*b*s + 1");
  EXPECT_EQ(sizes.toString(sub(b, s)), "b - s");
  EXPECT_EQ(sizes.toString({b, 3, sizes.min(b, s)}), "[b, 3, min(b, s)]");
  std::set<std::string> names;
  sizes.addNames(add(sizes.floorDiv(s, 2), 3), names);
  EXPECT_EQ(names, (std::set<std::string>{"s"}));
}

} // namespace
