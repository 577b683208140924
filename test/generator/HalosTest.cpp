//===- HalosTest.cpp - Halos by their description -------------------------===//
//
// The ops as the interpreter has them, and exchanges made of other collectives
// (--dist-lower-halos): against a closed form, and the adjoint identity
// <Hx, y> = <x, H'y> on random uneven shards.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/halos/Passes.h"
#include "test/generator/Check.h"
#include "test/generator/Interpreter.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

namespace {
/// A halo along a dimension of `size` rows, on `outer` times `inner` devices.
struct HaloCase {
  int64_t outer, inner, size, low, high;
  /// As it is written; of a constant, its number.
  std::string boundary;
  double fill = 0;
  /// As of --dist-lower-halos.
  std::string lowering = "exchange";

  int64_t ranks() const { return outer * inner; }
  int64_t outerRows() const { return (size + outer - 1) / outer; }
  int64_t rows() const { return (outerRows() + inner - 1) / inner; }
  int64_t wide() const { return low + rows() + high; }
  bool isRing() const { return boundary == "periodic"; }
  /// The row that element `k` of a device's window is, past the ends also;
  /// none where it is padding.
  std::optional<int64_t> rowOf(int64_t rank, int64_t k) const {
    int64_t first = rank / inner * outerRows(), inside = rank % inner * rows();
    int64_t start = first + inside;
    int64_t valid = std::clamp<int64_t>(
        std::min(outerRows() - inside, size - start), 0, rows());
    if (isRing() && (valid == 0 || k >= low + valid + high))
      return std::nullopt;
    return start - low + k;
  }
  /// Whether shifts can do it.
  bool isShiftable() const {
    return size == rows() * ranks() || (!isRing() && outer == 1);
  }
  std::string write() const;
};
} // namespace

/// Both ops as one program: x -> Hx, y -> H'y.
std::string HaloCase::write() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  std::string over = outer == 1 ? "\"sp\"" : "\"o\", \"sp\"";
  auto tensor = [&](const char *name, int64_t local, int64_t whole) {
    os << name << "tensor<" << local
       << "xf64> {dist.sharding = #dist.sharding<@m, [{" << over
       << "}]>, "
          "dist.global_type = tensor<"
       << whole << "xf64>}";
  };
  os << "dist.mesh @m [" << (outer == 1 ? "" : "\"o\" = ");
  if (outer != 1)
    os << outer << ", ";
  os << "\"sp\" = " << inner << "]\nfunc.func @main(";
  tensor("%x: ", rows(), size);
  tensor(", %y: ", wide(), ranks() * wide());
  tensor(") -> (", wide(), ranks() * wide());
  tensor(", ", rows(), size);
  os << ") {\n";
  std::string numbers = " dim 0 of " + std::to_string(size) + " low " +
                        std::to_string(low) + " high " + std::to_string(high);
  std::string block = "tensor<" + std::to_string(rows()) + "xf64>",
              window = "tensor<" + std::to_string(wide()) + "xf64>";
  os << "  %0 = dist.halo_exchange %x" << numbers << " boundary " << boundary
     << " over " << over << " : " << block << " -> " << window << "\n"
     << "  %1 = dist.halo_reduce %y" << numbers << (isRing() ? " periodic" : "")
     << " over " << over << " : " << window << " -> " << block
     << "\n  return %0, %1 : " << window << ", " << block << "\n}\n";
  return text;
}

static Tensor randomTensor(std::mt19937_64 &random, Type type, int64_t size) {
  Tensor tensor(type, {size});
  for (int64_t i = 0; i < size; ++i)
    tensor.at(i).f = std::normal_distribution<double>()(random);
  return tensor;
}

static void checkCase(const HaloCase &c, uint64_t seed, MLIRContext *context) {
  SCOPED_TRACE(c.lowering + "\n" + c.write());
  auto module = parseSourceString<ModuleOp>(c.write(), context);
  ASSERT_TRUE(module);
  PassManager passes(context);
  DistLowerHalosOptions options;
  options.to = c.lowering;
  passes.addPass(createDistLowerHalos(options));
  {
    std::string said;
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      said += diagnostic.str();
      return success();
    });
    bool isDone = succeeded(passes.run(*module));
    if (c.lowering == "shifts" && !c.isShiftable()) {
      EXPECT_FALSE(isDone);
      EXPECT_NE(said.find("cannot be made of shifts"), std::string::npos)
          << said;
      return;
    }
    ASSERT_TRUE(isDone) << said;
  }
  bool isLeft = false;
  module->walk([&](HaloExchangeOp) { isLeft = true; });
  EXPECT_EQ(isLeft, c.lowering == "exchange");
  std::mt19937_64 random(seed);
  Type f64 = Float64Type::get(context);
  Tensor x = randomTensor(random, f64, c.size);
  Tensor y = randomTensor(random, f64, c.ranks() * c.wide());
  std::string error;
  auto results =
      runOnDevices(*module, {x, y}, Garbage(Garbage::Kind::NaN, seed), error);
  ASSERT_TRUE(succeeded(results)) << error;
  const Tensor &wide = (*results)[0], &home = (*results)[1];
  double left = 0, right = 0, scale = 1e-300;
  for (int64_t rank = 0; rank < c.ranks(); ++rank)
    for (int64_t k = 0; k < c.wide(); ++k) {
      int64_t at = rank * c.wide() + k;
      std::optional<int64_t> row = c.rowOf(rank, k);
      if (!row)
        continue;
      bool isInside = *row >= 0 && *row < c.size;
      double number = wide.read()[at].f;
      if (!isInside && !c.isRing()) {
        if (c.boundary == "none")
          EXPECT_TRUE(c.lowering != "exchange" || std::isnan(number))
              << "row " << *row;
        else
          EXPECT_EQ(number, c.fill) << "row " << *row;
        continue;
      }
      int64_t source = (*row % c.size + c.size) % c.size;
      EXPECT_EQ(number, x.read()[source].f) << "row " << *row;
      left += number * y.read()[at].f;
      scale += std::abs(number * y.read()[at].f);
    }
  for (int64_t i = 0; i < c.size; ++i)
    right += x.read()[i].f * home.read()[i].f;
  EXPECT_LE(std::abs(left - right), 1e-13 * scale) << left << ", " << right;
}

TEST(Halos, ClosedFormAndAdjointIdentity) {
  auto context = makeContext();
  std::mt19937_64 random(11);
  auto below = [&](int64_t end) {
    return static_cast<int64_t>(random() % end);
  };
  std::vector<std::pair<std::string, double>> boundaries = {
      {"zero", 0}, {"constant -1.5 : f64", -1.5}, {"none", 0}, {"periodic", 0}};
  for (std::string lowering : {"exchange", "gather", "shifts"})
    for (auto [outer, inner] : std::vector<std::pair<int64_t, int64_t>>{
             {1, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 8}, {2, 2}, {2, 3}, {3, 2}})
      for (const auto &[boundary, fill] : boundaries)
        for (int i = 0; i < 12; ++i) {
          int64_t size = 1 + below(20);
          if (i % 4 == 3) // what every device has as much of
            size = outer * inner * (1 + below(4));
          checkCase({outer, inner, size, below(i % 3 ? 5 : 30), below(9),
                     boundary, fill, lowering},
                    random(), context.get());
        }
}
