//===- RandomGradientsTest.cpp - Gradients of random programs -------------===//
//
// The generator's programs are differentiated with respect to all their floats.
// They are run by its interpreter, which shares nothing with the rules. v and w
// are random directions of the arguments and of a result. The sum of
// <gradient, v> must be <w, (f(x + hv) - f(x - hv)) / 2h>. If differences of
// two steps h disagree, the program has an edge there, and nothing is compared.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "passes/differentiate/Differentiate.h"
#include "test/generator/Arguments.h"
#include "test/generator/Choices.h"
#include "test/generator/Diagnostics.h"
#include "test/generator/Fuzz.h"
#include "test/generator/Interpreter.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

/// The messages for programs without a known derivative.
static constexpr llvm::StringLiteral kRefusals[] = {
    "accumulates in a way of which",
    "reads what varies from within its body",
    "'scf.while' op has no derivative",
    "'scf.index_switch' op has no derivative",
    "'tensor.generate' op has no derivative",
};

namespace {
/// What becomes of one program; of those that agree, `detail` says whether
/// anything was compared.
class Comparison {
public:
  Comparison(ModuleOp module, uint64_t seed)
      : module(module), choices(seed),
        function(cast<func::FuncOp>(getEntryFunction(module))) {}
  Verdict compare(uint64_t seed);
  Verdict place(const CheckOptions &options);

private:
  std::optional<Verdict> begin(uint64_t seed);
  bool hasEdge(ModuleOp gradients, uint64_t seed);
  OwningOpRef<ModuleOp> differentiateCopy(Verdict &otherwise);
  bool chooseResult();
  Tensor makeDirection(const Tensor &like);
  FailureOr<std::vector<Tensor>> evaluate(double step);
  std::optional<double> getDifference(double step);

  ModuleOp module;
  Choices choices;
  func::FuncOp function;
  std::vector<std::string> names;
  std::vector<unsigned> varied;
  unsigned result = 0;
  std::vector<Tensor> arguments, directions;
  Tensor w;
  std::string error;
};
} // namespace

static Verdict say(Outcome outcome, const Twine &detail) {
  Verdict out;
  out.outcome = outcome;
  out.detail = detail.str();
  return out;
}

static double dot(const Tensor &a, const Tensor &b) {
  double sum = 0;
  for (int64_t i = 0, e = a.getNumElements(); i < e; ++i)
    sum += a.read()[i].f * b.read()[i].f;
  return sum;
}

Tensor Comparison::makeDirection(const Tensor &like) {
  Tensor out(like.getElementType(), like.getShape());
  for (int64_t i = 0, e = out.getNumElements(); i < e; ++i)
    out.write()[i].f = double(choices.below(1 << 20)) / (1 << 19) - 1;
  return out;
}

/// The last result of floats, which most of the program leads to.
bool Comparison::chooseResult() {
  Builder b(module.getContext());
  for (unsigned number = function.getNumResults(); number-- > 0;)
    if (getElementTypeOrSelf(function.getResultTypes()[number]).isF64()) {
      result = number;
      function.setResultAttr(number, kOutputAttr, b.getStringAttr("of"));
      return true;
    }
  return false;
}

FailureOr<std::vector<Tensor>> Comparison::evaluate(double step) {
  std::vector<Tensor> moved = arguments;
  for (auto [i, direction] : llvm::zip_equal(varied, directions))
    for (int64_t k = 0, e = direction.getNumElements(); k < e; ++k)
      moved[i].write()[k].f += step * direction.read()[k].f;
  return runWhole(module, moved, Garbage(Garbage::Kind::NaN, 3), error);
}

std::optional<double> Comparison::getDifference(double step) {
  double out = 0;
  for (double sign : {1.0, -1.0}) {
    FailureOr<std::vector<Tensor>> there = evaluate(sign * step);
    if (failed(there))
      return std::nullopt;
    out += sign * dot(w, (*there)[result]) / (2 * step);
  }
  return out;
}

/// Chooses what varies; what to say where nothing does.
std::optional<Verdict> Comparison::begin(uint64_t seed) {
  if (!chooseResult())
    return say(Outcome::Agrees, "no result of floats");
  arguments = makeArguments(function, seed);
  Builder b(module.getContext());
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    if (!argument.getElementType().isF64())
      continue;
    // Off the grid, where much is equal, and off zero.
    Tensor noise = makeDirection(argument);
    for (int64_t k = 0, e = argument.getNumElements(); k < e; ++k)
      argument.write()[k].f += 0.1 * noise.read()[k].f;
    names.push_back("x" + std::to_string(i));
    function.setArgAttr(i, kInputAttr, b.getStringAttr(names.back()));
    varied.push_back(i);
    directions.push_back(makeDirection(argument));
  }
  if (varied.empty())
    return say(Outcome::Agrees, "no argument of floats");
  return std::nullopt;
}

OwningOpRef<ModuleOp> Comparison::differentiateCopy(Verdict &otherwise) {
  OwningOpRef<ModuleOp> copy = module.clone();
  GradientRequest request;
  request.result = "of";
  request.cotangent = "cotangent";
  request.wrt = names;
  Diagnostics diagnostics(module.getContext());
  if (failed(differentiate(*copy, request)))
    otherwise = say(diagnostics.isLocated ? Outcome::Rejected : Outcome::Broken,
                    diagnostics.message);
  else if (failed(verify(*copy)))
    otherwise = say(Outcome::Broken, diagnostics.message);
  else
    return copy;
  return nullptr;
}

Verdict Comparison::compare(uint64_t seed) {
  if (std::optional<Verdict> nothing = begin(seed))
    return *nothing;
  FailureOr<std::vector<Tensor>> value = evaluate(0);
  if (failed(value))
    return say(Outcome::Agrees, "cannot be evaluated off the grid");
  w = makeDirection((*value)[result]);
  Verdict refusal;
  OwningOpRef<ModuleOp> copy = differentiateCopy(refusal);
  if (!copy)
    return refusal;
  std::vector<Tensor> with = arguments;
  with.push_back(w);
  FailureOr<std::vector<Tensor>> gradients =
      runWhole(*copy, with, Garbage(Garbage::Kind::NaN, 3), error);
  if (failed(gradients))
    return say(Outcome::Broken, error);
  double got = 0;
  size_t first = function.getNumResults();
  for (auto [position, direction] : llvm::enumerate(directions))
    got += dot((*gradients)[first + position], direction);

  std::optional<double> rough = getDifference(2e-5), fine = getDifference(1e-5);
  if (!rough || !fine || !std::isfinite(*rough) || !std::isfinite(*fine))
    return say(Outcome::Agrees, "not finite");
  double scale = 1 + std::abs(*fine) +
                 1e-3 * std::sqrt(dot((*value)[result], (*value)[result]));
  if (std::abs(*rough - *fine) > 1e-5 * scale)
    return say(Outcome::Agrees, "has an edge");
  if (std::abs(got - *fine) <= 1e-4 * scale)
    return say(Outcome::Agrees, "");
  return say(Outcome::Wrong, "gradient " + std::to_string(got) +
                                 ", differences " + std::to_string(*fine));
}

Verdict Comparison::place(const CheckOptions &options) {
  if (std::optional<Verdict> nothing = begin(options.seed))
    return *nothing;
  Verdict refusal;
  OwningOpRef<ModuleOp> copy = differentiateCopy(refusal);
  if (!copy)
    return refusal;
  std::string text;
  llvm::raw_string_ostream(text) << *copy;
  CheckOptions placed = options;
  placed.isExact = false;
  placed.forgetsSizes = false;
  Verdict verdict = check(text, placed);
  if (verdict.outcome == Outcome::Wrong && hasEdge(*copy, options.seed))
    return say(Outcome::Agrees, "has an edge");
  return verdict;
}

/// Whether gradients jump within 1e-9 of the arguments: if values that are
/// equal up to rounding are compared, the order of a sum decides the result.
bool Comparison::hasEdge(ModuleOp gradients, uint64_t seed) {
  auto found = gradients.lookupSymbol<func::FuncOp>(function.getSymName());
  std::vector<Tensor> here = makeArguments(found, seed);
  Garbage garbage(Garbage::Kind::NaN, 3);
  FailureOr<std::vector<Tensor>> value =
      runWhole(gradients, here, garbage, error);
  for (int trial = 0; trial < 8 && succeeded(value); ++trial) {
    std::vector<Tensor> moved = here;
    for (Tensor &argument : moved) {
      if (!argument.getElementType().isF64())
        continue;
      Tensor noise = makeDirection(argument);
      for (int64_t i = 0, e = argument.getNumElements(); i < e; ++i)
        argument.write()[i].f += 1e-9 * noise.read()[i].f;
    }
    FailureOr<std::vector<Tensor>> there =
        runWhole(gradients, moved, garbage, error);
    if (failed(there))
      return false;
    for (auto [a, b] : llvm::zip_equal(*value, *there)) {
      if (!a.getElementType().isF64())
        continue;
      for (int64_t i = 0, e = a.getNumElements(); i < e; ++i)
        if (std::abs(a.read()[i].f - b.read()[i].f) >
            1e-6 * (1 + std::abs(a.read()[i].f)))
          return true;
    }
  }
  return false;
}

static Verdict checkGradient(StringRef text, const CheckOptions &options,
                             bool isPlaced) {
  std::unique_ptr<MLIRContext> context = makeContext();
  DialectRegistry registry;
  registerAdjoints(registry);
  context->appendDialectRegistry(registry);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, ParserConfig(context.get()), "case");
  if (!module)
    return say(Outcome::Invalid, "cannot be read");
  Comparison comparison(*module, options.seed);
  return isPlaced ? comparison.place(options)
                  : comparison.compare(options.seed);
}

static bool isKnownRefusal(const Verdict &verdict) {
  return verdict.outcome == Outcome::Rejected &&
         llvm::any_of(kRefusals, [&](StringRef refusal) {
           return StringRef(verdict.detail).contains(refusal);
         });
}

namespace {
constexpr uint64_t kCases = 400;

class RandomGradients : public testing::TestWithParam<uint64_t> {};
} // namespace

/// The first seed of a batch.
static uint64_t getSeed(uint64_t batch, uint64_t cases) {
  return fromEnvironment("GRADIENT_SEED", 7000000) + batch * cases;
}

/// Checks programs; `accept` says which refusals are right. How many agree.
static unsigned checkPrograms(uint64_t seed, uint64_t cases, bool isPlaced,
                              bool (*accept)(const Verdict &)) {
  auto make = [&](size_t i) {
    FuzzCase fuzzCase = makeCase(seed + i);
    fuzzCase.options.run = [isPlaced](StringRef text,
                                      const CheckOptions &options) {
      return checkGradient(text, options, isPlaced);
    };
    return CheckCase{fuzzCase.text, fuzzCase.options};
  };
  std::map<std::string, unsigned> counts;
  checkAllApart(cases, 60, make, [&](size_t i, const Verdict &verdict) {
    if (verdict.outcome == Outcome::Agrees)
      ++counts[verdict.detail.empty() ? "agree" : verdict.detail];
    else if (accept(verdict))
      ++counts["refused"];
    else
      ADD_FAILURE() << "seed " << seed + i << ": "
                    << getName(verdict.outcome).str() << ": " << verdict.detail
                    << "\n"
                    << make(i).text;
  });
  for (const auto &[what, count] : counts)
    std::cout << count << " " << what << "\n";
  // What an edge excuses is rare.
  EXPECT_LE(counts["has an edge"], 1 + cases / 200);
  return counts["agree"];
}

TEST_P(RandomGradients, AreLikeDifferences) {
  uint64_t cases = fromEnvironment("GRADIENT_CASES", kCases);
  unsigned agree =
      checkPrograms(getSeed(GetParam(), cases), cases, false, isKnownRefusal);
  // Most are compared.
  EXPECT_GE(agree, cases / 2);
}

TEST_P(RandomGradients, ArePlaced) {
  uint64_t cases = fromEnvironment("GRADIENT_CASES", kCases);
  // A sync that no value fits is refused, as without gradients.
  unsigned agree = checkPrograms(getSeed(GetParam(), cases), cases, true,
                                 [](const Verdict &verdict) {
                                   return verdict.outcome == Outcome::Rejected;
                                 });
  EXPECT_GE(agree, cases / 2);
}

/// One in 80,000: a table of partition moved while it was read.
TEST(RandomGradientsOnce, ArePlaced) {
  EXPECT_EQ(checkPrograms(9602, 1, true, isKnownRefusal), 1u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGradients,
                         testing::Range(uint64_t(0), uint64_t(2)));
