//===- FamiliesBuffers.cpp - Programs that are hard on buffers ------------===//
//
// Values that share memory, or seem to: what branches, selects, loops and calls
// hand on, slices of one tensor, ops whose result may take the place of an
// operand that is read again. Floats are multiples of 1/4 in [-32, 32], which
// all types hold, so that every result is exact.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "test/generator/RandomProgram.h"

using namespace mlir;
using namespace mlir::dist::test;

static constexpr Bounds kExact{32, 2};

static Value index(RandomProgram &p, int64_t value) {
  return arith::ConstantIndexOp::create(p.b, p.loc, value);
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// Brings a float back to the range of all.
static Value clamp(OpBuilder &b, Location loc, Value value) {
  auto constant = [&](double number) {
    return arith::ConstantOp::create(b, loc,
                                     b.getFloatAttr(value.getType(), number));
  };
  value = arith::MaximumFOp::create(b, loc, value, constant(-kExact.bound));
  return arith::MinimumFOp::create(b, loc, value, constant(kExact.bound));
}

/// A scalar computation that is exact.
static Value exactOp(RandomProgram &p, OpBuilder &b, Location loc,
                     ValueRange xs) {
  Value x = xs[0], y = xs.back();
  Type type = x.getType();
  if (!isa<FloatType>(type)) {
    Bounds unused;
    return p.scalarOp(b, loc, {x, y}, {{}, {}}, unused);
  }
  auto constant = [&](double number) {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, number));
  };
  switch (p.c.below(8)) {
  default:
    return clamp(b, loc, arith::AddFOp::create(b, loc, x, y));
  case 2:
  case 3:
    return clamp(b, loc, arith::SubFOp::create(b, loc, x, y));
  case 4:
    return arith::MaximumFOp::create(b, loc, x, y);
  case 5: {
    Value is = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, y);
    return arith::SelectOp::create(b, loc, is, y,
                                   arith::NegFOp::create(b, loc, x));
  }
  case 6:
    return clamp(b, loc, arith::AddFOp::create(b, loc, x, constant(0.75)));
  case 7:
    return clamp(b, loc, arith::MulFOp::create(b, loc, x, constant(2)));
  }
}

/// An index below `bound` that is known when the program runs, or before.
static Value pickIndex(RandomProgram &p, int64_t bound) {
  SmallVector<Value> fitting;
  for (auto [value, below] : p.indices)
    if (below <= bound)
      fitting.push_back(value);
  if (!fitting.empty() && p.c.chance(60))
    return fitting[p.c.below(fitting.size())];
  if (p.c.chance(30))
    return index(p, p.c.below(bound));
  auto below = p.b.getNamedAttr(kBelowAttr, p.b.getI64IntegerAttr(bound));
  Value list = p.argument({2}, p.b.getI64Type(), {}, below);
  Value element = tensor::ExtractOp::create(p.b, p.loc, list,
                                            ValueRange{index(p, p.c.below(2))});
  Value out =
      arith::IndexCastOp::create(p.b, p.loc, p.b.getIndexType(), element);
  p.indices.push_back({out, bound});
  return out;
}

static Value pickCondition(RandomProgram &p) {
  return arith::CmpIOp::create(p.b, p.loc, arith::CmpIPredicate::eq,
                               pickIndex(p, 2), index(p, 1));
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

/// A tensor of what the program has most of.
static Value pickValue(RandomProgram &p) { return p.pickTensor(0, 3); }
static Value pickLike(RandomProgram &p, Value value) {
  return p.getTensor(p.typeOf(value).getShape(),
                     p.typeOf(value).getElementType());
}

/// `ins` and what is at their place in `init`, or nothing of it.
static Value elementwise(RandomProgram &p, ArrayRef<Value> ins, Value init,
                         bool usesInit) {
  unsigned rank = p.typeOf(init).getRank();
  SmallVector<AffineMap> maps(ins.size() + 1, p.b.getMultiDimIdentityMap(rank));
  // Square tensors also across.
  ArrayRef<int64_t> shape = p.typeOf(init).getShape();
  for (AffineMap &map : MutableArrayRef(maps).drop_back())
    if (rank == 2 && shape[0] == shape[1] && p.c.chance(30))
      map = p.map(2, {p.dim(1), p.dim(0)});
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  auto op = p.generic(ins, {init}, maps, loops,
                      [&](OpBuilder &b, Location loc, ValueRange arguments) {
                        auto used =
                            usesInit ? arguments : arguments.drop_back();
                        Value out = exactOp(p, b, loc, used);
                        linalg::YieldOp::create(b, loc, out);
                      });
  return p.add(op.getResult(0), kExact);
}

/// One, two or three operands, also the same; the result anywhere.
bool mlir::dist::test::makeExactWork(RandomProgram &p) {
  Value x = pickValue(p);
  SmallVector<Value> ins{x};
  for (unsigned more = p.c.below(3); more > 0; --more)
    ins.push_back(p.c.chance(20) ? x : pickLike(p, x));
  RankedTensorType type = p.typeOf(x);
  elementwise(p, ins, p.pickInit(type.getShape(), type.getElementType()),
              false);
  return true;
}

/// Into a value that others may still read.
bool mlir::dist::test::makeAccumulation(RandomProgram &p) {
  Value into = pickValue(p);
  Value x = p.c.chance(15) ? into : pickLike(p, into);
  Value out = elementwise(p, {x}, into, true);
  for (unsigned more = p.c.below(3); more > 0; --more)
    out = elementwise(p, {pickLike(p, out)}, out, true);
  return true;
}

/// Reads one operand at its place and beside it, maybe to write it.
bool mlir::dist::test::makeShiftedRead(RandomProgram &p) {
  Value x = p.pickTensor(1, 3);
  RankedTensorType type = p.typeOf(x);
  unsigned rank = type.getRank(), dim = p.c.below(rank);
  int64_t size = type.getDimSize(dim);
  if (type.getNumElements() == 0)
    return false;
  int64_t shift = 1 + p.c.below(3);
  Value init = p.c.chance(60) ? x : pickLike(p, x);
  auto identity = p.b.getMultiDimIdentityMap(rank);
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  auto op = p.generic(
      {}, {init}, {identity}, loops,
      [&](OpBuilder &b, Location loc, ValueRange arguments) {
        SmallVector<Value> at;
        for (unsigned d = 0; d < rank; ++d)
          at.push_back(linalg::IndexOp::create(b, loc, d));
        Value moved = arith::AddIOp::create(
            b, loc, at[dim], arith::ConstantIndexOp::create(b, loc, shift));
        at[dim] = arith::RemUIOp::create(
            b, loc, moved, arith::ConstantIndexOp::create(b, loc, size));
        Value beside = tensor::ExtractOp::create(b, loc, x, at);
        Value out = exactOp(p, b, loc, {beside, arguments[0]});
        linalg::YieldOp::create(b, loc, out);
      });
  p.add(op.getResult(0), kExact);
  return true;
}

/// Maximum, minimum or sum over the last dimension, into a value that is there
/// or one that is filled, and often spread out again.
bool mlir::dist::test::makeRowReduction(RandomProgram &p) {
  Value x = p.pickTensor(1, 3);
  RankedTensorType type = p.typeOf(x);
  Type element = type.getElementType();
  unsigned rank = type.getRank();
  ArrayRef<int64_t> rows = type.getShape().drop_back();
  Value init =
      p.c.chance(50) ? p.filled(rows, element, 1) : p.getTensor(rows, element);
  auto whole = p.b.getMultiDimIdentityMap(rank);
  auto reduced = whole.dropResult(rank - 1);
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  loops.back() = utils::IteratorType::reduction;
  unsigned kind = p.c.below(2);
  auto op = p.generic(
      {x}, {init}, {whole, reduced}, loops,
      [&](OpBuilder &b, Location loc, ValueRange xs) {
        Value out;
        if (isa<FloatType>(element))
          out =
              kind
                  ? arith::MaximumFOp::create(b, loc, xs[0], xs[1]).getResult()
                  : arith::MinimumFOp::create(b, loc, xs[0], xs[1]).getResult();
        else
          out = kind ? arith::AddIOp::create(b, loc, xs[0], xs[1]).getResult()
                     : arith::XOrIOp::create(b, loc, xs[0], xs[1]).getResult();
        linalg::YieldOp::create(b, loc, out);
      });
  Value row = p.add(op.getResult(0), kExact);
  if (!p.c.chance(60))
    return true;
  loops.back() = utils::IteratorType::parallel;
  Value out = p.c.chance(50) ? x : p.empty(type.getShape(), element);
  auto spread = p.generic({x, row}, {out}, {whole, reduced, whole}, loops,
                          [&](OpBuilder &b, Location loc, ValueRange xs) {
                            Value made = exactOp(p, b, loc, {xs[0], xs[1]});
                            linalg::YieldOp::create(b, loc, made);
                          });
  p.add(spread.getResult(0), kExact);
  return true;
}

/// A product of matrices, added to what is there or not.
bool mlir::dist::test::makeExactProduct(RandomProgram &p) {
  Value a = p.pickTensor(2, 2);
  RankedTensorType type = p.typeOf(a);
  Type element = type.getElementType();
  if (element.isInteger(1) || element.isIndex() || element.isBF16())
    return false;
  int64_t columns = p.pickSize();
  Value b = p.getTensor({type.getDimSize(1), columns}, element);
  SmallVector<int64_t> shape{type.getDimSize(0), columns};
  Value init = p.c.chance(50) ? p.getTensor(shape, element)
                              : p.filled(shape, element, 0);
  Value product =
      linalg::MatmulOp::create(p.b, p.loc, ValueRange{a, b}, ValueRange{init})
          .getResult(0);
  if (!isa<FloatType>(element)) {
    p.add(product, kExact);
    return true;
  }
  // Sixteenths become quarters again.
  auto identity = p.b.getMultiDimIdentityMap(2);
  SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  Value out = p.empty(shape, element);
  auto op =
      p.generic({product}, {out}, {identity, identity}, loops,
                [&](OpBuilder &b, Location loc, ValueRange xs) {
                  auto constant = [&](double number) {
                    return arith::ConstantOp::create(
                        b, loc, b.getFloatAttr(element, number));
                  };
                  Value value = clamp(b, loc, xs[0]);
                  value = arith::MulFOp::create(b, loc, value, constant(4));
                  value = math::FloorOp::create(b, loc, value);
                  value = arith::MulFOp::create(b, loc, value, constant(0.25));
                  linalg::YieldOp::create(b, loc, value);
                });
  p.add(op.getResult(0), kExact);
  return true;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

namespace {
/// A part of a tensor that may begin where only running tells.
struct Part {
  SmallVector<OpFoldResult> offsets, sizes, strides;
  SmallVector<int64_t> shape;
};
} // namespace

static Part pickPart(RandomProgram &p, ArrayRef<int64_t> shape) {
  Part part;
  for (int64_t size : shape) {
    int64_t length = p.c.chance(40) ? size : 1 + p.c.below(size);
    OpFoldResult offset = p.b.getIndexAttr(0);
    if (length < size)
      offset =
          p.c.chance(50)
              ? OpFoldResult(pickIndex(p, size - length + 1))
              : OpFoldResult(p.b.getIndexAttr(p.c.below(size - length + 1)));
    part.offsets.push_back(offset);
    part.sizes.push_back(p.b.getIndexAttr(length));
    part.strides.push_back(p.b.getIndexAttr(1));
    part.shape.push_back(length);
  }
  return part;
}

/// Slices of one tensor after another, into one after another: neighbours,
/// overlapping ones, and what is read between.
bool mlir::dist::test::makeSliceChain(RandomProgram &p) {
  Value into = p.pickTensor(1, 3);
  RankedTensorType type = p.typeOf(into);
  if (type.getNumElements() == 0)
    return false;
  for (unsigned left = 1 + p.c.below(4); left > 0; --left) {
    Part part = pickPart(p, type.getShape());
    Value source;
    switch (p.c.below(3)) {
    case 0:
      source = p.getTensor(part.shape, type.getElementType());
      break;
    case 1: { // from the same tensor, elsewhere
      Part from = pickPart(p, type.getShape());
      from.sizes = part.sizes;
      for (auto [dim, size] : llvm::enumerate(type.getShape()))
        from.offsets[dim] =
            p.b.getIndexAttr(p.c.below(size - part.shape[dim] + 1));
      source = tensor::ExtractSliceOp::create(
          p.b, p.loc, p.c.chance(70) ? into : pickLike(p, into), from.offsets,
          from.sizes, from.strides);
      if (p.c.chance(30))
        p.add(source, kExact);
      break;
    }
    case 2: // computed in its place
      source = tensor::ExtractSliceOp::create(p.b, p.loc, into, part.offsets,
                                              part.sizes, part.strides);
      source = elementwise(p, {p.getTensor(part.shape, type.getElementType())},
                           source, true);
      break;
    }
    into = tensor::InsertSliceOp::create(p.b, p.loc, source, into, part.offsets,
                                         part.sizes, part.strides);
    if (p.c.chance(50))
      p.add(into, kExact);
  }
  p.add(into, kExact);
  return true;
}

/// A slice that begins where only running tells, and an element put in.
bool mlir::dist::test::makeMovingSlice(RandomProgram &p) {
  Value x = p.pickTensor(1, 3);
  RankedTensorType type = p.typeOf(x);
  if (type.getNumElements() == 0)
    return false;
  if (p.c.chance(40)) {
    SmallVector<Value> at;
    for (int64_t size : type.getShape())
      at.push_back(pickIndex(p, size));
    Value number = tensor::ExtractOp::create(p.b, p.loc, pickLike(p, x), at);
    if (p.c.chance(50))
      std::reverse(at.begin(), at.end());
    for (auto [value, size] : llvm::zip_equal(at, type.getShape()))
      value = arith::RemUIOp::create(p.b, p.loc, value, index(p, size));
    p.add(tensor::InsertOp::create(p.b, p.loc, number, x, at), kExact);
    return true;
  }
  Part part = pickPart(p, type.getShape());
  p.add(tensor::ExtractSliceOp::create(p.b, p.loc, x, part.offsets, part.sizes,
                                       part.strides),
        kExact);
  return true;
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

/// One to three values, often of one type, that something hands on.
static SmallVector<Value> pickHanded(RandomProgram &p) {
  SmallVector<Value> out{pickValue(p)};
  for (unsigned more = p.c.below(3); more > 0; --more)
    out.push_back(p.c.chance(70) ? pickLike(p, out[0]) : pickValue(p));
  return out;
}

/// What takes the place of `handed`: any value of its type that is visible, be
/// it from outside, or a new one.
static Value pickNext(RandomProgram &p, Value handed) {
  switch (p.c.below(4)) {
  case 0:
    return handed;
  case 1:
    return elementwise(p, {pickLike(p, handed)}, handed, p.c.chance(70));
  default:
    if (Value value =
            p.find([&](Value v) { return v.getType() == handed.getType(); }))
      return value;
    return handed;
  }
}

static SmallVector<Value> pickNext(RandomProgram &p, ArrayRef<Value> handed) {
  SmallVector<Value> out;
  for (Value value : handed)
    out.push_back(pickNext(p, value));
  // Also in other places.
  for (size_t i = 0; i + 1 < out.size(); ++i)
    if (out[i].getType() == out[i + 1].getType() && p.c.chance(30))
      std::swap(out[i], out[i + 1]);
  return out;
}

static void addAll(RandomProgram &p, ValueRange values) {
  for (Value value : values)
    if (isa<RankedTensorType>(value.getType()))
      p.add(value, kExact);
}

static SmallVector<Type> typesOf(ArrayRef<Value> values) {
  SmallVector<Type> out;
  for (Value value : values)
    out.push_back(value.getType());
  return out;
}

/// Reads one of the values that were handed on, under its old name or its new
/// one, in another order than the next op writes the other. An op that takes
/// them for different memory computes them together.
static void disturb(RandomProgram &p, ValueRange results,
                    ArrayRef<Value> handed) {
  SmallVector<Value> names(handed);
  for (Value result : results)
    if (isa<RankedTensorType>(result.getType()))
      names.push_back(result);
  for (unsigned times = p.c.below(3); times > 0; --times) {
    Value read = names[p.c.below(names.size())];
    RankedTensorType type = p.typeOf(read);
    int64_t rank = type.getRank();
    SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
    // Across, and backwards.
    std::vector<int64_t> order = p.c.permutation(rank);
    SmallVector<AffineExpr> from;
    SmallVector<int64_t> shape(rank);
    for (int64_t dim = 0; dim < rank; ++dim) {
      from.push_back(p.dim(order[dim]));
      shape[order[dim]] = type.getDimSize(dim);
    }
    Value seen =
        p.generic({read}, {p.empty(shape, type.getElementType())},
                  {p.map(rank, from), p.b.getMultiDimIdentityMap(rank)}, loops,
                  [&](OpBuilder &b, Location loc, ValueRange xs) {
                    Value out = exactOp(p, b, loc, {xs[0], xs[0]});
                    linalg::YieldOp::create(b, loc, out);
                  })
            .getResult(0);
    p.add(seen, kExact);
    // Together pays where the one needs what the other makes.
    Value into = names[p.c.below(names.size())];
    Value with = p.c.chance(60) && seen.getType() == into.getType() ? seen
                 : p.c.chance(50) ? pickLike(p, into)
                                  : into;
    elementwise(p, {with}, into, true);
  }
}

/// A way that a branch may go.
static void fillWay(RandomProgram &p, Region &region, ArrayRef<Value> handed) {
  p.scope([&] {
    if (region.empty())
      p.b.createBlock(&region);
    p.b.setInsertionPointToStart(&region.front());
    p.grow(p.c.below(3));
    scf::YieldOp::create(p.b, p.loc, pickNext(p, handed));
  });
}

bool mlir::dist::test::makeSharingBranch(RandomProgram &p) {
  if (p.depth > 2)
    return false;
  SmallVector<Value> handed = pickHanded(p);
  if (p.c.chance(30)) {
    SmallVector<int64_t> cases{0, 1};
    if (p.c.chance(50))
      cases.push_back(2);
    Value number = pickIndex(p, 3);
    auto branch = scf::IndexSwitchOp::create(p.b, p.loc, typesOf(handed),
                                             number, cases, cases.size());
    for (Region &region : branch->getRegions())
      fillWay(p, region, handed);
    addAll(p, branch.getResults());
    disturb(p, branch.getResults(), handed);
    return true;
  }
  Value condition = pickCondition(p);
  auto branch = scf::IfOp::create(p.b, p.loc, typesOf(handed), condition, true);
  fillWay(p, branch.getThenRegion(), handed);
  fillWay(p, branch.getElseRegion(), handed);
  addAll(p, branch.getResults());
  disturb(p, branch.getResults(), handed);
  return true;
}

bool mlir::dist::test::makeSelection(RandomProgram &p) {
  Value x = pickValue(p), y = pickLike(p, x);
  Value out = arith::SelectOp::create(p.b, p.loc, pickCondition(p), x, y);
  p.add(out, kExact);
  disturb(p, out, {x, y});
  return true;
}

bool mlir::dist::test::makeSharingLoop(RandomProgram &p) {
  if (p.depth > 1)
    return false;
  SmallVector<Value> inits = pickHanded(p);
  int64_t count = p.c.below(5), step = 1 + p.c.below(2);
  Value high = p.c.chance(50) ? index(p, count) : pickIndex(p, count + 1);
  auto loop =
      scf::ForOp::create(p.b, p.loc, index(p, 0), high, index(p, step), inits);
  p.scope([&] {
    p.b.setInsertionPointToStart(loop.getBody());
    p.indices.push_back({loop.getInductionVar(), std::max<int64_t>(count, 1)});
    SmallVector<Value> carried(loop.getRegionIterArgs());
    addAll(p, carried);
    p.grow(p.c.below(3));
    scf::YieldOp::create(p.b, p.loc, pickNext(p, carried));
  });
  addAll(p, loop.getResults());
  disturb(p, loop.getResults(), inits);
  return true;
}

bool mlir::dist::test::makeSharingWhile(RandomProgram &p) {
  if (p.depth > 1)
    return false;
  SmallVector<Value> handed = pickHanded(p);
  SmallVector<Value> inits{index(p, 0)};
  llvm::append_range(inits, handed);
  Value limit = pickIndex(p, 4), one = index(p, 1);
  SmallVector<Type> types = typesOf(inits);
  auto loop = scf::WhileOp::create(p.b, p.loc, types, inits);
  SmallVector<Location> places(types.size(), p.loc);
  auto fill = [&](Region &region, auto end) {
    p.scope([&] {
      Block *block = p.b.createBlock(&region, {}, types, places);
      SmallVector<Value> carried(block->getArguments().drop_front());
      addAll(p, carried);
      p.grow(p.c.below(2));
      SmallVector<Value> next = pickNext(p, carried);
      end(block->getArgument(0), next);
    });
  };
  fill(loop.getBefore(), [&](Value count, SmallVector<Value> &next) {
    Value goes = arith::CmpIOp::create(p.b, p.loc, arith::CmpIPredicate::slt,
                                       count, limit);
    next.insert(next.begin(), count);
    scf::ConditionOp::create(p.b, p.loc, goes, next);
  });
  fill(loop.getAfter(), [&](Value count, SmallVector<Value> &next) {
    next.insert(next.begin(),
                arith::AddIOp::create(p.b, p.loc, count, one).getResult());
    scf::YieldOp::create(p.b, p.loc, next);
  });
  addAll(p, loop.getResults());
  disturb(p, loop.getResults(), handed);
  return true;
}

/// A function that hands its arguments back, changed or not, called with values
/// that are used again, also one value twice.
bool mlir::dist::test::makeSharingCall(RandomProgram &p) {
  if (p.depth > 0 || p.functions > 2)
    return false;
  SmallVector<Value> operands = pickHanded(p);
  func::FuncOp caller = p.function;
  func::FuncOp callee =
      p.makeFunction("f" + std::to_string(p.functions++), true);
  SmallVector<Value> outside;
  SmallVector<std::pair<Value, int64_t>> outsideIndices;
  std::swap(outside, p.values);
  std::swap(outsideIndices, p.indices);
  {
    OpBuilder::InsertionGuard guard(p.b);
    // What is within must not ask for further arguments.
    p.isClosed = true;
    p.depth += 2;
    p.function = callee;
    Block &body = callee.getBody().front();
    for (Value operand : operands)
      body.addArgument(operand.getType(), p.loc);
    p.b.setInsertionPointToStart(&body);
    SmallVector<Value> handed(body.getArguments());
    addAll(p, handed);
    SmallVector<Value> results = pickNext(p, handed);
    if (p.c.chance(30))
      results.push_back(results[0]);
    func::ReturnOp::create(p.b, p.loc, results);
    callee.setType(
        p.b.getFunctionType(body.getArgumentTypes(), typesOf(results)));
    p.function = caller;
    p.depth -= 2;
    p.isClosed = false;
  }
  std::swap(outside, p.values);
  std::swap(outsideIndices, p.indices);
  for (unsigned calls = 1 + p.c.below(2); calls > 0; --calls) {
    auto call = func::CallOp::create(p.b, p.loc, callee, operands);
    addAll(p, call.getResults());
    disturb(p, call.getResults(), operands);
    for (Value &operand : operands)
      operand = p.c.chance(30) && operand.getType() == operands[0].getType()
                    ? operands[0]
                    : pickLike(p, operand);
  }
  return true;
}

static const NamedFamily kFamilies[] = {
    {"work", 5, makeExactWork},
    {"accumulation", 5, makeAccumulation},
    {"shifted-read", 2, makeShiftedRead},
    {"row-reduction", 2, makeRowReduction},
    {"product", 1, makeExactProduct},
    {"slice-chain", 4, makeSliceChain},
    {"moving-slice", 2, makeMovingSlice},
    {"sharing-branch", 4, makeSharingBranch},
    {"selection", 2, makeSelection},
    {"sharing-loop", 4, makeSharingLoop},
    {"sharing-while", 2, makeSharingWhile},
    {"sharing-call", 2, makeSharingCall},
    {"transpose", 1, makeTranspose},
    {"broadcast", 1, makeBroadcast},
    {"reshape", 3, makeReshape},
    {"slice", 2, makeSlice},
    {"insert", 2, makeInsert},
    {"concat", 1, makeConcat},
    {"pad", 1, makePad},
    {"gather", 1, makeGather},
    {"scatter", 1, makeScatter},
};

llvm::ArrayRef<NamedFamily> mlir::dist::test::getBufferFamilies() {
  return kFamilies;
}
