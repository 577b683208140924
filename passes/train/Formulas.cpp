//===- Formulas.cpp - Loops over elements, written as formulas ------------===//

#include "passes/train/Formulas.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dist;

namespace mlir::dist {

Scalar Scalar::constant(double number) const {
  return {*builder, loc,
          arith::ConstantOp::create(
              *builder, loc, builder->getFloatAttr(value.getType(), number))};
}

Scalar Scalar::as(Type type) const {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (value.getType() == type)
    return *this;
  if (from < to)
    return {*builder, loc,
            arith::ExtFOp::create(*builder, loc, type, value).getResult()};
  return {*builder, loc,
          arith::TruncFOp::create(*builder, loc, type, value).getResult()};
}

#define BINARY(FUNCTION, OP)                                                   \
  Scalar FUNCTION(Scalar a, Scalar b) {                                        \
    return {*a.builder, a.loc,                                                 \
            OP::create(*a.builder, a.loc, a.value, b.value).getResult()};      \
  }
BINARY(operator+, arith::AddFOp)
BINARY(operator-, arith::SubFOp)
BINARY(operator*, arith::MulFOp)
BINARY(operator/, arith::DivFOp)
BINARY(min, arith::MinimumFOp)
BINARY(max, arith::MaximumFOp)
#undef BINARY

#define UNARY(FUNCTION, OP)                                                    \
  Scalar FUNCTION(Scalar a) {                                                  \
    return {*a.builder, a.loc,                                                 \
            OP::create(*a.builder, a.loc, a.value).getResult()};               \
  }
UNARY(sqrt, math::SqrtOp)
UNARY(exp, math::ExpOp)
UNARY(log, math::LogOp)
UNARY(cos, math::CosOp)
#undef UNARY

Scalar pow(double a, Scalar b) {
  return {*b.builder, b.loc,
          math::PowFOp::create(*b.builder, b.loc, b.constant(a).value, b.value)
              .getResult()};
}

Scalar selectLess(Scalar a, Scalar b, Scalar yes, Scalar no) {
  Value isLess = arith::CmpFOp::create(
      *a.builder, a.loc, arith::CmpFPredicate::OLT, a.value, b.value);
  return {
      *a.builder, a.loc,
      arith::SelectOp::create(*a.builder, a.loc, isLess, yes.value, no.value)
          .getResult()};
}

} // namespace mlir::dist

Type mlir::dist::getComputeType(Type element) {
  return element.getIntOrFloatBitWidth() < 32
             ? Float32Type::get(element.getContext())
             : element;
}

/// The leading dimensions of loops.
static AffineMap getLeading(unsigned loops, unsigned count,
                            MLIRContext *context) {
  SmallVector<AffineExpr> exprs;
  for (unsigned i = 0; i < count; ++i)
    exprs.push_back(getAffineDimExpr(i, context));
  return AffineMap::get(loops, 0, exprs, context);
}

static SmallVector<AffineMap> getMaps(ValueRange inputs, unsigned loops) {
  SmallVector<AffineMap> maps;
  for (Value input : inputs)
    maps.push_back(getLeading(loops,
                              cast<RankedTensorType>(input.getType()).getRank(),
                              input.getContext()));
  return maps;
}

SmallVector<Value> mlir::dist::mapElements(OpBuilder &builder, Location loc,
                                           ValueRange inputs,
                                           ArrayRef<int64_t> shape,
                                           TypeRange elements,
                                           BodyFunction body) {
  SmallVector<Value> inits;
  for (Type element : elements)
    inits.push_back(tensor::EmptyOp::create(builder, loc, shape, element));
  auto made = createParallelLoops(
      builder, loc, inputs, getMaps(inputs, shape.size()), inits,
      [&](OpBuilder &b, Location loc, ValueRange args) {
        return body(b, loc, args.take_front(inputs.size()));
      });
  return made.getResults();
}

Value mlir::dist::reduceElements(OpBuilder &builder, Location loc,
                                 ValueRange inputs, ArrayRef<int64_t> shape,
                                 unsigned rank, TypedAttr start,
                                 BodyFunction body) {
  SmallVector<AffineMap> maps = getMaps(inputs, shape.size());
  maps.push_back(getLeading(shape.size(), rank, builder.getContext()));
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  loops.resize(shape.size(), utils::IteratorType::reduction);
  Value first = arith::ConstantOp::create(builder, loc, start);
  Value empty = tensor::EmptyOp::create(builder, loc, shape.take_front(rank),
                                        start.getType());
  Value init = linalg::FillOp::create(builder, loc, first, empty).getResult(0);
  return linalg::GenericOp::create(
             builder, loc, init.getType(), inputs, init, maps, loops,
             [&](OpBuilder &b, Location loc, ValueRange args) {
               linalg::YieldOp::create(b, loc, body(b, loc, args));
             })
      .getResult(0);
}
