//===- Tensor.cpp - Values of the interpreter -----------------------------===//

#include "test/generator/Tensor.h"
#include "dialects/dist/IR/Dist.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace mlir::dist;
using namespace mlir::dist::test;

double mlir::dist::test::roundTo(Type type, double value) {
  if (type.isF64())
    return value;
  if (type.isF32())
    return static_cast<float>(value);
  APFloat number(value);
  bool lost;
  number.convert(cast<FloatType>(type).getFloatSemantics(),
                 APFloat::rmNearestTiesToEven, &lost);
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
  return number.convertToDouble();
}

unsigned mlir::dist::test::getWidth(Type type) {
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

Scalar Garbage::next(Type type) {
  // splitmix64 (Steele, Lea, Flood 2014).
  uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  z ^= z >> 31;
  Scalar out;
  if (kind == Kind::Zero) {
    out.i = 0; // as a float too
    return out;
  }
  if (isa<FloatType>(type)) {
    double large = getWidth(type) >= 32 ? 1e30 : 1e4;
    large *= 1 + (z % 1000) / 1000.0;
    out.f = kind == Kind::NaN     ? std::nan("")
            : kind == Kind::Large ? roundTo(type, large)
                                  : roundTo(type, -large);
    return out;
  }
  unsigned width = getWidth(type);
  if (width == 1) {
    out.i = z & 1 ? -1 : 0;
    return out;
  }
  // Odd, and in the upper half of what the type holds.
  int64_t value = static_cast<int64_t>(maskTo(width - 3, z)) | 1 |
                  (int64_t(1) << (width - 2));
  out.i = kind == Kind::Negative ? -value : value;
  return out;
}

Tensor Tensor::garbage(Type elementType, ArrayRef<int64_t> shape,
                       Garbage &source) {
  Tensor out(elementType, shape);
  Scalar *data = out.write();
  for (int64_t i = 0, e = out.getNumElements(); i < e; ++i)
    data[i] = source.next(elementType);
  return out;
}

static Scalar toScalar(const APFloat &number) {
  APFloat copy = number;
  bool lost;
  copy.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
  Scalar out;
  out.f = copy.convertToDouble();
  return out;
}

static Scalar toScalar(const APInt &number) {
  Scalar out;
  out.i = number.getSExtValue();
  return out;
}

std::optional<Tensor> Tensor::fromAttr(TypedAttr attr) {
  if (auto number = dyn_cast<FloatAttr>(attr))
    return scalar(attr.getType(), toScalar(number.getValue()));
  if (auto number = dyn_cast<IntegerAttr>(attr))
    return scalar(attr.getType(), toScalar(number.getValue()));
  auto constant = dyn_cast<ElementsAttr>(attr);
  DenseElementsAttr elements =
      constant ? getDenseElements(constant) : DenseElementsAttr();
  if (!elements)
    return std::nullopt;
  Tensor out(elements.getElementType(), elements.getType().getShape());
  Scalar *data = out.write();
  if (isa<FloatType>(elements.getElementType())) {
    for (const APFloat &number : elements.getValues<APFloat>())
      *data++ = toScalar(number);
  } else {
    for (const APInt &number : elements.getValues<APInt>())
      *data++ = toScalar(number);
  }
  return out;
}

SmallVector<int64_t, 6> Tensor::getStrides() const {
  SmallVector<int64_t, 6> strides(shape.size());
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride *= shape[dim];
  }
  return strides;
}

bool mlir::dist::test::advance(MutableArrayRef<int64_t> index,
                               ArrayRef<int64_t> shape) {
  for (size_t dim = index.size(); dim-- > 0;) {
    if (++index[dim] < shape[dim])
      return true;
    index[dim] = 0;
  }
  return false;
}

std::string mlir::dist::test::printIndex(ArrayRef<int64_t> index) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "[";
  llvm::interleaveComma(index, os);
  os << "]";
  return text;
}

std::string mlir::dist::test::printScalar(Type type, Scalar value) {
  if (!isa<FloatType>(type))
    return std::to_string(type.isInteger(1) ? (value.i ? 1 : 0) : value.i);
  char buffer[40];
  snprintf(buffer, sizeof buffer, "%.17g", value.f);
  return buffer;
}

static std::string describe(const Tensor &a, const Tensor &b, int64_t at,
                            StringRef nameA, StringRef nameB) {
  SmallVector<int64_t> index;
  int64_t rest = at;
  for (int64_t stride : a.getStrides()) {
    index.push_back(stride ? rest / stride : 0);
    rest -= index.back() * stride;
  }
  return "at " + printIndex(index) + " " + nameA.str() + " " +
         printScalar(a.getElementType(), a.read()[at]) + ", " + nameB.str() +
         " " + printScalar(b.getElementType(), b.read()[at]);
}

static std::optional<std::string> findShapeDifference(const Tensor &a,
                                                      const Tensor &b) {
  if (a.getElementType() == b.getElementType() && a.getShape() == b.getShape())
    return std::nullopt;
  return "shape " + printIndex(a.getShape()) + " against " +
         printIndex(b.getShape());
}

std::optional<std::string>
mlir::dist::test::findDifference(const Tensor &expected, const Tensor &got) {
  if (auto problem = findShapeDifference(expected, got))
    return problem;
  int64_t count = expected.getNumElements();
  const Scalar *x = expected.read(), *y = got.read();
  if (!expected.isFloat()) {
    for (int64_t i = 0; i < count; ++i)
      if (x[i].i != y[i].i)
        return describe(expected, got, i, "expected", "got");
    return std::nullopt;
  }
  unsigned width = getWidth(expected.getElementType());
  double tolerance = width == 64 ? 1e-10 : width == 32 ? 1e-4 : 5e-2;
  double scale = 1;
  for (int64_t i = 0; i < count; ++i)
    if (std::isfinite(x[i].f))
      scale = std::max(scale, std::fabs(x[i].f));
  int64_t worst = -1;
  double worstError = tolerance * scale;
  for (int64_t i = 0; i < count; ++i) {
    if (std::isnan(x[i].f) && std::isnan(y[i].f))
      continue;
    if (x[i].f == y[i].f)
      continue;
    double error = std::fabs(x[i].f - y[i].f);
    if (!(error <= worstError)) {
      worst = i;
      worstError = std::isnan(error) ? INFINITY : error;
      if (worstError == INFINITY)
        break;
    }
  }
  if (worst < 0)
    return std::nullopt;
  return describe(expected, got, worst, "expected", "got");
}

std::optional<std::string>
mlir::dist::test::findBitDifference(const Tensor &a, const Tensor &b) {
  if (auto problem = findShapeDifference(a, b))
    return problem;
  for (int64_t i = 0, e = a.getNumElements(); i < e; ++i) {
    Scalar x = a.read()[i], y = b.read()[i];
    bool same = a.isFloat() ? x.f == y.f || (std::isnan(x.f) && std::isnan(y.f))
                            : x.i == y.i;
    if (!same)
      return describe(a, b, i, "one has", "the other");
  }
  return std::nullopt;
}
