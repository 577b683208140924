//===- Formulas.h - Loops over elements, written as formulas ----*- C++ -*-===//
//
// Losses and optimizers are formulas over the elements of a few tensors. Here
// are scalars with operators, and the two shapes of loops that they need.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_TRAIN_FORMULAS_H
#define DIST_PASSES_TRAIN_FORMULAS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mlir::dist {

/// A floating-point number of a program that is being built.
class Scalar {
public:
  Scalar(OpBuilder &builder, Location loc, Value value)
      : builder(&builder), loc(loc), value(value) {}

  Value get() const { return value; }
  /// A constant of the same type.
  Scalar constant(double number) const;
  /// Rounded or widened to a floating-point type.
  Scalar as(Type type) const;

  friend Scalar operator+(Scalar a, Scalar b);
  friend Scalar operator-(Scalar a, Scalar b);
  friend Scalar operator*(Scalar a, Scalar b);
  friend Scalar operator/(Scalar a, Scalar b);
  friend Scalar operator+(Scalar a, double b) { return a + a.constant(b); }
  friend Scalar operator*(double a, Scalar b) { return b.constant(a) * b; }
  friend Scalar operator-(double a, Scalar b) { return b.constant(a) - b; }
  friend Scalar sqrt(Scalar a);
  friend Scalar exp(Scalar a);
  friend Scalar log(Scalar a);
  friend Scalar cos(Scalar a);
  friend Scalar pow(double a, Scalar b);
  friend Scalar min(Scalar a, Scalar b);
  friend Scalar max(Scalar a, Scalar b);
  /// `yes` if a < b, else `no`.
  friend Scalar selectLess(Scalar a, Scalar b, Scalar yes, Scalar no);

private:
  OpBuilder *builder;
  Location loc;
  Value value;
};

/// The type for computing with numbers of this type: at least f32.
Type getComputeType(Type element);

using BodyFunction =
    function_ref<SmallVector<Value>(OpBuilder &, Location, ValueRange)>;

/// Tensors of the given shape and element types, computed element by element.
/// An input with fewer dimensions has the leading ones: its element is the same
/// for all positions of the others.
SmallVector<Value> mapElements(OpBuilder &builder, Location loc,
                               ValueRange inputs, ArrayRef<int64_t> shape,
                               TypeRange elements, BodyFunction body);

/// A tensor of the leading `rank` dimensions of `shape`. `body` combines the
/// elements with the last argument, its result so far, which starts as `start`.
/// Inputs are as above.
Value reduceElements(OpBuilder &builder, Location loc, ValueRange inputs,
                     ArrayRef<int64_t> shape, unsigned rank, TypedAttr start,
                     BodyFunction body);

} // namespace mlir::dist

#endif // DIST_PASSES_TRAIN_FORMULAS_H
