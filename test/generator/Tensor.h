//===- Tensor.h - Values of the interpreter ---------------------*- C++ -*-===//
//
// A tensor, or a scalar as a tensor without dimensions, as the interpreter of
// test modules holds it; and the garbage that stands wherever a program must
// not look: in what tensor.empty makes and in the padding of uneven blocks.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TEST_GENERATOR_TENSOR_H
#define DIST_TEST_GENERATOR_TENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir::dist::test {

/// Floats as double, rounded to their type; integers sign-extended from their
/// width, so that true is -1.
union Scalar {
  double f;
  int64_t i;
};

/// Rounds to what `type` can hold.
double roundTo(Type type, double value);
/// Sign-extends the low `width` bits.
inline int64_t wrapTo(unsigned width, int64_t value) {
  return width >= 64 ? value
                     : static_cast<int64_t>(static_cast<uint64_t>(value)
                                            << (64 - width)) >>
                           (64 - width);
}
/// The low `width` bits.
inline uint64_t maskTo(unsigned width, int64_t value) {
  return width >= 64 ? static_cast<uint64_t>(value)
                     : static_cast<uint64_t>(value) & ((1ull << width) - 1);
}
unsigned getWidth(Type elementType);

/// Makes values that no correct program lets into its results.
class Garbage {
public:
  enum class Kind { NaN, Large, Negative, Zero };
  static constexpr unsigned kKinds = 4;
  Garbage(Kind kind, uint64_t seed) : kind(kind), state(seed) {}
  Scalar next(Type elementType);

private:
  Kind kind;
  uint64_t state;
};

class Tensor {
public:
  Tensor() = default;
  Tensor(Type elementType, ArrayRef<int64_t> shape)
      : elementType(elementType), shape(shape),
        data(std::make_shared<std::vector<Scalar>>(getNumElements(),
                                                   Scalar{0})) {}
  static Tensor scalar(Type type, Scalar value) {
    Tensor out(type, {});
    out.at(0) = value;
    return out;
  }
  /// All elements garbage.
  static Tensor garbage(Type elementType, ArrayRef<int64_t> shape,
                        Garbage &source);
  static std::optional<Tensor> fromAttr(TypedAttr attr);

  Type getElementType() const { return elementType; }
  ArrayRef<int64_t> getShape() const { return shape; }
  int64_t getRank() const { return shape.size(); }
  int64_t getNumElements() const {
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    return count;
  }
  SmallVector<int64_t, 6> getStrides() const;
  bool isFloat() const { return isa<FloatType>(elementType); }

  /// Elements row-major. Writing makes the data the tensor's own.
  const Scalar *read() const { return data->data(); }
  Scalar *write() {
    if (data.use_count() > 1)
      data = std::make_shared<std::vector<Scalar>>(*data);
    return data->data();
  }
  Scalar &at(int64_t i) { return write()[i]; }
  /// The same elements under another shape.
  Tensor reshaped(ArrayRef<int64_t> newShape) const {
    Tensor out = *this;
    out.shape.assign(newShape.begin(), newShape.end());
    return out;
  }

private:
  Type elementType;
  SmallVector<int64_t, 4> shape;
  std::shared_ptr<std::vector<Scalar>> data;
};

/// Moves to the next index of a box, row-major; false after the last.
bool advance(MutableArrayRef<int64_t> index, ArrayRef<int64_t> shape);

/// For messages: `[1, 2]`.
std::string printIndex(ArrayRef<int64_t> index);
std::string printScalar(Type type, Scalar value);

/// What differs between two tensors, the worst element named; none where they
/// agree: integers exactly, f64 to 1e-10 and narrower floats to what they hold,
/// relative to the tensor's largest element (at least 1).
std::optional<std::string> findDifference(const Tensor &expected,
                                          const Tensor &got);
/// Whether both have the same bits (all NaN being the same).
std::optional<std::string> findBitDifference(const Tensor &a, const Tensor &b);

} // namespace mlir::dist::test

#endif // DIST_TEST_GENERATOR_TENSOR_H
