//===- Fold.cpp - Arithmetic on known tensors -----------------------------===//
//
// Computes elementwise operators, reductions and small products of tensors that
// are known while importing: shape arithmetic, masks and position tables. What
// only moves data is done by the converters themselves. Floating point is
// computed in double and rounded after each operator.
//
//===----------------------------------------------------------------------===//

#include "Converter.h"

#include <cfenv>
#include <cmath>
#include <functional>

using namespace mlir;
using namespace mlir::dist::frontend;

namespace {
/// Reads a known tensor as if it were broadcast to a shape.
class Reader {
public:
  Reader(const HostTensor &tensor, ArrayRef<int64_t> shape)
      : tensor(tensor), shape(shape), strides(shape.size(), 0) {
    SmallVector<int64_t> own = stridesOf(tensor.getShape());
    size_t skip = shape.size() - own.size();
    for (size_t i = 0; i < own.size(); ++i)
      if (tensor.getShape()[i] != 1)
        strides[skip + i] = own[i];
    outer = stridesOf(shape);
  }
  int64_t at(int64_t index) const {
    int64_t position = 0;
    for (size_t i = 0; i < strides.size(); ++i)
      position += index / outer[i] % shape[i] * strides[i];
    return position;
  }
  int64_t getInt(int64_t index) const { return tensor.getInt(at(index)); }
  double getFloat(int64_t index) const { return tensor.getFloat(at(index)); }

private:
  const HostTensor &tensor;
  ArrayRef<int64_t> shape;
  SmallVector<int64_t> strides, outer;
};
} // namespace

using FloatUnary = double (*)(double);
using FloatBinary = double (*)(double, double);
using IntBinary = int64_t (*)(int64_t, int64_t);

/// Wraps instead of overflowing.
template <typename Op> static int64_t wrap(int64_t a, int64_t b, Op op) {
  return static_cast<int64_t>(
      op(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
}

static const llvm::StringMap<FloatUnary> &floatUnaries() {
  static const llvm::StringMap<FloatUnary> table = {
      {"Abs", [](double x) { return std::fabs(x); }},
      {"Atan", [](double x) { return std::atan(x); }},
      {"Ceil", [](double x) { return std::ceil(x); }},
      {"Cos", [](double x) { return std::cos(x); }},
      {"Erf", [](double x) { return std::erf(x); }},
      {"Exp", [](double x) { return std::exp(x); }},
      {"Floor", [](double x) { return std::floor(x); }},
      {"Log", [](double x) { return std::log(x); }},
      {"Neg", [](double x) { return -x; }},
      {"Reciprocal", [](double x) { return 1 / x; }},
      {"Relu", [](double x) { return x < 0 ? 0 : x; }},
      {"Round", [](double x) { return std::nearbyint(x); }},
      {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"Sign", [](double x) { return x > 0   ? 1.0
                                     : x < 0 ? -1.0
                                             : x; }},
      {"Sin", [](double x) { return std::sin(x); }},
      {"Sqrt", [](double x) { return std::sqrt(x); }},
      {"Tanh", [](double x) { return std::tanh(x); }},
  };
  return table;
}

static double nanMax(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
}
static double nanMin(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
}

static const llvm::StringMap<FloatBinary> &floatBinaries() {
  static const llvm::StringMap<FloatBinary> table = {
      {"Add", [](double a, double b) { return a + b; }},
      {"Sub", [](double a, double b) { return a - b; }},
      {"Mul", [](double a, double b) { return a * b; }},
      {"Div", [](double a, double b) { return a / b; }},
      {"Pow", [](double a, double b) { return std::pow(a, b); }},
      {"Mod", [](double a, double b) { return std::fmod(a, b); }},
      {"Max", nanMax},
      {"Min", nanMin},
      {"Sum", [](double a, double b) { return a + b; }},
  };
  return table;
}

/// Integers; a division by zero is left to run time.
static const llvm::StringMap<IntBinary> &intBinaries() {
  static const llvm::StringMap<IntBinary> table = {
      {"Add",
       [](int64_t a, int64_t b) { return wrap(a, b, std::plus<uint64_t>()); }},
      {"Sub",
       [](int64_t a, int64_t b) { return wrap(a, b, std::minus<uint64_t>()); }},
      {"Mul",
       [](int64_t a, int64_t b) {
         return wrap(a, b, std::multiplies<uint64_t>());
       }},
      {"Div", [](int64_t a, int64_t b) { return b == -1 ? 0 - a : a / b; }},
      {"Max", [](int64_t a, int64_t b) { return std::max(a, b); }},
      {"Min", [](int64_t a, int64_t b) { return std::min(a, b); }},
      {"Sum",
       [](int64_t a, int64_t b) { return wrap(a, b, std::plus<uint64_t>()); }},
      {"And", [](int64_t a, int64_t b) { return a & b; }},
      {"Or", [](int64_t a, int64_t b) { return a | b; }},
      {"Xor", [](int64_t a, int64_t b) { return a ^ b; }},
      {"BitwiseAnd", [](int64_t a, int64_t b) { return a & b; }},
      {"BitwiseOr", [](int64_t a, int64_t b) { return a | b; }},
      {"BitwiseXor", [](int64_t a, int64_t b) { return a ^ b; }},
  };
  return table;
}

static std::optional<Compare> comparison(StringRef op) {
  static const llvm::StringMap<Compare> table = {
      {"Equal", Compare::EQ},          {"Less", Compare::LT},
      {"LessOrEqual", Compare::LE},    {"Greater", Compare::GT},
      {"GreaterOrEqual", Compare::GE},
  };
  auto it = table.find(op);
  return it == table.end() ? std::nullopt : std::optional(it->second);
}

template <typename T> static bool holds(Compare predicate, T a, T b) {
  switch (predicate) {
  case Compare::EQ:
    return a == b;
  case Compare::NE:
    return a != b;
  case Compare::LT:
    return a < b;
  case Compare::LE:
    return a <= b;
  case Compare::GT:
    return a > b;
  case Compare::GE:
    return a >= b;
  }
  return false;
}

/// The broadcast shape of all inputs, if small.
static std::optional<Shape> commonShape(NodeContext &c, DType type) {
  Shape shape;
  for (size_t i = 0; i < c.numInputs(); ++i) {
    std::optional<Shape> both = broadcastShapes(shape, c.in(i).shape);
    if (!both)
      return std::nullopt;
    shape = *both;
  }
  std::optional<int64_t> count = countElements(shape);
  if (!count || !isSmall(type, *count))
    return std::nullopt;
  return shape;
}

static bool foldWhere(NodeContext &c) {
  if (c.node.op != "Where" || c.numInputs() != 3 ||
      c.in(0).type != DType::Bool || c.in(1).type != c.in(2).type)
    return false;
  DType type = c.in(1).type;
  std::optional<Shape> shape = commonShape(c, type);
  if (!shape)
    return false;
  HostTensor out(type, *shape);
  Reader condition(*c.in(0).known, *shape), yes(*c.in(1).known, *shape),
      no(*c.in(2).known, *shape);
  for (int64_t i = 0; i < out.size(); ++i) {
    const Reader &from = condition.getInt(i) ? yes : no;
    if (isFloat(type))
      out.setFloat(i, from.getFloat(i));
    else
      out.setInt(i, from.getInt(i));
  }
  c.set(0, out);
  return true;
}

/// A function of one integer.
static int64_t applyToInt(StringRef op, DType type, int64_t x) {
  auto negated = [&] { return wrap(0, x, std::minus<uint64_t>()); };
  if (op == "Not")
    return type == DType::Bool ? !x : ~x;
  if (op == "Neg")
    return negated();
  if (op == "Abs")
    return x < 0 ? negated() : x;
  if (op == "Relu")
    return std::max<int64_t>(x, 0);
  return (x > 0) - (x < 0); // Sign
}

static bool foldUnary(NodeContext &c) {
  StringRef op = c.node.op;
  DType type = c.in(0).type;
  if (c.numInputs() != 1)
    return false;
  const HostTensor &in = *c.in(0).known;
  DType result = op == "Cast"    ? static_cast<DType>(c.intAttr("to", 0))
                 : op == "IsNaN" ? DType::Bool
                                 : type;
  if (sizeOf(result) == 0 || result == DType::U64 ||
      !isSmall(result, in.size()))
    return false;
  HostTensor out(result, in.getShape());
  if (isFloat(type)) {
    auto function = floatUnaries().find(op);
    if (op != "Cast" && op != "IsNaN" && function == floatUnaries().end())
      return false;
    for (int64_t i = 0; i < in.size(); ++i) {
      double x = in.getFloat(i);
      if (op == "IsNaN")
        out.setInt(i, std::isnan(x));
      else
        out.setFloat(i, op == "Cast" ? x : function->second(x));
    }
  } else {
    bool known = op == "Cast" || op == "Not" || op == "Neg" || op == "Abs" ||
                 op == "Relu" || op == "Sign";
    if (!known)
      return false;
    for (int64_t i = 0; i < in.size(); ++i)
      out.setInt(i, op == "Cast" ? in.getInt(i)
                                 : applyToInt(op, type, in.getInt(i)));
  }
  c.set(0, out);
  return true;
}

static bool foldComparison(NodeContext &c) {
  std::optional<Compare> predicate = comparison(c.node.op);
  if (!predicate || c.numInputs() != 2 || c.in(0).type != c.in(1).type)
    return false;
  std::optional<Shape> shape = commonShape(c, DType::Bool);
  if (!shape)
    return false;
  bool floating = isFloat(c.in(0).type);
  HostTensor out(DType::Bool, *shape);
  Reader a(*c.in(0).known, *shape), b(*c.in(1).known, *shape);
  for (int64_t i = 0; i < out.size(); ++i)
    out.setInt(i, floating ? holds(*predicate, a.getFloat(i), b.getFloat(i))
                           : holds(*predicate, a.getInt(i), b.getInt(i)));
  c.set(0, out);
  return true;
}

/// One integer operation; none where it has no result, which is left to run
/// time.
static std::optional<int64_t> combineInts(StringRef op, bool likeC, int64_t x,
                                          int64_t y) {
  if (op == "Mod") {
    if (y == 0)
      return std::nullopt;
    int64_t rest = y == -1 ? 0 : x % y;
    return !likeC && rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
  }
  if (op == "Div" && (y == 0 || (y == -1 && x == INT64_MIN)))
    return std::nullopt;
  auto it = intBinaries().find(op);
  return it == intBinaries().end() ? std::nullopt
                                   : std::optional(it->second(x, y));
}

/// A power of integers; wraps.
static int64_t powerOfInts(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 != 0 ? -1 : 1) : 0;
  int64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1)
      result = wrap(result, base, std::multiplies<uint64_t>());
    base = wrap(base, base, std::multiplies<uint64_t>());
  }
  return result;
}

static bool foldBinary(NodeContext &c) {
  StringRef op = c.node.op;
  if (c.numInputs() != 2)
    return false;
  DType type = c.in(0).type;
  bool isPower = op == "Pow";
  if (isPower ? !isFloat(type) && isFloat(c.in(1).type) : c.in(1).type != type)
    return false;
  std::optional<Shape> shape = commonShape(c, type);
  if (!shape)
    return false;
  HostTensor out(type, *shape);
  Reader a(*c.in(0).known, *shape), b(*c.in(1).known, *shape);
  bool likeC = op == "Mod" && c.boolAttr("fmod", false);
  if (isPower && !isFloat(type)) {
    for (int64_t i = 0; i < out.size(); ++i)
      out.setInt(i, powerOfInts(a.getInt(i), b.getInt(i)));
  } else if (isFloat(type)) {
    auto it = floatBinaries().find(op);
    if (it == floatBinaries().end() || (op == "Mod" && !likeC))
      return false;
    for (int64_t i = 0; i < out.size(); ++i)
      out.setFloat(i, it->second(a.getFloat(i), b.getFloat(i)));
  } else {
    for (int64_t i = 0; i < out.size(); ++i) {
      std::optional<int64_t> value =
          combineInts(op, likeC, a.getInt(i), b.getInt(i));
      if (!value)
        return false;
      out.setInt(i, *value);
    }
    // Nothing was combined, so that nothing told whether it can be.
    if (out.size() == 0 && op != "Mod" && !intBinaries().contains(op))
      return false;
  }
  c.set(0, out);
  return true;
}

static bool foldElementwise(NodeContext &c) {
  // uint64 would need its own arithmetic.
  for (size_t i = 0; i < c.numInputs(); ++i)
    if (c.in(i).type == DType::U64)
      return false;
  return foldWhere(c) || foldUnary(c) || foldComparison(c) || foldBinary(c);
}

static bool foldReduction(NodeContext &c) {
  StringRef op = c.node.op;
  bool max = op == "ReduceMax", min = op == "ReduceMin",
       prod = op == "ReduceProd", sum = op == "ReduceSum";
  const Tensor &in = c.in(0);
  if (!(max || min || prod || sum) || in.type == DType::U64 ||
      in.known->size() == 0)
    return false;
  std::optional<SmallVector<int64_t>> list = c.intsAttrOrInput("axes", 1);
  bool meansNone = c.boolAttr("noop_with_empty_axes", false);
  if (!list || list->empty()) {
    if (meansNone)
      return false;
    list.emplace();
    for (int64_t i = 0; i < in.rank(); ++i)
      list->push_back(i);
  }
  FailureOr<SmallVector<int64_t>> axes = c.axes(*list, in.rank());
  if (failed(axes))
    return false;
  bool keep = c.boolAttr("keepdims", true);
  Shape shape, inner = in.shape;
  for (int64_t i = 0; i < in.rank(); ++i) {
    bool reduced = llvm::is_contained(*axes, i);
    if (reduced)
      inner[i] = 1;
    if (!reduced || keep)
      shape.push_back(reduced ? 1 : in.shape[i]);
  }
  HostTensor out(in.type, inner);
  if (!isSmall(in.type, in.known->size()))
    return false;
  Reader target(out, in.shape);
  SmallVector<bool> seen(out.size(), false);
  for (int64_t i = 0; i < in.known->size(); ++i) {
    int64_t at = target.at(i);
    bool first = !seen[at];
    seen[at] = true;
    if (isFloat(in.type)) {
      double x = in.known->getFloat(i), y = out.getFloat(at);
      out.setFloat(at, first  ? x
                       : max  ? nanMax(x, y)
                       : min  ? nanMin(x, y)
                       : prod ? x * y
                              : x + y);
    } else {
      int64_t x = in.known->getInt(i), y = out.getInt(at);
      out.setInt(at, first  ? x
                     : max  ? std::max(x, y)
                     : min  ? std::min(x, y)
                     : prod ? wrap(x, y, std::multiplies<uint64_t>())
                            : wrap(x, y, std::plus<uint64_t>()));
    }
  }
  c.set(0, out.reshaped(shape));
  return true;
}

static bool foldCumSum(NodeContext &c) {
  const Tensor &in = c.in(0);
  if (c.node.op != "CumSum" || isFloat(in.type) || in.type == DType::U64 ||
      !c.number(1) || c.boolAttr("exclusive", false) ||
      c.boolAttr("reverse", false) || !isSmall(in.type, in.known->size()))
    return false;
  FailureOr<int64_t> axis =
      c.axis(static_cast<int64_t>(*c.number(1)), in.rank());
  if (failed(axis))
    return false;
  HostTensor out(in.type == DType::Bool ? DType::I64 : in.type, in.shape);
  int64_t stride = stridesOf(in.shape)[*axis], size = in.shape[*axis];
  for (int64_t i = 0; i < out.size(); ++i) {
    bool first = i / stride % size == 0;
    int64_t before = first ? 0 : out.getInt(i - stride);
    out.setInt(i, wrap(before, in.known->getInt(i), std::plus<uint64_t>()));
  }
  c.set(0, out);
  return true;
}

/// Positions of what is not zero; only known ones have a static shape.
static bool foldNonZero(NodeContext &c) {
  if (c.node.op != "NonZero")
    return false;
  const HostTensor &in = *c.in(0).known;
  SmallVector<int64_t> where;
  for (int64_t i = 0; i < in.size(); ++i)
    if (isFloat(in.getType()) ? in.getFloat(i) != 0 : in.getInt(i) != 0)
      where.push_back(i);
  int64_t rank = in.getRank(), count = where.size();
  HostTensor out(DType::I64, {rank, count});
  SmallVector<int64_t> strides = stridesOf(in.getShape());
  for (int64_t d = 0; d < rank; ++d)
    for (int64_t i = 0; i < count; ++i)
      out.setInt(d * count + i, where[i] / strides[d] % in.getShape()[d]);
  c.set(0, out);
  return true;
}

/// Products of position tables: [.., m, k] with equal batches or none.
static bool foldMatMul(NodeContext &c) {
  if (c.node.op != "MatMul" || c.numInputs() != 2)
    return false;
  const Tensor &a = c.in(0), &b = c.in(1);
  if (a.rank() < 2 || a.rank() != b.rank() || a.type != b.type ||
      !isFloat(a.type))
    return false;
  ArrayRef<int64_t> batch = ArrayRef<int64_t>(a.shape).drop_back(2);
  if (batch != ArrayRef<int64_t>(b.shape).drop_back(2))
    return false;
  int64_t m = a.shape[a.rank() - 2], k = a.shape.back(), n = b.shape.back();
  Shape shape(batch);
  shape.append({m, n});
  std::optional<int64_t> count = countElements(shape);
  if (b.shape[b.rank() - 2] != k || !count || !isSmall(a.type, *count) ||
      k > 4096)
    return false;
  HostTensor out(a.type, shape);
  for (int64_t i = 0; i < out.size(); ++i) {
    int64_t batchIndex = i / (m * n), row = i / n % m, column = i % n;
    double sum = 0;
    for (int64_t j = 0; j < k; ++j)
      sum += a.known->getFloat((batchIndex * m + row) * k + j) *
             b.known->getFloat((batchIndex * k + j) * n + column);
    out.setFloat(i, sum);
  }
  c.set(0, out);
  return true;
}

LogicalResult mlir::dist::frontend::foldNode(NodeContext &c) {
  if (c.numInputs() == 0)
    return success();
  for (size_t i = 0; i < c.numInputs(); ++i)
    if (!c.has(i) || !c.in(i).known)
      return success();
  if (c.hasOpenInput()) {
    foldOpen(c);
    return success(c.getMessage().empty());
  }
  (void)(foldElementwise(c) || foldReduction(c) || foldCumSum(c) ||
         foldNonZero(c) || foldMatMul(c));
  return success(c.getMessage().empty());
}
