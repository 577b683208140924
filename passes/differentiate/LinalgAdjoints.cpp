//===- LinalgAdjoints.cpp - The adjoint of every linalg op ----------------===//
//
// One rule: the body is differentiated as scalar code, and the contribution to
// an operand is one linalg.generic over the same loops. Its inputs are what the
// derivative uses and the cotangents, its output map is the operand's, and
// loops that this lacks, or has within a window, are summed.
//
// What a result accumulates by additions reaches all iterations alike; of a
// maximum or minimum those get a share that attain it: of a window, and where
// its place is found as well, the first one, else all the same (PyTorch's
// max_pool, max and amax). Of what is overwritten the last one counts.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/IRMapping.h"
#include "passes/differentiate/Models.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dist;

Value mlir::dist::createZeros(OpBuilder &b, Location loc, Value like) {
  return createConstantLike(b, loc, like, 0);
}

Value mlir::dist::mapElements(
    OpBuilder &b, Location loc, ValueRange inputs, Type element,
    function_ref<Value(OpBuilder &, ValueRange)> function) {
  auto type = cast<RankedTensorType>(inputs.front().getType());
  SmallVector<AffineMap> maps(inputs.size() + 1,
                              b.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  Value empty = tensor::EmptyOp::create(
      b, loc, tensor::getMixedSizes(b, loc, inputs.front()), element);
  return linalg::GenericOp::create(
             b, loc, empty.getType(), inputs, empty, maps, loops,
             [&](OpBuilder &b, Location loc, ValueRange args) {
               linalg::YieldOp::create(b, loc, function(b, args.drop_back()));
             })
      .getResult(0);
}

/// Which of the loops are dimensions of a tensor by themselves.
static llvm::SmallBitVector getOwnLoops(AffineMap map) {
  llvm::SmallBitVector loops(map.getNumDims());
  for (AffineExpr expr : map.getResults())
    if (auto loop = dyn_cast<AffineDimExpr>(expr))
      loops.set(loop.getPosition());
  return loops;
}

namespace {
/// What the new body reads: a value of the program, and how loops index it.
struct Source {
  Value value;
  AffineMap map;
};

/// The adjoint of one op.
class LinalgAdjoint {
public:
  LinalgAdjoint(linalg::LinalgOp op, OpBuilder &b, Adjoints &adjoints)
      : op(op), b(b), adjoints(adjoints), loc(op.getLoc()) {}

  LogicalResult run();

private:
  /// A block argument of the body under construction that stands for `source`.
  Value addSource(Source source) {
    sources.push_back(source);
    return block.addArgument(getElementTypeOrSelf(source.value.getType()), loc);
  }

  /// Adds to the body.
  OpBuilder atEnd() {
    OpBuilder scalar(b.getContext()); // the block has no parent to ask
    scalar.setInsertionPointToEnd(&block);
    return scalar;
  }

  /// What a result is made of: of what it was so far and `value`.
  struct Step {
    enum Kind {
      Other,
      Sum,     ///< plus `value`, if `condition` holds
      Extreme, ///< the larger, or the smaller
      First,   ///< the same, of which the first place is found as well
      Replace, ///< `value`, if `condition` holds
    } kind = Other;
    Value value, condition;
  };
  Step findStep(OpResult result, Value yielded);
  BlockArgument getOut(OpResult result) {
    return block.getArgument(op.getNumDpsInputs() + result.getResultNumber());
  }
  AffineMap getMap(OpResult result) {
    return op.getMatchingIndexingMap(
        op.getDpsInitOperand(result.getResultNumber()));
  }
  LogicalResult seedResult(OpResult result, Value yielded);
  LogicalResult seedExtreme(OpResult result, Step step);
  LogicalResult seedReplaced(OpResult result, Step step);
  LogicalResult checkRanges();
  bool readsOuts(Value value);
  Value findPlace(Value condition, OpResult result, bool isLast);
  Value createLocation(OpBuilder &b);
  /// The ops of the body that `value` is made by, in order, and the sources.
  void findSlice(Value value, SmallVectorImpl<Operation *> &ops,
                 llvm::SmallBitVector &used);
  Value reduce(Value scalar, AffineMap outMap, Value like, Type element,
               function_ref<Value(OpBuilder &, Value, Value)> combine,
               TypedAttr neutral);
  Value contract(Value scalar, AffineMap outMap, Value like);
  void contribute(OpOperand &operand, Value derivative);
  LogicalResult checkAccumulators();

  linalg::LinalgOp op;
  OpBuilder &b;
  Adjoints &adjoints;
  Location loc;
  /// The op's body with its derivative after it, in no op.
  Block block;
  SmallVector<Source> sources;
  SmallVector<unsigned> reductionLoops;
  /// The number of this iteration, where it was asked for.
  Value here;
  Adjoints scalars;
};
} // namespace

void LinalgAdjoint::findSlice(Value value, SmallVectorImpl<Operation *> &ops,
                              llvm::SmallBitVector &used) {
  used.resize(sources.size());
  llvm::SmallPtrSet<Operation *, 16> reached;
  SmallVector<Value> worklist{value};
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(next)) {
      if (argument.getOwner() == &block)
        used.set(argument.getArgNumber());
      continue;
    }
    Operation *maker = next.getDefiningOp();
    if (maker->getBlock() == &block && reached.insert(maker).second)
      llvm::append_range(worklist, maker->getOperands());
  }
  for (Operation &nested : block)
    if (reached.contains(&nested))
      ops.push_back(&nested);
}

/// A linalg op over the loops of the body whose result has the sizes of `like`
/// and the dimensions `outMap`: `scalar`, combined over loops that this lacks.
Value LinalgAdjoint::reduce(
    Value scalar, AffineMap outMap, Value like, Type element,
    function_ref<Value(OpBuilder &, Value, Value)> combine, TypedAttr neutral) {
  // A cotangent that passes as it is.
  if (auto argument = dyn_cast<BlockArgument>(scalar);
      argument && outMap.isPermutation() &&
      sources[argument.getArgNumber()].map == outMap)
    return sources[argument.getArgNumber()].value;
  SmallVector<Operation *> ops;
  llvm::SmallBitVector used;
  findSlice(scalar, ops, used);

  // A loop that nothing has a dimension of would have no size.
  llvm::SmallBitVector covered = getOwnLoops(outMap);
  for (unsigned i : used.set_bits())
    covered |= getOwnLoops(sources[i].map);
  for (unsigned i = 0; i < sources.size() && !covered.all(); ++i) {
    llvm::SmallBitVector own = getOwnLoops(sources[i].map);
    if (!own.test(covered)) // has none that is not covered
      continue;
    used.set(i);
    covered |= own;
  }

  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (unsigned i : used.set_bits()) {
    inputs.push_back(sources[i].value);
    maps.push_back(sources[i].map);
  }
  maps.push_back(outMap);
  // A loop is parallel if different iterations write different elements.
  SmallVector<utils::IteratorType> loops(outMap.getNumDims(),
                                         utils::IteratorType::reduction);
  for (unsigned loop : getOwnLoops(outMap).set_bits())
    loops[loop] = utils::IteratorType::parallel;
  for (AffineExpr expr : outMap.getResults())
    if (!isa<AffineDimExpr>(expr))
      for (unsigned loop = 0; loop < outMap.getNumDims(); ++loop)
        if (expr.isFunctionOfDim(loop))
          loops[loop] = utils::IteratorType::reduction;
  bool isWritten = outMap.isPermutation();

  auto shape = dyn_cast<RankedTensorType>(like.getType());
  SmallVector<OpFoldResult> sizes;
  if (shape)
    sizes = tensor::getMixedSizes(b, loc, like);
  Value init = tensor::EmptyOp::create(b, loc, sizes, element);
  if (!isWritten) {
    Value start = arith::ConstantOp::create(b, loc, neutral);
    init = linalg::FillOp::create(b, loc, start, init).getResult(0);
  }
  auto makeBody = [&](OpBuilder &b, Location loc, ValueRange args) {
    IRMapping mapping;
    for (auto [position, i] : llvm::enumerate(used.set_bits()))
      mapping.map(block.getArgument(i), args[position]);
    for (Operation *nested : ops)
      b.clone(*nested, mapping);
    Value made = mapping.lookupOrDefault(scalar);
    if (!isWritten)
      made = combine(b, args.back(), made);
    linalg::YieldOp::create(b, loc, made);
  };
  return linalg::GenericOp::create(b, loc, init.getType(), inputs, init, maps,
                                   loops, makeBody)
      .getResult(0);
}

/// The number of this iteration among those of one element of the result.
Value LinalgAdjoint::createLocation(OpBuilder &b) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  Value number;
  for (unsigned loop : reductionLoops) {
    Value index = linalg::IndexOp::create(b, loc, loop);
    if (number) {
      Value size = arith::ConstantIndexOp::create(b, loc, ranges[loop]);
      number = arith::MulIOp::create(b, loc, number, size);
      index = arith::AddIOp::create(b, loc, number, index);
    }
    number = index;
  }
  return arith::IndexCastOp::create(b, loc, b.getI64Type(), number);
}

/// How a result goes on from one iteration to the next.
LinalgAdjoint::Step LinalgAdjoint::findStep(OpResult result, Value yielded) {
  Value out = getOut(result);
  Operation *combiner = yielded.getDefiningOp();
  if (!combiner || combiner->getBlock() != &block ||
      !llvm::is_contained(combiner->getOperands(), out))
    return {};
  if (isa<arith::MaximumFOp, arith::MaxNumFOp, arith::MinimumFOp,
          arith::MinNumFOp>(combiner))
    return {Step::Extreme, combiner->getOperand(combiner->getOperand(0) == out),
            nullptr};
  auto select = dyn_cast<arith::SelectOp>(combiner);
  if (!select || select.getCondition() == out)
    return {};
  // What another value takes the place of under a condition, or the reverse.
  bool isOther = select.getTrueValue() == out;
  Value other = isOther ? select.getFalseValue() : select.getTrueValue();
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  if (compare && !isOther) {
    bool isGreater = llvm::is_contained(
        {arith::CmpFPredicate::OGT, arith::CmpFPredicate::UGT},
        compare.getPredicate());
    bool isLess = llvm::is_contained(
        {arith::CmpFPredicate::OLT, arith::CmpFPredicate::ULT},
        compare.getPredicate());
    if ((isGreater || isLess) && compare.getLhs() == other &&
        compare.getRhs() == out)
      return {Step::First, other, nullptr};
  }
  if (!isOther && select.getFalseValue() == out)
    if (auto sum = other.getDefiningOp<arith::AddFOp>();
        sum && llvm::is_contained(sum->getOperands(), out))
      return {Step::Sum, sum->getOperand(sum.getLhs() == out),
              select.getCondition()};
  return isOther ? Step() : Step{Step::Replace, other, select.getCondition()};
}

/// The place among the iterations of one element of the result where
/// `condition` holds, the last (else the first) one; -1 (else the largest
/// number) where it holds nowhere.
Value LinalgAdjoint::findPlace(Value condition, OpResult result, bool isLast) {
  OpBuilder scalar = atEnd();
  TypedAttr nowhere = scalar.getI64IntegerAttr(isLast ? -1 : INT64_MAX);
  Value none = arith::ConstantOp::create(scalar, loc, nowhere);
  here = createLocation(scalar);
  Value place = arith::SelectOp::create(scalar, loc, condition, here, none);
  AffineMap map = getMap(result);
  auto combine = [&](OpBuilder &b, Value left, Value right) -> Value {
    if (isLast)
      return arith::MaxSIOp::create(b, loc, left, right);
    return arith::MinSIOp::create(b, loc, left, right);
  };
  return addSource(
      {reduce(place, map, result, b.getI64Type(), combine, nowhere), map});
}

LogicalResult LinalgAdjoint::checkRanges() {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  for (unsigned loop : ArrayRef(reductionLoops).drop_front())
    if (ShapedType::isDynamic(ranges[loop]))
      return op->emitOpError("has a derivative that counts its iterations, of "
                             "which the number is not known: bind the size "
                             "(--dist-bind-sizes)");
  return success();
}

bool LinalgAdjoint::readsOuts(Value value) {
  SmallVector<Operation *> ops;
  llvm::SmallBitVector used;
  findSlice(value, ops, used);
  for (OpResult result : op->getResults())
    if (used.test(getOut(result).getArgNumber()))
      return true;
  return false;
}

LogicalResult LinalgAdjoint::seedExtreme(OpResult result, Step step) {
  OpOperand *init = op.getDpsInitOperand(result.getResultNumber());
  Value whole = adjoints.lookup(result);
  if (adjoints.isActive(init->get())) {
    // What it starts from stays where nothing exceeds it.
    auto split = [&](bool stays) {
      return mapElements(
          b, loc, {whole, init->get(), result},
          getElementTypeOrSelf(result.getType()),
          [&](OpBuilder &b, ValueRange args) -> Value {
            Value same = arith::CmpFOp::create(
                b, loc, arith::CmpFPredicate::OEQ, args[1], args[2]);
            Value zero = createConstantLike(b, loc, args[0], 0);
            return arith::SelectOp::create(b, loc, same, stays ? args[0] : zero,
                                           stays ? zero : args[0]);
          });
    };
    adjoints.add(b, loc, init->get(), split(true));
    whole = split(false);
  }
  AffineMap map = getMap(result);
  OpBuilder scalar = atEnd();
  Value extreme = addSource({result, map});
  Value cotangent = addSource({whole, map});
  Value attains = arith::CmpFOp::create(scalar, loc, arith::CmpFPredicate::OEQ,
                                        step.value, extreme);
  Value zero = createConstantLike(scalar, loc, cotangent, 0);
  // A window: some tensor has several loops in one dimension.
  bool isWindow = llvm::any_of(op.getIndexingMapsArray(), [](AffineMap map) {
    return llvm::any_of(map.getResults(), [](AffineExpr expr) {
      return !isa<AffineDimExpr, AffineConstantExpr>(expr);
    });
  });
  Value share = cotangent;
  if (isWindow || step.kind == Step::First) {
    if (failed(checkRanges()))
      return failure();
    Value first = findPlace(attains, result, false);
    attains = arith::CmpIOp::create(scalar, loc, arith::CmpIPredicate::eq, here,
                                    first);
  } else {
    Type element = getElementTypeOrSelf(result.getType());
    Value one = createConstantLike(scalar, loc, cotangent, 1);
    Value counted = arith::SelectOp::create(scalar, loc, attains, one, zero);
    Value count = reduce(
        counted, map, result, element,
        [&](OpBuilder &b, Value left, Value right) -> Value {
          return arith::AddFOp::create(b, loc, left, right);
        },
        b.getFloatAttr(element, 0));
    share =
        arith::DivFOp::create(scalar, loc, cotangent, addSource({count, map}));
  }
  share = arith::SelectOp::create(scalar, loc, attains, share, zero);
  scalars.add(scalar, loc, step.value, share);
  return success();
}

LogicalResult LinalgAdjoint::seedReplaced(OpResult result, Step step) {
  if (failed(checkRanges()))
    return failure();
  OpBuilder scalar = atEnd();
  Value last = findPlace(step.condition, result, true);
  Value cotangent = addSource({adjoints.lookup(result), getMap(result)});
  Value zero = createConstantLike(scalar, loc, cotangent, 0);
  Value counts =
      arith::CmpIOp::create(scalar, loc, arith::CmpIPredicate::eq, here, last);
  scalars.add(scalar, loc, step.value,
              arith::SelectOp::create(scalar, loc, counts, cotangent, zero));
  OpOperand *init = op.getDpsInitOperand(result.getResultNumber());
  if (!adjoints.isActive(init->get()))
    return success();
  // What is overwritten nowhere stays.
  auto places = sources[cast<BlockArgument>(last).getArgNumber()].value;
  Value passed = adjoints.lookup(result);
  Value kept = mapElements(
      b, loc, {passed, places}, getElementTypeOrSelf(passed.getType()),
      [&](OpBuilder &b, ValueRange args) -> Value {
        Value none = arith::ConstantIntOp::create(b, loc, -1, 64);
        Value stays = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                            args[1], none);
        return arith::SelectOp::create(b, loc, stays, args[0],
                                       createConstantLike(b, loc, args[0], 0));
      });
  adjoints.add(b, loc, init->get(), kept);
  return success();
}

LogicalResult LinalgAdjoint::seedResult(OpResult result, Value yielded) {
  Value cotangent = adjoints.lookup(result);
  if (!cotangent)
    return success();
  Step step = reductionLoops.empty() ? Step() : findStep(result, yielded);
  if (step.kind != Step::Other &&
      (readsOuts(step.value) || (step.condition && readsOuts(step.condition))))
    step = Step();
  OpBuilder scalar = atEnd();
  switch (step.kind) {
  case Step::Extreme:
  case Step::First:
    return seedExtreme(result, step);
  case Step::Replace:
    return seedReplaced(result, step);
  case Step::Sum: {
    // Where nothing is added the sum passes as it is.
    Value added = addSource({cotangent, getMap(result)});
    Value zero = createConstantLike(scalar, loc, added, 0);
    scalars.add(scalar, loc, getOut(result), added);
    scalars.add(
        scalar, loc, step.value,
        arith::SelectOp::create(scalar, loc, step.condition, added, zero));
    return success();
  }
  case Step::Other:
    break;
  }
  scalars.add(scalar, loc, yielded, addSource({cotangent, getMap(result)}));
  return success();
}

/// A sum of products is a contraction, which has names of its own for what
/// comes after; null where `scalar` is no product of two tensors.
Value LinalgAdjoint::contract(Value scalar, AffineMap outMap, Value like) {
  auto product = scalar.getDefiningOp<arith::MulFOp>();
  if (!product || outMap.isPermutation() || !outMap.isProjectedPermutation())
    return nullptr;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  llvm::SmallBitVector covered = getOwnLoops(outMap);
  for (Value factor : product->getOperands()) {
    auto argument = dyn_cast<BlockArgument>(factor);
    if (!argument || argument.getOwner() != &block)
      return nullptr;
    const Source &source = sources[argument.getArgNumber()];
    if (!source.map.isProjectedPermutation() ||
        !isa<RankedTensorType>(source.value.getType()))
      return nullptr;
    inputs.push_back(source.value);
    maps.push_back(source.map);
    covered |= getOwnLoops(source.map);
  }
  if (!covered.all())
    return nullptr;
  maps.push_back(outMap);
  return linalg::ContractOp::create(b, loc, inputs, createZeros(b, loc, like),
                                    b.getAffineMapArrayAttr(maps))
      ->getResult(0);
}

/// Adds to the cotangent of an operand: `derivative`, a scalar of the body.
void LinalgAdjoint::contribute(OpOperand &operand, Value derivative) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  Value value = operand.get();
  Type element = getElementTypeOrSelf(value.getType());
  // What is summed is rounded to a narrower type only after it.
  Type sumType = element;
  Value sum = derivative;
  if (auto narrowed = derivative.getDefiningOp<arith::TruncFOp>();
      narrowed && !map.isPermutation()) {
    sum = narrowed.getIn();
    sumType = sum.getType();
  }
  Value made = contract(sum, map, value);
  if (!made)
    made = reduce(
        sum, map, value, sumType,
        [&](OpBuilder &b, Value left, Value right) -> Value {
          return arith::AddFOp::create(b, loc, left, right);
        },
        b.getFloatAttr(sumType, 0));
  if (sumType != element) {
    made = mapElements(
        b, loc, made, element, [&](OpBuilder &b, ValueRange args) -> Value {
          return arith::TruncFOp::create(b, loc, element, args[0]);
        });
  }
  if (!isa<RankedTensorType>(value.getType()))
    made = tensor::ExtractOp::create(b, loc, made, ValueRange());
  adjoints.add(b, loc, value, made);
}

LogicalResult LinalgAdjoint::run() {
  if (readsAny(op, [&](Value value) {
        return value.getParentRegion() != &op->getRegion(0) &&
               adjoints.isActive(value) &&
               !llvm::is_contained(op->getOperands(), value);
      }))
    return op->emitOpError("reads what varies from within its body: its "
                           "derivative is not known");
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  for (auto [loop, iterator] : llvm::enumerate(iterators))
    if (iterator == utils::IteratorType::reduction)
      reductionLoops.push_back(loop);

  // The body: first the op's own, of which the active operands vary.
  IRMapping mapping;
  for (OpOperand &operand : op->getOpOperands()) {
    Value argument =
        addSource({operand.get(), op.getMatchingIndexingMap(&operand)});
    mapping.map(op.getMatchingBlockArgument(&operand), argument);
    if (adjoints.isActive(operand.get()))
      scalars.setActive(argument);
  }
  // An accumulator varies with what was accumulated.
  for (OpResult result : op->getResults())
    if (!reductionLoops.empty() && adjoints.isActive(result))
      scalars.setActive(
          block.getArgument(op.getNumDpsInputs() + result.getResultNumber()));
  OpBuilder scalar = atEnd();
  for (Operation &nested : op.getBlock()->without_terminator())
    scalar.clone(nested, mapping);
  scalars.spreadActivity(block);
  SmallVector<Operation *> ops;
  for (Operation &nested : block)
    ops.push_back(&nested);

  Operation *yield = op.getBlock()->getTerminator();
  for (OpResult result : op->getResults())
    if (failed(seedResult(result, mapping.lookupOrDefault(yield->getOperand(
                                      result.getResultNumber())))))
      return failure();
  scalar.setInsertionPointToEnd(&block);
  if (failed(scalars.reverse(scalar, ops)))
    return failure();

  if (!reductionLoops.empty() && failed(checkAccumulators()))
    return failure();
  for (OpOperand &operand : op->getOpOperands()) {
    if (!adjoints.isActive(operand.get()))
      continue;
    Value derivative =
        scalars.lookup(block.getArgument(operand.getOperandNumber()));
    if (!derivative)
      continue;
    if (!reductionLoops.empty() && op.isDpsInit(&operand))
      // Checked: what is accumulated onto is added as it is.
      adjoints.add(b, loc, operand.get(),
                   adjoints.lookup(op.getTiedOpResult(&operand)));
    else
      contribute(operand, derivative);
  }
  return success();
}

LogicalResult LinalgAdjoint::checkAccumulators() {
  llvm::SmallBitVector outs(op->getNumOperands());
  for (OpResult result : op->getResults()) {
    unsigned number = op.getNumDpsInputs() + result.getResultNumber();
    outs.set(number);
    Value through = scalars.lookup(block.getArgument(number));
    auto argument = dyn_cast_or_null<BlockArgument>(through);
    if (through && !(argument && sources[argument.getArgNumber()].value ==
                                     adjoints.lookup(result)))
      return op->emitOpError("accumulates in a way of which the derivative is "
                             "not known: it is of sums, maxima and minima");
  }
  for (OpOperand *input : op.getDpsInputOperands()) {
    Value derivative =
        scalars.lookup(block.getArgument(input->getOperandNumber()));
    if (!derivative)
      continue;
    SmallVector<Operation *> ops;
    llvm::SmallBitVector used;
    findSlice(derivative, ops, used);
    used.resize(op->getNumOperands());
    if (used.anyCommon(outs))
      return op->emitOpError("has a derivative that depends on what it has "
                             "accumulated before: it is known of sums, maxima "
                             "and minima");
  }
  return success();
}

LogicalResult mlir::dist::addLinalgAdjoints(linalg::LinalgOp op, OpBuilder &b,
                                            Adjoints &adjoints) {
  return LinalgAdjoint(op, b, adjoints).run();
}
