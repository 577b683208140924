//===- Programs.cpp - What compiled programs reach ------------------------===//

#include "tools/calibrate/Programs.h"
#include "compiler/Driver.h"
#include "dist/OptionValues.h"
#include "lowering/targets/Targets.h"
#include "mlir/Parser/Parser.h"
#include "tools/common/RunCompiler.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::dist;
using llvm::formatv;
namespace host = ::dist;

/// What one measurement is to take, beside its least number of runs.
static constexpr double kEnough = 0.2;
static constexpr int64_t kFewestRuns = 3;

double ProgramTimer::getSeconds(StringRef type, StringRef body) {
  // Every rank does all of it.
  std::string dims;
  for (size_t i = 0; i < type.count('x'); ++i)
    dims += i ? ", {}" : "{}";
  std::string text = formatv(R"mlir(
dist.mesh @ranks ["ranks" = {0}]
func.func @main(%x: {1} {{dist.input = "x", dist.sharding = #dist.sharding<@ranks, [{2}]>})
    -> ({1} {{dist.output = "y"}) {{
{3}
  return %y : {1}
}
)mlir",
                             ranks, type, dims, body);
  // Nobody reads this program: that its ranks do the same work is meant.
  ScopedDiagnosticHandler quiet(context, [](Diagnostic &diagnostic) {
    return success(diagnostic.getSeverity() != DiagnosticSeverity::Error);
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
      text, ParserConfig(context), "calibration.mlir");
  BundleOptions options;
  options.target = findTarget(host::targetOf("threads"));
  options.codegen.cpu = "native";
  if (!module || failed(distribute(*module, {}, stages)))
    throw host::Error("a program of the calibration was not accepted:\n" +
                      text);
  host::Program program =
      compileAndLoad(*module, options, "a program of the calibration");
  stages.begin("run", "running a program of the calibration");
  host::Inputs values = host::readInputs({"x=random"}, program.manifest);
  auto getBest = [&](int64_t times) {
    host::RunOptions run;
    run.repeat = times;
    std::vector<double> seconds = host::launch(program, values, run).seconds;
    return *std::min_element(seconds.begin(), seconds.end());
  };
  double best = getBest(kFewestRuns);
  double times = kEnough / std::max(best, 1e-9);
  return std::min(best, getBest(std::clamp<int64_t>(times, 1, 2000)));
}

double ProgramTimer::getFlopsPerSecond(StringRef type, int64_t &size) {
  constexpr double kLong = 2e-3;
  constexpr int64_t kMost = 1024;
  for (size = 256;; size *= 2) {
    std::string tensor = formatv("tensor<{0}x{0}x{1}>", size, type);
    double seconds = getSeconds(tensor, formatv(R"mlir(
  %zero = arith.constant 0.0 : {1}
  %e = tensor.empty() : {0}
  %f = linalg.fill ins(%zero : {1}) outs(%e : {0}) -> {0}
  %y = linalg.matmul ins(%x, %x : {0}, {0}) outs(%f : {0}) -> {0}
)mlir",
                                                tensor, type)
                                            .str());
    if (seconds >= kLong || size >= kMost)
      return 2.0 * size * size * size / seconds;
  }
}

/// The tanh form of GELU of %0, `times` one after the other; the last is named
/// by the number that is returned. Eight operations each.
static int nestActivations(llvm::raw_ostream &body, int times) {
  int last = 0;
  auto add = [&](const llvm::Twine &op) {
    body << "    %" << ++last << " = " << op << " : f32\n";
    return last;
  };
  for (int i = 0; i < times; ++i) {
    auto name = [](int value) { return "%" + std::to_string(value); };
    std::string x = name(last);
    std::string square = name(add("arith.mulf " + x + ", " + x));
    std::string cube = name(add("arith.mulf " + square + ", " + x));
    std::string part = name(add("arith.mulf " + cube + ", %c"));
    std::string inner = name(add("arith.addf " + x + ", " + part));
    std::string tanh = name(add("math.tanh " + inner));
    std::string plus = name(add("arith.addf " + tanh + ", %one"));
    std::string half = name(add("arith.mulf " + x + ", %half"));
    add("arith.mulf " + half + ", " + plus);
  }
  return last;
}

double ProgramTimer::getScalarOpsPerSecond() {
  constexpr int64_t kRows = 256, kColumns = 512;
  std::string body;
  llvm::raw_string_ostream stream(body);
  stream << R"mlir(
  %c = arith.constant 0.044715 : f32
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<256x512xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<256x512xf32>) outs(%e : tensor<256x512xf32>) {
  ^bb0(%0: f32, %out: f32):
)mlir";
  int ops = nestActivations(stream, 4);
  stream << "    linalg.yield %" << ops
         << " : f32\n  } -> tensor<256x512xf32>\n";
  return kRows * kColumns * ops / getSeconds("tensor<256x512xf32>", body);
}

double ProgramTimer::getBytesPerSecond(int64_t bytes) {
  std::string tensor = formatv("tensor<{0}xf32>", bytes / 8);
  double seconds = getSeconds(tensor, formatv(R"mlir(
  %e = tensor.empty() : {0}
  %y = linalg.add ins(%x, %x : {0}, {0}) outs(%e : {0}) -> {0}
)mlir",
                                              tensor)
                                          .str());
  return bytes / seconds;
}

double ProgramTimer::getOpSeconds() {
  // A product and a loop nest each time, which no kernel joins.
  constexpr int kPairs = 64;
  std::string body;
  llvm::raw_string_ostream stream(body);
  stream << R"mlir(
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
)mlir";
  std::string last = "%x";
  auto add = [&](int times) {
    for (int i = 0; i < times; ++i) {
      stream << formatv(R"mlir(
  %p{0} = linalg.matmul ins({1}, %x : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
  %{2} = linalg.negf ins(%p{0} : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
)mlir",
                        i, last,
                        i + 1 == times ? "y" : formatv("n{0}", i).str());
      last = formatv("%n{0}", i);
    }
  };
  add(kPairs);
  double many = getSeconds("tensor<16x16xf32>", body);
  return many / (2 * kPairs);
}
