//===- FamiliesContractions.cpp - Sums of products ------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "test/generator/RandomProgram.h"

using namespace mlir;
using namespace mlir::dist::test;

namespace {
/// Dimensions of a contraction: in which of left, right, out each loop occurs.
struct Loop {
  int64_t size;
  bool left, right, out;
};
} // namespace

/// What accumulates: mostly zeros, else another start or a tensor.
static Value pickAccumulator(RandomProgram &p, ArrayRef<int64_t> shape,
                             Type type) {
  switch (p.c.below(8)) {
  case 6:
    return p.filled(shape, type, 1);
  case 7:
    return p.getTensor(shape, type);
  default:
    return p.filled(shape, type, 0);
  }
}

static Bounds rangeOfContraction(RandomProgram &p, Value a, Value b, Value init,
                                 int64_t summands) {
  Bounds ra = p.rangeOf(a), rb = p.rangeOf(b), ri = p.rangeOf(init);
  return {ra.bound * rb.bound * std::max<int64_t>(summands, 1) +
              std::max(ri.bound, 2.0),
          std::max(ra.grid + rb.grid, ri.grid)};
}

/// The named ops that matrix code uses.
static bool makeNamed(RandomProgram &p) {
  Value a = p.pickTensor(1, 3);
  RankedTensorType type = p.typeOf(a);
  Type element = type.getElementType();
  if (element.isInteger(1))
    return false;
  a = p.tame(a);
  ArrayRef<int64_t> shape = type.getShape();
  int64_t k = shape.back(), n = p.pickSize();
  SmallVector<Type> none;
  auto finish = [&](Operation *op, Value other, Value init) {
    p.tame(p.add(op->getResult(0), rangeOfContraction(p, a, other, init, k)));
    return true;
  };
  if (shape.size() == 3) {
    Value other = p.tame(p.getTensor({shape[0], k, n}, element));
    Value init = pickAccumulator(p, {shape[0], shape[1], n}, element);
    return finish(linalg::BatchMatmulOp::create(p.b, p.loc, init.getType(),
                                                ValueRange{a, other}, init),
                  other, init);
  }
  if (shape.size() == 2) {
    if (p.c.chance(20)) {
      Value other = p.tame(p.getTensor({k}, element));
      Value init = pickAccumulator(p, {shape[0]}, element);
      return finish(linalg::MatvecOp::create(p.b, p.loc, init.getType(),
                                             ValueRange{a, other}, init),
                    other, init);
    }
    Value other = p.tame(p.getTensor({k, n}, element));
    Value init = pickAccumulator(p, {shape[0], n}, element);
    return finish(linalg::MatmulOp::create(p.b, p.loc, init.getType(),
                                           ValueRange{a, other}, init),
                  other, init);
  }
  if (p.c.chance(40)) {
    Value other = p.tame(p.getTensor({k}, element));
    Value init = pickAccumulator(p, {}, element);
    return finish(linalg::DotOp::create(p.b, p.loc, init.getType(),
                                        ValueRange{a, other}, init),
                  other, init);
  }
  Value other = p.tame(p.getTensor({k, n}, element));
  Value init = pickAccumulator(p, {n}, element);
  return finish(linalg::VecmatOp::create(p.b, p.loc, init.getType(),
                                         ValueRange{a, other}, init),
                other, init);
}

bool mlir::dist::test::makeContraction(RandomProgram &p) {
  if (p.c.chance(50))
    return makeNamed(p);
  Value a = p.pickTensor(1, 4);
  RankedTensorType type = p.typeOf(a);
  Type element = type.getElementType();
  if (element.isInteger(1))
    return false;
  a = p.tame(a);
  // Each dimension of the left operand is a batch, row or summed loop; then
  // columns.
  SmallVector<Loop> loops;
  bool anyReduction = false;
  for (int64_t size : type.getShape()) {
    unsigned role = p.c.below(3);
    loops.push_back({size, true, role != 1, role != 0});
    anyReduction |= role == 0;
  }
  if (!anyReduction)
    loops.back() = {loops.back().size, true, true, false};
  for (unsigned i = p.c.below(3); i > 0; --i)
    loops.push_back({p.pickSize(), false, true, true});
  if (llvm::none_of(loops, [](const Loop &l) { return l.right; }))
    return false;
  unsigned count = loops.size();
  int64_t work = 1, summands = 1;
  SmallVector<AffineExpr> leftMap, rightMap, outMap;
  SmallVector<int64_t> rightShape, outShape;
  // Loops may be numbered in any order.
  auto number = p.c.permutation(count);
  SmallVector<utils::IteratorType> iterators(count);
  for (auto [i, loop] : llvm::enumerate(loops)) {
    work *= loop.size;
    if (!loop.out)
      summands *= loop.size;
    iterators[number[i]] = loop.out ? utils::IteratorType::parallel
                                    : utils::IteratorType::reduction;
    if (loop.left)
      leftMap.push_back(p.dim(number[i]));
  }
  if (work > 20000)
    return false;
  for (int64_t i : p.c.permutation(count))
    if (loops[i].right) {
      rightMap.push_back(p.dim(number[i]));
      rightShape.push_back(loops[i].size);
    }
  for (int64_t i : p.c.permutation(count))
    if (loops[i].out) {
      outMap.push_back(p.dim(number[i]));
      outShape.push_back(loops[i].size);
    }
  if (RankedTensorType::get(rightShape, element).getNumElements() > 2048 ||
      RankedTensorType::get(outShape, element).getNumElements() > 2048)
    return false;
  Value other = p.tame(p.getTensor(rightShape, element));
  Value init = pickAccumulator(p, outShape, element);
  SmallVector<AffineMap> maps{p.map(count, leftMap), p.map(count, rightMap),
                              p.map(count, outMap)};
  Value out;
  if (p.c.chance(50)) {
    SmallVector<Attribute> attrs;
    for (AffineMap map : maps)
      attrs.push_back(AffineMapAttr::get(map));
    out = linalg::ContractOp::create(p.b, p.loc, init.getType(),
                                     ValueRange{a, other}, init,
                                     p.b.getArrayAttr(attrs))
              .getResult(0);
  } else {
    bool isFloat = isa<FloatType>(element);
    auto op = p.generic({a, other}, {init}, maps, iterators,
                        [&](OpBuilder &b, Location loc, ValueRange x) {
                          Value product, sum;
                          if (isFloat) {
                            product = arith::MulFOp::create(b, loc, x[0], x[1]);
                            sum = arith::AddFOp::create(b, loc, x[2], product);
                          } else {
                            product = arith::MulIOp::create(b, loc, x[0], x[1]);
                            sum = arith::AddIOp::create(b, loc, product, x[2]);
                          }
                          linalg::YieldOp::create(b, loc, sum);
                        });
    out = op.getResult(0);
  }
  p.tame(p.add(out, rangeOfContraction(p, a, other, init, summands)));
  return true;
}
