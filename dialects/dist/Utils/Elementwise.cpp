//===- Elementwise.cpp - Tensors computed element by element --------------===//

#include "dialects/dist/Utils/Elementwise.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::dist;

linalg::GenericOp mlir::dist::createParallelLoops(
    OpBuilder &b, Location loc, ValueRange inputs, ArrayRef<AffineMap> maps,
    ValueRange inits,
    function_ref<SmallVector<Value>(OpBuilder &, Location, ValueRange)> body) {
  int64_t rank = cast<RankedTensorType>(inits.front().getType()).getRank();
  SmallVector<AffineMap> all(maps);
  all.append(inits.size(), b.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(b, loc, inits.getTypes(), inputs,
                                           inits, all, loops);
  // Only now: a body may ask for values that are computed before the op.
  SmallVector<Type> elements;
  for (ValueRange tensors : {inputs, inits})
    for (Type type : tensors.getTypes())
      elements.push_back(getElementTypeOrSelf(type));
  SmallVector<Location> locs(elements.size(), loc);
  OpBuilder::InsertionGuard guard(b);
  Block *block = b.createBlock(&generic.getRegion(), {}, elements, locs);
  linalg::YieldOp::create(b, loc, body(b, loc, block->getArguments()));
  return generic;
}

Value mlir::dist::mapElements(
    OpBuilder &b, Location loc, ValueRange inputs, Type element,
    function_ref<Value(OpBuilder &, Location, ValueRange)> body,
    Attribute scope, ArrayRef<AffineMap> maps) {
  Value like = inputs.front();
  int64_t rank = cast<RankedTensorType>(like.getType()).getRank();
  SmallVector<AffineMap> all(maps);
  if (maps.empty())
    all.assign(inputs.size(), b.getMultiDimIdentityMap(rank));
  Value empty = tensor::EmptyOp::create(
      b, loc, tensor::getMixedSizes(b, loc, like), element);
  auto made = createParallelLoops(
      b, loc, inputs, all, empty,
      [&](OpBuilder &inner, Location at, ValueRange args) {
        return SmallVector<Value>{body(inner, at, args.drop_back())};
      });
  if (scope)
    made->setAttr(kScopeAttr, scope);
  return made.getResult(0);
}

SmallVector<Value> mlir::dist::delinearize(OpBuilder &b, Location loc,
                                           Value number,
                                           ArrayRef<int64_t> sizes) {
  SmallVector<Value> indices(sizes.size());
  for (size_t dim = sizes.size(); dim-- > 0;) {
    indices[dim] = number;
    if (dim == 0)
      break;
    Value size = arith::ConstantIndexOp::create(b, loc, sizes[dim]);
    indices[dim] = arith::RemUIOp::create(b, loc, number, size);
    number = arith::DivUIOp::create(b, loc, number, size);
  }
  return indices;
}

Value mlir::dist::createSum(OpBuilder &b, Location loc, Value left,
                            Value right) {
  Type type = left.getType();
  if (isa<RankedTensorType>(type))
    return mapElements(b, loc, {left, right}, getElementTypeOrSelf(type),
                       [](OpBuilder &b, Location loc, ValueRange args) {
                         return createSum(b, loc, args[0], args[1]);
                       });
  if (isa<FloatType>(type))
    return arith::AddFOp::create(b, loc, left, right);
  return arith::AddIOp::create(b, loc, left, right);
}
