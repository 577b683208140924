//===- GradientsTest.cpp - Every operator's gradient, by differences ------===//
//
// Each section of the matrix test's operators is differentiated. Both programs
// are run by the generator's interpreter in f64, which shares nothing with the
// rules. v and w are random directions of the arguments and of the result. Then
// <w, (f(x + ev) - f(x - ev)) / 2e> must be the sum of <gradient, v>.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Attention.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "passes/differentiate/Differentiate.h"
#include "test/generator/Arguments.h"
#include "test/generator/Check.h"
#include "test/generator/Choices.h"
#include "test/generator/Diagnostics.h"
#include "test/generator/Interpreter.h"
#include "test/generator/Operators.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

namespace {
struct Function {
  std::string name, text;
};
} // namespace

/// Programs of which no derivative is known, and the messages.
static const std::pair<StringRef, StringRef> kRefused[] = {
    {"loop over an unknown size", "cannot be kept"},
    {"tensor.generate", "'tensor.generate' op has no derivative"},
};

/// Operators of the matrix test at one size.
static std::vector<Function> makeOperators() {
  std::vector<Function> out;
  for (const Operator &op : getOperators()) {
    std::string sized;
    for (char c : op.text) {
      size_t letter = StringRef("NMHLPK").find(c);
      sized += letter == StringRef::npos
                   ? std::string(1, c)
                   : std::to_string(ArrayRef{6, 5, 3, 5, 8, 12}[letter]);
    }
    // A mesh: sizes that are not known are multiples of four.
    out.push_back({op.name, "dist.mesh @m [\"x\" = 4]\n" + sized});
  }
  return out;
}

/// A function for each scalar one, of arguments where it is smooth.
static std::vector<Function> makeScalarFunctions() {
  std::vector<Function> out;
  auto add = [&](StringRef name, StringRef body) {
    std::string text =
        "func.func @main(%a: tensor<4x5xf64>, %b: tensor<4x5xf64>)"
        " -> tensor<4x5xf64> {\n"
        "  %one = arith.constant dense<1.5> : tensor<4x5xf64>\n"
        "  %half = arith.constant dense<0.5> : tensor<4x5xf64>\n"
        // Above 1.5, and between -1 and 1.
        "  %aa = arith.mulf %a, %a : tensor<4x5xf64>\n"
        "  %large = arith.addf %aa, %one : tensor<4x5xf64>\n"
        "  %small = math.tanh %a : tensor<4x5xf64>\n"
        "  %r = " +
        body.str() + " : tensor<4x5xf64>\n  return %r : tensor<4x5xf64>\n}\n";
    out.push_back({name.str(), text});
  };
  for (StringRef name : {"exp", "exp2", "expm1", "sin", "cos", "tanh", "sinh",
                         "cosh", "atan", "asinh", "erf", "erfc", "absf",
                         "floor", "ceil", "round", "roundeven", "trunc"})
    add(name, ("math." + name + " %a").str());
  for (StringRef name :
       {"log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt", "acosh"})
    add(name, ("math." + name + " %large").str());
  for (StringRef name : {"asin", "acos", "atanh", "tan"})
    add(name, ("math." + name + " %small").str());
  add("powf", "math.powf %large, %b");
  add("atan2", "math.atan2 %b, %large");
  add("copysign", "math.copysign %a, %b");
  add("fma", "math.fma %a, %b, %large");
  add("divf", "arith.divf %b, %large");
  add("remf", "arith.remf %b, %large");
  add("maxnumf", "arith.maxnumf %a, %b");
  add("minnumf", "arith.minnumf %a, %b");
  return out;
}

/// Softmax in its parts, as exports write it, and something similar that is not
/// softmax: of %a, along rows, less %b.
static std::vector<Function> makeSoftmaxes() {
  std::vector<Function> out;
  // From the numerators %e of %a and %b, the sums' terms and start, and the
  // numerator and divisor of the quotient.
  auto add = [&](StringRef name, StringRef numerators, StringRef terms,
                 StringRef start, StringRef quotient, StringRef result) {
    std::string text = R"(
      #all = affine_map<(i, j) -> (i, j)>
      #rows = affine_map<(i, j) -> (i)>
      func.func @main(%a: tensor<4x5xf64>, %b: tensor<4xf64>,
                      %c: tensor<4x5xf64>) -> tensor<4x5xf64> {
        %empty = tensor.empty() : tensor<4x5xf64>
        %start = arith.constant )" +
                       start.str() + R"( : f64
        %some = tensor.empty() : tensor<4xf64>
        %none = linalg.fill ins(%start : f64) outs(%some : tensor<4xf64>)
          -> tensor<4xf64>
        )" + numerators.str() +
                       R"(
        %s = linalg.generic {indexing_maps = [#all, #rows],
            iterator_types = ["parallel", "reduction"]}
            ins()" + terms.str() +
                       R"( : tensor<4x5xf64>) outs(%none : tensor<4xf64>) {
        ^bb0(%x: f64, %y: f64):
          %z = arith.addf %x, %y : f64
          linalg.yield %z : f64
        } -> tensor<4xf64>
        %p = linalg.generic {indexing_maps = [#all, #rows, #all],
            iterator_types = ["parallel", "parallel"]}
            ins(%e, %s : tensor<4x5xf64>, tensor<4xf64>)
            outs(%empty : tensor<4x5xf64>) {
        ^bb0(%x: f64, %y: f64, %o: f64):
          %z = arith.divf )" +
                       quotient.str() + R"( : f64
          linalg.yield %z : f64
        } -> tensor<4x5xf64>
        %r = arith.addf %p, )" +
                       result.str() + R"( : tensor<4x5xf64>
        return %r : tensor<4x5xf64>
      })";
    out.push_back({name.str(), text});
  };
  std::string together = R"(%e = linalg.generic {
            indexing_maps = [#all, #rows, #all],
            iterator_types = ["parallel", "parallel"]}
            ins(%a, %b : tensor<4x5xf64>, tensor<4xf64>)
            outs(%empty : tensor<4x5xf64>) {
        ^bb0(%x: f64, %y: f64, %o: f64):
          %z = arith.subf %x, %y : f64
          %q = math.exp %z : f64
          linalg.yield %q : f64
        } -> tensor<4x5xf64>)";
  std::string apart = R"(%d = linalg.generic {
            indexing_maps = [#all, #rows, #all],
            iterator_types = ["parallel", "parallel"]}
            ins(%a, %b : tensor<4x5xf64>, tensor<4xf64>)
            outs(%empty : tensor<4x5xf64>) {
        ^bb0(%x: f64, %y: f64, %o: f64):
          %z = arith.subf %x, %y : f64
          linalg.yield %z : f64
        } -> tensor<4x5xf64>
        %e = linalg.exp ins(%d : tensor<4x5xf64>)
               outs(%empty : tensor<4x5xf64>) -> tensor<4x5xf64>)";
  std::string twice = R"(%d = linalg.generic {
            indexing_maps = [#all, #all],
            iterator_types = ["parallel", "parallel"]}
            ins(%a : tensor<4x5xf64>) outs(%empty : tensor<4x5xf64>) {
        ^bb0(%x: f64, %o: f64):
          %z = arith.addf %x, %x : f64
          linalg.yield %z : f64
        } -> tensor<4x5xf64>
        %e = linalg.exp ins(%d : tensor<4x5xf64>)
               outs(%empty : tensor<4x5xf64>) -> tensor<4x5xf64>)";
  // Less what is not one number for each row.
  std::string each = R"(%w = tensor.empty() : tensor<5x4xf64>
        %t = linalg.transpose ins(%c : tensor<4x5xf64>)
               outs(%w : tensor<5x4xf64>) permutation = [1, 0]
        %e = linalg.generic {
            indexing_maps = [#all, affine_map<(i, j) -> (j, i)>, #all],
            iterator_types = ["parallel", "parallel"]}
            ins(%a, %t : tensor<4x5xf64>, tensor<5x4xf64>)
            outs(%empty : tensor<4x5xf64>) {
        ^bb0(%x: f64, %y: f64, %o: f64):
          %z = arith.subf %x, %y : f64
          %q = math.exp %z : f64
          linalg.yield %q : f64
        } -> tensor<4x5xf64>)";
  add("softmax", together, "%e", "0.0", "%x, %y", "%c");
  add("softmax apart", apart, "%e", "0.0", "%x, %y", "%c");
  add("softmax of sums", twice, "%e", "0.0", "%x, %y", "%c");
  add("softmax less each", each, "%e", "0.0", "%x, %y", "%c");
  add("softmax used twice", together, "%e", "0.0", "%x, %y", "%e");
  add("softmax of other sums", together, "%c", "20.0", "%x, %y", "%c");
  add("softmax with one more", together, "%e", "1.0", "%x, %y", "%c");
  add("softmax inverted", together, "%e", "0.0", "%y, %x", "%c");
  return out;
}

/// Attention of 4 heads that share 2 key heads, with a mask and a bias that
/// varies, in a loop and out of it.
static std::vector<Function> makeAttentions() {
  std::string maps =
      "#q = affine_map<(g, h, i, j, d, e) -> (i, g, h, d)>\n"
      "#k = affine_map<(g, h, i, j, d, e) -> (j, g, d)>\n"
      "#v = affine_map<(g, h, i, j, d, e) -> (j, g, e)>\n"
      "#x = affine_map<(g, h, i, j, d, e) -> (h, i, j)>\n"
      "#o = affine_map<(g, h, i, j, d, e) -> (i, g, h, e)>\n"
      "#l = affine_map<(g, h, i, j, d, e) -> (g, h, i)>\n"
      "func.func @main(%q: tensor<5x2x2x3xf64>, %k: tensor<5x2x3xf64>, "
      "%v: tensor<5x2x4xf64>, %bias: tensor<2x5x5xf64>) -> ";
  auto attention = [](StringRef options, bool withLogarithms) {
    std::string types = "tensor<5x2x2x4xf64>";
    if (withLogarithms)
      types += ", tensor<2x2x5xf64>";
    return "  %r" + std::string(withLogarithms ? ":2" : "") +
           " = dist.attention(%q, %k, %v : tensor<5x2x2x3xf64>, "
           "tensor<5x2x3xf64>, tensor<5x2x4xf64>) with (%bias : "
           "tensor<2x5x5xf64>) outs(%init" +
           (withLogarithms ? ", %logs" : "") + " : " + types +
           ") maps [#q, #k, #v, #x, #o" + (withLogarithms ? ", #l" : "") +
           "] " + options.str() + " {\n" +
           "  ^bb0(%s: f64, %b: f64, %g: index, %h: index, %i: index, "
           "%j: index):\n"
           "    %half = arith.constant 0.5 : f64\n"
           "    %none = arith.constant 0xFFF0000000000000 : f64\n"
           "    %scaled = arith.mulf %s, %half : f64\n"
           "    %added = arith.addf %scaled, %b : f64\n"
           "    %seen = arith.cmpi ule, %j, %i : index\n"
           "    %y = arith.select %seen, %added, %none : f64\n"
           "    dist.attention_yield %y : f64\n  } -> " +
           types + "\n";
  };
  std::string init = "  %init = tensor.empty() : tensor<5x2x2x4xf64>\n"
                     "  %logs = tensor.empty() : tensor<2x2x5xf64>\n",
              one = "tensor<5x2x2x4xf64>",
              both = "tensor<5x2x2x4xf64>, tensor<2x2x5xf64>";
  std::vector<Function> out;
  out.push_back({"attention", maps + one + " {\n" + init +
                                  attention("", false) +
                                  "  return %r : " + one + "\n}\n"});
  out.push_back({"attention that clears rows",
                 maps + one + " {\n" + init + attention("nan_is_zero", false) +
                     "  return %r : " + one + "\n}\n"});
  out.push_back({"attention with logarithms",
                 maps + "(" + both + ") {\n" + init + attention("", true) +
                     "  return %r#0, %r#1 : " + both + "\n}\n"});
  out.push_back(
      {"attention in a loop",
       maps + one + " {\n" + init +
           "  %zero = arith.constant 0 : index\n"
           "  %one = arith.constant 1 : index\n"
           "  %two = arith.constant 2 : index\n"
           "  %start = arith.constant dense<0.0> : tensor<5x2x2x4xf64>\n"
           "  %sum = scf.for %n = %zero to %two step %one iter_args(%so = "
           "%start) -> (tensor<5x2x2x4xf64>) {\n" +
           attention("", false) +
           "  %next = arith.addf %so, %r : tensor<5x2x2x4xf64>\n"
           "  scf.yield %next : tensor<5x2x2x4xf64>\n  }\n"
           "  return %sum : " +
           one + "\n}\n"});
  return out;
}

static double dot(const Tensor &a, const Tensor &b) {
  double sum = 0;
  for (int64_t i = 0, e = a.getNumElements(); i < e; ++i)
    sum += a.read()[i].f * b.read()[i].f;
  return sum;
}

static Tensor makeRandom(Type type, ArrayRef<int64_t> shape, Choices &choices) {
  Tensor out(type, shape);
  for (int64_t i = 0, e = out.getNumElements(); i < e; ++i)
    out.write()[i].f = (double(choices.below(1 << 20)) / (1 << 19) - 1) * 2;
  return out;
}

namespace {
class Gradients : public testing::TestWithParam<size_t> {
public:
  static const std::vector<Function> &getFunctions() {
    static const std::vector<Function> functions = [] {
      std::vector<Function> all = makeOperators();
      llvm::append_range(all, makeScalarFunctions());
      llvm::append_range(all, makeSoftmaxes());
      llvm::append_range(all, makeAttentions());
      return all;
    }();
    return functions;
  }
};
} // namespace

/// For the interpreter, which knows no attention.
static void decomposeAttentions(ModuleOp module) {
  SmallVector<AttentionOp> ops;
  module.walk([&](AttentionOp op) { ops.push_back(op); });
  for (AttentionOp op : ops) {
    OpBuilder builder(op);
    op->replaceAllUsesWith(*op.decomposeOperation(builder));
    op->erase();
  }
}

/// Compares the gradient of one result.
static void check(ModuleOp whole, unsigned number, StringRef refusal,
                  uint64_t seed) {
  OwningOpRef<ModuleOp> parts = whole.clone();
  decomposeAttentions(*parts);
  ModuleOp module = *parts;
  auto forward = module.lookupSymbol<func::FuncOp>("main");
  Choices choices(seed);
  std::vector<Tensor> arguments = makeArguments(forward, seed);
  std::vector<unsigned> varied;
  for (auto [i, argument] : llvm::enumerate(arguments))
    if (argument.isFloat()) {
      argument =
          makeRandom(argument.getElementType(), argument.getShape(), choices);
      varied.push_back(i);
    }
  Garbage garbage(Garbage::Kind::NaN, 3);
  std::string error;
  FailureOr<std::vector<Tensor>> value =
      runWhole(module, arguments, garbage, error);
  ASSERT_TRUE(succeeded(value)) << error;
  const Tensor &result = (*value)[number];

  OwningOpRef<ModuleOp> copy = whole.clone();
  std::string name = "r" + std::to_string(number);
  GradientRequest request;
  std::vector<std::string> wrt{"a*"};
  request.result = name;
  request.cotangent = "w";
  request.wrt = wrt;
  Diagnostics diagnostics(module.getContext());
  LogicalResult made = differentiate(*copy, request);
  if (!refusal.empty()) {
    EXPECT_TRUE(failed(made))
        << "it has a derivative now: take it off the list";
    EXPECT_NE(diagnostics.message.find(refusal.str()), std::string::npos)
        << diagnostics.message;
    return;
  }
  ASSERT_TRUE(succeeded(made)) << diagnostics.message;
  ASSERT_TRUE(succeeded(verify(*copy))) << diagnostics.message;

  Tensor w = makeRandom(result.getElementType(), result.getShape(), choices);
  std::vector<Tensor> with = arguments;
  with.push_back(w);
  FailureOr<std::vector<Tensor>> gradients =
      runWhole(*copy, with, garbage, error);
  std::string text;
  llvm::raw_string_ostream(text) << *copy;
  ASSERT_TRUE(succeeded(gradients)) << error << "\n" << text;
  size_t first = forward.getNumResults();
  ASSERT_EQ(gradients->size(), first + varied.size());

  for (auto [position, i] : llvm::enumerate(varied)) {
    const Tensor &gradient = (*gradients)[first + position];
    const Tensor &x = arguments[i];
    ASSERT_EQ(gradient.getShape(), x.getShape());
    // Narrow types round the differences away.
    double step = x.getElementType().isF64() ? 1e-5 : 1e-2;
    double allowed =
        x.getElementType().isF64() && w.getElementType().isF64() ? 1e-7 : 2e-2;
    Tensor v = makeRandom(x.getElementType(), x.getShape(), choices);
    double difference = 0;
    for (double sign : {1.0, -1.0}) {
      std::vector<Tensor> moved = arguments;
      for (int64_t k = 0, e = v.getNumElements(); k < e; ++k)
        moved[i].write()[k].f += sign * step * v.read()[k].f;
      FailureOr<std::vector<Tensor>> there =
          runWhole(module, moved, garbage, error);
      ASSERT_TRUE(succeeded(there)) << error;
      difference += sign * dot(w, (*there)[number]) / (2 * step);
    }
    double expected = difference, got = dot(gradient, v);
    double scale = std::max({1.0, std::abs(expected), std::sqrt(dot(v, v))});
    EXPECT_TRUE(std::abs(expected - got) <= allowed * scale)
        << "argument " << i << ": " << got << " where differences give "
        << expected << "\n"
        << text;
  }
}

TEST_P(Gradients, AreLikeDifferences) {
  const Function &operation = getFunctions()[GetParam()];
  std::unique_ptr<MLIRContext> context = makeContext();
  DialectRegistry registry;
  registerAdjoints(registry);
  context->appendDialectRegistry(registry);
  context->loadDialect<math::MathDialect>();
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(operation.text, context.get());
  ASSERT_TRUE(module) << operation.text;
  auto function = module->lookupSymbol<func::FuncOp>("main");
  Builder b(context.get());
  bool varies = false;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    function.setArgAttr(i, kInputAttr, b.getStringAttr("a" + Twine(i)));
    varies |= isa<FloatType>(getElementTypeOrSelf(function.getArgument(i)));
  }
  StringRef refusal;
  for (auto [name, text] : kRefused)
    if (name == operation.name)
      refusal = text;
  bool any = false;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    function.setResultAttr(i, kOutputAttr, b.getStringAttr("r" + Twine(i)));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (varies &&
        isa<FloatType>(getElementTypeOrSelf(function.getResultTypes()[i]))) {
      any = true;
      for (uint64_t seed : {1, 2})
        check(*module, i, refusal, seed * 131 + i);
    }
  if (!any)
    GTEST_SKIP() << "no floats come out of floats";
}

/// The gradient of a function of one argument, where the result's cotangent is
/// all ones.
static std::vector<double> getGradient(StringRef text,
                                       ArrayRef<double> argument) {
  std::unique_ptr<MLIRContext> context = makeContext();
  DialectRegistry registry;
  registerAdjoints(registry);
  context->appendDialectRegistry(registry);
  context->loadDialect<math::MathDialect>();
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, context.get());
  GradientRequest request;
  request.cotangent = "w";
  std::vector<std::string> wrt{"x"};
  request.wrt = wrt;
  if (!module || failed(differentiate(*module, request)))
    return {};
  auto function = module->lookupSymbol<func::FuncOp>("main");
  std::vector<Tensor> arguments;
  for (BlockArgument block : function.getArguments()) {
    auto type = cast<RankedTensorType>(block.getType());
    arguments.emplace_back(type.getElementType(), type.getShape());
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      arguments.back().write()[i].f =
          block.getArgNumber() == 0 ? argument[i] : 1;
  }
  std::string error;
  FailureOr<std::vector<Tensor>> results =
      runWhole(*module, arguments, Garbage(Garbage::Kind::NaN, 3), error);
  if (failed(results))
    return {};
  std::vector<double> gradient;
  for (int64_t i = 0; i < results->back().getNumElements(); ++i)
    gradient.push_back(results->back().read()[i].f);
  return gradient;
}

using Numbers = std::vector<double>;

TEST(Ties, ReluIsFlatAtZero) {
  EXPECT_EQ(getGradient(R"(
    func.func @main(%x: tensor<3xf64> {dist.input = "x"})
        -> (tensor<3xf64> {dist.output = "y"}) {
      %z = arith.constant dense<0.0> : tensor<3xf64>
      %y = arith.maximumf %x, %z : tensor<3xf64>
      return %y : tensor<3xf64>
    })",
                        {-1, 0, 2}),
            (Numbers{0, 0, 1}));
}

TEST(Ties, MaximumOfEqualsIsShared) {
  EXPECT_EQ(getGradient(R"(
    func.func @main(%x: tensor<3xf64> {dist.input = "x"})
        -> (tensor<3xf64> {dist.output = "y"}) {
      %two = arith.constant dense<2.0> : tensor<3xf64>
      %d = arith.mulf %x, %two : tensor<3xf64>
      %y = arith.maximumf %x, %d : tensor<3xf64>
      return %y : tensor<3xf64>
    })",
                        {-1, 0, 2}),
            (Numbers{1, 1.5, 2}));
}

TEST(Ties, AbsoluteValueIsFlatAtZero) {
  EXPECT_EQ(getGradient(R"(
    func.func @main(%x: tensor<3xf64> {dist.input = "x"})
        -> (tensor<3xf64> {dist.output = "y"}) {
      %y = math.absf %x : tensor<3xf64>
      return %y : tensor<3xf64>
    })",
                        {-1, 0, 2}),
            (Numbers{-1, 0, 1}));
}

/// As torch.amax.
TEST(Ties, LargestOfARowIsShared) {
  EXPECT_EQ(getGradient(R"(
    func.func @main(%x: tensor<2x4xf64> {dist.input = "x"})
        -> (tensor<2xf64> {dist.output = "y"}) {
      %low = arith.constant dense<0xFFF0000000000000> : tensor<2xf64>
      %y = linalg.reduce { arith.maximumf } ins(%x : tensor<2x4xf64>)
               outs(%low : tensor<2xf64>) dimensions = [1]
      return %y : tensor<2xf64>
    })",
                        {1, 3, 3, 2, 5, 5, 5, 5}),
            (Numbers{0, 0.5, 0.5, 0, 0.25, 0.25, 0.25, 0.25}));
}

/// As torch.nn.functional.max_pool1d.
TEST(Ties, FirstLargestOfAWindowGetsAll) {
  EXPECT_EQ(getGradient(R"(
    func.func @main(%x: tensor<5xf64> {dist.input = "x"})
        -> (tensor<3xf64> {dist.output = "y"}) {
      %low = arith.constant dense<0xFFF0000000000000> : tensor<3xf64>
      %window = tensor.empty() : tensor<3xf64>
      %y = linalg.generic {
          indexing_maps = [affine_map<(i, k) -> (i + k)>,
                           affine_map<(i, k) -> (k)>,
                           affine_map<(i, k) -> (i)>],
          iterator_types = ["parallel", "reduction"]}
          ins(%x, %window : tensor<5xf64>, tensor<3xf64>)
          outs(%low : tensor<3xf64>) {
      ^bb0(%a: f64, %k: f64, %o: f64):
        %m = arith.maximumf %a, %o : f64
        linalg.yield %m : f64
      } -> tensor<3xf64>
      return %y : tensor<3xf64>
    })",
                        {7, 7, 1, 7, 7}),
            (Numbers{1, 1, 0, 1, 0}));
}

/// The last of several rows that are written to one place.
TEST(Ties, WhatIsOverwrittenDoesNotCount) {
  EXPECT_EQ(getGradient(R"(
    func.func @main(%x: tensor<3xf64> {dist.input = "x"})
        -> (tensor<2xf64> {dist.output = "y"}) {
      %old = arith.constant dense<0.0> : tensor<2xf64>
      %rows = arith.constant dense<[1, 0, 1]> : tensor<3xi64>
      %y = linalg.generic {
          indexing_maps = [affine_map<(i, k) -> (k)>,
                           affine_map<(i, k) -> (k)>,
                           affine_map<(i, k) -> (i)>],
          iterator_types = ["parallel", "reduction"]}
          ins(%x, %rows : tensor<3xf64>, tensor<3xi64>)
          outs(%old : tensor<2xf64>) {
      ^bb0(%a: f64, %row: i64, %o: f64):
        %i = linalg.index 0 : index
        %h = arith.index_cast %i : index to i64
        %is = arith.cmpi eq, %row, %h : i64
        %s = arith.select %is, %a, %o : f64
        linalg.yield %s : f64
      } -> tensor<2xf64>
      return %y : tensor<2xf64>
    })",
                        {4, 5, 6}),
            (Numbers{0, 1, 1}));
}

/// As torch.scatter_reduce with "amax": of the rows that come to one place the
/// largest, which they share; a row that comes nowhere gets nothing.
TEST(Ties, LargestOfWhatIsScatteredIsShared) {
  EXPECT_EQ(getGradient(R"(
    func.func @main(%x: tensor<6xf64> {dist.input = "x"})
        -> (tensor<3xf64> {dist.output = "y"}) {
      %old = arith.constant dense<[0.0, 0.0, 9.0]> : tensor<3xf64>
      %rows = arith.constant dense<[1, 0, 1, 1, 2, 7]> : tensor<6xi64>
      %y = linalg.generic {
          indexing_maps = [affine_map<(i, k) -> (k)>,
                           affine_map<(i, k) -> (k)>,
                           affine_map<(i, k) -> (i)>],
          iterator_types = ["parallel", "reduction"]}
          ins(%x, %rows : tensor<6xf64>, tensor<6xi64>)
          outs(%old : tensor<3xf64>) {
      ^bb0(%a: f64, %row: i64, %o: f64):
        %i = linalg.index 0 : index
        %h = arith.index_cast %i : index to i64
        %is = arith.cmpi eq, %row, %h : i64
        %m = arith.maximumf %o, %a : f64
        %s = arith.select %is, %m, %o : f64
        linalg.yield %s : f64
      } -> tensor<3xf64>
      return %y : tensor<3xf64>
    })",
                        {6, 4, 6, 5, 8, 9}),
            (Numbers{0.5, 1, 0.5, 0, 0, 0}));
}

INSTANTIATE_TEST_SUITE_P(Operators, Gradients,
                         testing::Range(size_t(0),
                                        Gradients::getFunctions().size()),
                         [](const testing::TestParamInfo<size_t> &info) {
                           std::string name =
                               Gradients::getFunctions()[info.param].name;
                           for (char &c : name)
                             if (!isalnum(c))
                               c = '_';
                           return std::to_string(info.param) + "_" + name;
                         });
