//===- WindowsTest.cpp - Windows of every kind, cut in every way ----------===//
//
// Sums of products, maxima, and gradients of weights and of what is read in
// windows. They are tried for each stride, dilation, width and padding, at
// sizes that 2 to 6 devices divide or do not. All must agree with one device;
// none may be refused. Nothing is random.
//
//===----------------------------------------------------------------------===//

#include "test/generator/Check.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>

using namespace mlir::dist::test;

namespace {
enum class Kind { Products, Maxima, Gradient, Adjoint };

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

static int64_t getCount(const Case &c) {
  int64_t padded = c.size + c.low + c.high;
  return (padded - (c.width - 1) * c.dilation - 1) / c.stride + 1;
}

/// H x, sums of products over windows of x, and its adjoint, which adds to
/// windows and cuts off what was padded: H' y itself, and the difference of
/// <H x, y> and <x, H' y>, which is none.
static std::string makeAdjoint(const Case &c) {
  return format(
      R"(
#in = affine_map<(o, k, c) -> (o * $T + k * $G, c)>
#window = affine_map<(o, k, c) -> (k)>
#out = affine_map<(o, k, c) -> (o, c)>
#all = affine_map<(o, c) -> (o, c)>
#none = affine_map<(o, c) -> ()>
dist.mesh @m ["x" = $P]
func.func @main(%x: tensor<$Nx2xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}, %y: tensor<$Cx2xf64> {dist.sharding = #dist.sharding<@m, [{"x"}, {}]>}, %w: tensor<$Wxf64>) -> (tensor<$Nx2xf64>, tensor<f64>) {
  %zero = arith.constant 0.0 : f64
  %p = tensor.pad %x low[$L, 0] high[$H, 0] {
  ^bb0(%a: index, %b: index):
    tensor.yield %zero : f64
  } : tensor<$Nx2xf64> to tensor<$Dx2xf64>
  %e0 = tensor.empty() : tensor<$Cx2xf64>
  %f0 = linalg.fill ins(%zero : f64) outs(%e0 : tensor<$Cx2xf64>) -> tensor<$Cx2xf64>
  %hx = linalg.generic {indexing_maps = [#in, #window, #out], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%p, %w : tensor<$Dx2xf64>, tensor<$Wxf64>) outs(%f0 : tensor<$Cx2xf64>) {
  ^bb0(%a: f64, %b: f64, %s: f64):
    %t = arith.mulf %a, %b : f64
    %u = arith.addf %s, %t : f64
    linalg.yield %u : f64
  } -> tensor<$Cx2xf64>
  %e1 = tensor.empty() : tensor<$Dx2xf64>
  %f1 = linalg.fill ins(%zero : f64) outs(%e1 : tensor<$Dx2xf64>) -> tensor<$Dx2xf64>
  %all = linalg.generic {indexing_maps = [#out, #window, #in], iterator_types = ["reduction", "reduction", "parallel"]}
      ins(%y, %w : tensor<$Cx2xf64>, tensor<$Wxf64>) outs(%f1 : tensor<$Dx2xf64>) {
  ^bb0(%a: f64, %b: f64, %s: f64):
    %t = arith.mulf %a, %b : f64
    %u = arith.addf %s, %t : f64
    linalg.yield %u : f64
  } -> tensor<$Dx2xf64>
  %hy = tensor.extract_slice %all[$L, 0] [$N, 2] [1, 1] : tensor<$Dx2xf64> to tensor<$Nx2xf64>
  %e2 = tensor.empty() : tensor<f64>
  %f2 = linalg.fill ins(%zero : f64) outs(%e2 : tensor<f64>) -> tensor<f64>
  %one = linalg.generic {indexing_maps = [#all, #all, #none], iterator_types = ["reduction", "reduction"]}
      ins(%hx, %y : tensor<$Cx2xf64>, tensor<$Cx2xf64>) outs(%f2 : tensor<f64>) {
  ^bb0(%a: f64, %b: f64, %s: f64):
    %t = arith.mulf %a, %b : f64
    %u = arith.addf %s, %t : f64
    linalg.yield %u : f64
  } -> tensor<f64>
  %other = linalg.generic {indexing_maps = [#all, #all, #none], iterator_types = ["reduction", "reduction"]}
      ins(%x, %hy : tensor<$Nx2xf64>, tensor<$Nx2xf64>) outs(%f2 : tensor<f64>) {
  ^bb0(%a: f64, %b: f64, %s: f64):
    %t = arith.mulf %a, %b : f64
    %u = arith.addf %s, %t : f64
    linalg.yield %u : f64
  } -> tensor<f64>
  %d = arith.subf %one, %other : tensor<f64>
  return %hy, %d : tensor<$Nx2xf64>, tensor<f64>
}
)",
      {{"$P", std::to_string(c.devices)},
       {"$N", std::to_string(c.size)},
       {"$L", std::to_string(c.low)},
       {"$H", std::to_string(c.high)},
       {"$D", std::to_string(c.size + c.low + c.high)},
       {"$C", std::to_string(getCount(c))},
       {"$W", std::to_string(c.width)},
       {"$T", std::to_string(c.stride)},
       {"$G", std::to_string(c.dilation)}});
}

static std::string makeModule(const Case &c) {
  if (c.kind == Kind::Adjoint)
    return makeAdjoint(c);
  int64_t padded = c.size + c.low + c.high, count = getCount(c);
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
  for (Kind kind :
       {Kind::Products, Kind::Maxima, Kind::Gradient, Kind::Adjoint})
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
