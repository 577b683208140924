//===- RowsTest.cpp - Rows that indices name, by their description --------===//
//
// The ops as the interpreter has them: against a closed form, and the adjoint
// identity <Gx, y> = <x, G'y> on random graphs and uneven shards.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "test/generator/Check.h"
#include "test/generator/Interpreter.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

namespace {
/// A table of [2, size, 3], on `outer` times `inner` devices with `count`
/// indices each.
struct RowsCase {
  int64_t outer, inner, size, count;

  int64_t ranks() const { return outer * inner; }
  std::string write() const;
};
} // namespace

/// Both ops as one program: x, i -> Gx, y, i -> G'y.
std::string RowsCase::write() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  int64_t rows = (((size + outer - 1) / outer) + inner - 1) / inner;
  std::string block = "tensor<2x" + std::to_string(rows) + "x3xf64>",
              named = "tensor<" + std::to_string(count) + "x2x3xf64>",
              line = "tensor<" + std::to_string(count) + "xi64>";
  auto place = [&](const std::string &local, const char *dims,
                   const std::string &whole) {
    return local + " {dist.sharding = #dist.sharding<@m, [" + dims +
           "]>, dist.global_type = tensor<" + whole + ">}";
  };
  std::string all = std::to_string(ranks() * count);
  std::string table = place(block, "{}, {\"o\", \"i\"}, {}",
                            "2x" + std::to_string(size) + "x3xf64"),
              looked = place(named, "{\"o\", \"i\"}, {}, {}", all + "x2x3xf64");
  std::string how =
      "] dim 1 of " + std::to_string(size) + " over \"o\", \"i\" : ";
  os << "dist.mesh @m [\"o\" = " << outer << ", \"i\" = " << inner
     << "]\nfunc.func @main(%x: " << table << ", %y: " << looked
     << ", %i: " << place(line, "{\"o\", \"i\"}", all + "xi64") << ") -> ("
     << looked << ", " << table << ") {\n"
     << "  %0 = dist.gather_rows %x[%i" << how << block << "[" << line
     << "] -> " << named << "\n"
     << "  %1 = dist.reduce_rows %y[%i" << how << named << "[" << line
     << "] -> " << block << "\n  return %0, %1 : " << named << ", " << block
     << "\n}\n";
  return text;
}

static void checkCase(const RowsCase &c, uint64_t seed, MLIRContext *context) {
  SCOPED_TRACE(c.write());
  auto module = parseSourceString<ModuleOp>(c.write(), context);
  ASSERT_TRUE(module);
  std::mt19937_64 random(seed);
  Type f64 = Float64Type::get(context);
  auto numbers = [&](ArrayRef<int64_t> shape) {
    Tensor tensor(f64, shape);
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      tensor.at(i).f = std::normal_distribution<double>()(random);
    return tensor;
  };
  int64_t all = c.ranks() * c.count;
  Tensor x = numbers({2, c.size, 3}), y = numbers({all, 2, 3});
  Tensor indices(IntegerType::get(context, 64), {all});
  for (int64_t i = 0; i < all; ++i)
    indices.at(i).i = random() % c.size;
  std::string error;
  auto results = runOnDevices(*module, {x, y, indices},
                              Garbage(Garbage::Kind::NaN, seed), error);
  ASSERT_TRUE(succeeded(results)) << error;
  const Tensor &rows = (*results)[0], &home = (*results)[1];
  double left = 0, right = 0, scale = 1e-300;
  for (int64_t k = 0; k < all; ++k)
    for (int64_t o = 0; o < 2; ++o)
      for (int64_t i = 0; i < 3; ++i) {
        int64_t at = (k * 2 + o) * 3 + i, row = indices.read()[k].i;
        double number = rows.read()[at].f;
        EXPECT_EQ(number, x.read()[(o * c.size + row) * 3 + i].f);
        left += number * y.read()[at].f;
        scale += std::abs(number * y.read()[at].f);
      }
  for (int64_t at = 0; at < x.getNumElements(); ++at)
    right += x.read()[at].f * home.read()[at].f;
  EXPECT_LE(std::abs(left - right), 1e-13 * scale) << left << ", " << right;
}

TEST(Rows, ClosedFormAndAdjointIdentity) {
  auto context = makeContext();
  std::mt19937_64 random(11);
  auto below = [&](int64_t end) {
    return static_cast<int64_t>(random() % end);
  };
  for (auto [outer, inner] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 1}, {1, 2}, {1, 3}, {2, 2}, {2, 3}, {3, 2}})
    for (int i = 0; i < 12; ++i)
      checkCase({outer, inner, 1 + below(20), below(9)}, random(),
                context.get());
}
