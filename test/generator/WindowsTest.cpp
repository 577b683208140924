//===- WindowsTest.cpp - Windows of every kind, cut in every way ----------===//
//
// Not random: sums of products, maxima and gradients of weights over windows,
// for each stride, dilation, width and padding, of sizes that divide and do
// not, on 2 to 6 devices. All must agree with one device; none may be refused.
//
//===----------------------------------------------------------------------===//

#include "test/generator/Check.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>

using namespace mlir::dist::test;

namespace {
enum class Kind { Products, Maxima, Gradient };

struct Case {
  Kind kind;
  int64_t devices, size, stride, dilation, width, low, high;
};
} // namespace

/// `text` with $N in place of its N-th number.
static std::string
format(llvm::StringRef text,
       std::initializer_list<std::pair<const char *, std::string>> words) {
  std::string out = text.str();
  for (auto &[name, word] : words)
    for (size_t at; (at = out.find(name)) != std::string::npos;)
      out.replace(at, llvm::StringRef(name).size(), word);
  return out;
}

static std::string makeModule(const Case &c) {
  int64_t padded = c.size + c.low + c.high;
  int64_t count = (padded - (c.width - 1) * c.dilation - 1) / c.stride + 1;
  bool isMax = c.kind == Kind::Maxima, isGradient = c.kind == Kind::Gradient;
  std::string other = isGradient ? "$Cx3xf64" : "$Wxf64";
  return format(
      format(
          R"(
dist.mesh @m ["x" = $P]
func.func @main(%x: tensor<$Nx2xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}, %w: tensor<$O> {dist.sharding = #dist.sharding<@m, [$B]>}) -> tensor<$R> {
  %fill = arith.constant $F : f64
  %p = tensor.pad %x low[$L, 0] high[$H, 0] {
  ^bb0(%a: index, %b: index):
    tensor.yield %fill : f64
  } : tensor<$Nx2xf64> to tensor<$Dx2xf64>
  %e = tensor.empty() : tensor<$R>
  %start = arith.constant $S : f64
  %f = linalg.fill ins(%start : f64) outs(%e : tensor<$R>) -> tensor<$R>
  %r = linalg.generic {indexing_maps = [affine_map<(o, k, c, f) -> (o * $T + k * $G, c)>, affine_map<(o, k, c, f) -> ($M)>, affine_map<(o, k, c, f) -> ($Y)>], iterator_types = [$I]}
      ins(%p, %w : tensor<$Dx2xf64>, tensor<$O>) outs(%f : tensor<$R>) {
  ^bb0(%a: f64, %b: f64, %s: f64):
    %t = $U
    %u = $V %s, %t : f64
    linalg.yield %u : f64
  } -> tensor<$R>
  return %r : tensor<$R>
}
)",
          {{"$O", other},
           {"$B", isGradient ? "{\"x\"}, {}" : "{}"},
           {"$R", isGradient ? "$Wx2x3xf64" : "$Cx2x1xf64"},
           {"$M", isGradient ? "o, f" : "k"},
           {"$Y", isGradient ? "k, c, f" : "o, c, f"},
           {"$I", isGradient
                      ? R"("reduction", "parallel", "parallel", "parallel")"
                      : R"("parallel", "reduction", "parallel", "parallel")"},
           {"$F", isMax       ? "-9.0"
                  : c.low % 2 ? "0.5"
                              : "0.0"},
           {"$S", isMax ? "-1.0e9" : "0.0"},
           {"$U",
            isMax ? "arith.addf %a, %b : f64" : "arith.mulf %a, %b : f64"},
           {"$V", isMax ? "arith.maximumf" : "arith.addf"}}),
      {{"$P", std::to_string(c.devices)},
       {"$N", std::to_string(c.size)},
       {"$L", std::to_string(c.low)},
       {"$H", std::to_string(c.high)},
       {"$D", std::to_string(padded)},
       {"$C", std::to_string(count)},
       {"$W", std::to_string(c.width)},
       {"$T", std::to_string(c.stride)},
       {"$G", std::to_string(c.dilation)}});
}

TEST(Windows, Agree) {
  std::vector<Case> cases;
  for (Kind kind : {Kind::Products, Kind::Maxima, Kind::Gradient})
    for (int64_t devices : {2, 3, 4, 6})
      for (int64_t size : {7, 12, 16})
        for (int64_t stride : {1, 2, 3})
          for (int64_t dilation : {1, 2})
            for (int64_t width : {1, 2, 3, 5})
              for (auto [low, high] :
                   {std::pair<int64_t, int64_t>{0, 0}, {1, 1}, {2, 0}, {0, 3}})
                if ((width - 1) * dilation < size + low + high)
                  cases.push_back({kind, devices, size, stride, dilation, width,
                                   low, high});
  size_t failures = 0;
  auto make = [&](size_t i) {
    CheckCase out{makeModule(cases[i]), CheckOptions()};
    out.options.seed = i;
    return out;
  };
  checkAllApart(cases.size(), 60, make, [&](size_t i, const Verdict &verdict) {
    if (verdict.outcome != Outcome::Agrees && ++failures <= 3)
      ADD_FAILURE() << "case " << i << ": " << getName(verdict.outcome).str()
                    << " in " << verdict.pass << ": " << verdict.detail << "\n"
                    << makeModule(cases[i]);
  });
  EXPECT_EQ(failures, 0u) << "of " << cases.size();
  RecordProperty("cases", static_cast<int>(cases.size()));
}
