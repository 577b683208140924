//===- FoldOpen.cpp - Arithmetic on sizes that are open -------------------===//
//
// Shape arithmetic of a model with unknown sizes: integers are polynomials of
// the open sizes. Values that are not, or that depend on the sizes in another
// way, are computed at run time.
//
//===----------------------------------------------------------------------===//

#include "Converter.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::dist::frontend;

/// Element `index` of a tensor of shape `shape` that `tensor` broadcasts to.
static int64_t elementAt(const HostTensor &tensor, ArrayRef<int64_t> shape,
                         int64_t index) {
  SmallVector<int64_t> own = stridesOf(tensor.getShape());
  SmallVector<int64_t> outer = stridesOf(shape);
  size_t skip = shape.size() - own.size();
  int64_t position = 0;
  for (size_t i = 0; i < own.size(); ++i)
    if (tensor.getShape()[i] != 1)
      position += index / outer[skip + i] % shape[skip + i] * own[i];
  return tensor.getInt(position);
}

/// One operation on two integers; none where it is not known.
static std::optional<int64_t> combine(Sizes &sizes, StringRef op, int64_t a,
                                      int64_t b) {
  if (op == "Add" || op == "Sum")
    return sizes.add(a, b);
  if (op == "Sub")
    return sizes.sub(a, b);
  if (op == "Mul")
    return sizes.mul(a, b);
  if (op == "Max")
    return sizes.max(a, b);
  if (op == "Min")
    return sizes.min(a, b);
  // Rounded down is towards zero only of what has no sign.
  bool divides = op == "Div" || op == "Mod";
  if (!divides || !sizes.isAtLeast(a, 0) || !sizes.isAtLeast(b, 1))
    return std::nullopt;
  int64_t quotient = sizes.floorDiv(a, b);
  if (op == "Div")
    return quotient;
  return sizes.sub(a, sizes.mul(quotient, b));
}

/// Whether a comparison holds, where that is the same for all sizes.
static std::optional<int64_t> compare(Sizes &sizes, StringRef op, int64_t a,
                                      int64_t b) {
  auto atLeast = [&](int64_t x, int64_t y) -> std::optional<int64_t> {
    if (sizes.isAtLeast(x, y))
      return 1;
    if (sizes.isAtLeast(y, sizes.add(x, 1)))
      return 0;
    return std::nullopt;
  };
  if (op == "GreaterOrEqual")
    return atLeast(a, b);
  if (op == "LessOrEqual")
    return atLeast(b, a);
  if (op == "Greater")
    return atLeast(a, sizes.add(b, 1));
  if (op == "Less")
    return atLeast(b, sizes.add(a, 1));
  if (op != "Equal")
    return std::nullopt;
  if (a == b)
    return 1;
  return sizes.differ(a, b) ? std::optional<int64_t>(0) : std::nullopt;
}

/// A function of one integer.
static std::optional<int64_t> apply(NodeContext &c, int64_t x) {
  StringRef op = c.node.op;
  Sizes &sizes = c.sizes();
  if (op == "Neg")
    return sizes.sub(0, x);
  if ((op == "Abs" || op == "Relu") && sizes.isAtLeast(x, 0))
    return x;
  if (op == "Sign" && sizes.isAtLeast(x, 1))
    return 1;
  if (op == "Cast" && c.intAttr("to", 0) == static_cast<int64_t>(DType::Bool) &&
      sizes.differ(x, 0))
    return 1;
  return std::nullopt;
}

static bool foldOpenReduction(NodeContext &c) {
  StringRef op = c.node.op;
  const Tensor &in = c.in(0);
  // Of a list, as shapes are.
  auto combine = llvm::StringSwitch<int64_t (Sizes::*)(int64_t, int64_t)>(op)
                     .Case("ReduceSum", &Sizes::add)
                     .Case("ReduceProd", &Sizes::mul)
                     .Case("ReduceMax", &Sizes::max)
                     .Case("ReduceMin", &Sizes::min)
                     .Default(nullptr);
  if (!combine || in.rank() != 1 || c.boolAttr("noop_with_empty_axes", false))
    return false;
  std::optional<SmallVector<int64_t>> axes = c.intsAttrOrInput("axes", 1);
  if (axes && axes->size() > 1)
    return false;
  if (axes && !axes->empty() && failed(c.axes(*axes, 1)))
    return false;
  std::optional<int64_t> result;
  for (int64_t x : in.known->getInts())
    result = result ? (c.sizes().*combine)(*result, x) : x;
  Shape shape;
  if (c.boolAttr("keepdims", true))
    shape.push_back(1);
  HostTensor out(DType::I64, shape);
  out.setInt(0, *result);
  c.set(0, out);
  return true;
}

static bool foldOpenWhere(NodeContext &c, ArrayRef<int64_t> shape) {
  if (c.node.op != "Where" || c.numInputs() != 3 ||
      c.in(0).type != DType::Bool || c.in(1).type != c.in(2).type)
    return false;
  HostTensor out(c.in(1).type, shape);
  for (int64_t i = 0; i < out.size(); ++i) {
    bool yes = elementAt(*c.in(0).known, shape, i) != 0;
    out.setInt(i, elementAt(*c.in(yes ? 1 : 2).known, shape, i));
  }
  c.set(0, out);
  return true;
}

void mlir::dist::frontend::foldOpen(NodeContext &c) {
  if (foldOpenReduction(c))
    return;
  Shape shape;
  for (size_t i = 0; i < c.numInputs(); ++i) {
    std::optional<Shape> both = broadcastShapes(shape, c.in(i).shape);
    if (!both || isFloat(c.in(i).type))
      return;
    shape = *both;
  }
  std::optional<int64_t> count = countElements(shape);
  // Of no elements, nothing would tell whether there is such an operation.
  if (!count || *count == 0 || !isSmall(DType::I64, *count) ||
      foldOpenWhere(c, shape))
    return;
  (void)c.boolAttr("fmod", false); // the same of what has no sign
  StringRef op = c.node.op;
  bool compares =
      op == "Equal" || op.starts_with("Less") || op.starts_with("Greater");
  bool toBool = op == "Cast";
  HostTensor out(compares || toBool ? DType::Bool : DType::I64, shape);
  for (int64_t i = 0; i < out.size(); ++i) {
    std::optional<int64_t> value;
    int64_t first = elementAt(*c.in(0).known, shape, i);
    if (c.numInputs() == 1) {
      value = apply(c, first);
    } else if (compares && c.numInputs() == 2) {
      value =
          compare(c.sizes(), op, first, elementAt(*c.in(1).known, shape, i));
    } else if (!compares) {
      value = first;
      for (size_t n = 1; value && n < c.numInputs(); ++n)
        value =
            combine(c.sizes(), op, *value, elementAt(*c.in(n).known, shape, i));
    }
    if (!value)
      return;
    out.setInt(i, *value);
  }
  c.set(0, out);
}
