//===- LinalgAdjoints.cpp - The adjoint of every linalg op ----------------===//
//
// One rule: the body is differentiated as scalar code, and the contribution to
// an operand is one linalg.generic over the same loops. Its inputs are what the
// derivative uses and the cotangents, its output map is the operand's, and
// loops that this lacks, or has within a window, are summed.
//
// What a result accumulates by additions reaches all iterations alike; of a
// maximum or minimum those get a share that attain it: of a window the first
// one, else all the same (PyTorch's max_pool and amax).
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

  LogicalResult seedResult(OpResult result, Value yielded);
  LogicalResult seedExtreme(OpResult result, Operation *combiner);
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

LogicalResult LinalgAdjoint::seedExtreme(OpResult result, Operation *combiner) {
  unsigned number = op.getNumDpsInputs() + result.getResultNumber();
  Value out = block.getArgument(number);
  Value compared = combiner->getOperand(combiner->getOperand(0) == out);
  SmallVector<Operation *> ops;
  llvm::SmallBitVector used;
  findSlice(compared, ops, used);
  OpOperand *init = op.getDpsInitOperand(result.getResultNumber());
  if (adjoints.isActive(init->get()) || used.test(number))
    return op->emitOpError("accumulates a maximum or minimum onto what varies, "
                           "or of what it accumulated: its derivative is not "
                           "known; combine them in an op of their own");
  if (op->getNumResults() != 1)
    return op->emitOpError("reduces a maximum or minimum together with other "
                           "results: its derivative is not known; take it "
                           "apart into an op for each result");
  AffineMap map = op.getMatchingIndexingMap(init);
  OpBuilder scalar = atEnd();
  Value extreme = addSource({result, map});
  Value cotangent = addSource({adjoints.lookup(result), map});
  Value attains = arith::CmpFOp::create(scalar, loc, arith::CmpFPredicate::OEQ,
                                        compared, extreme);
  Value zero = createConstantLike(scalar, loc, cotangent, 0);
  // A window: some tensor has several loops in one dimension.
  bool isWindow = llvm::any_of(op.getIndexingMapsArray(), [](AffineMap map) {
    return llvm::any_of(map.getResults(), [](AffineExpr expr) {
      return !isa<AffineDimExpr, AffineConstantExpr>(expr);
    });
  });
  Value share;
  if (isWindow) {
    SmallVector<int64_t> ranges = op.getStaticLoopRanges();
    for (unsigned loop : ArrayRef(reductionLoops).drop_front())
      if (ShapedType::isDynamic(ranges[loop]))
        return op->emitOpError("has a window of which the size is not known: "
                               "bind it (--dist-bind-sizes)");
    Value here = createLocation(scalar);
    TypedAttr last = scalar.getI64IntegerAttr(INT64_MAX);
    Value none = arith::ConstantOp::create(scalar, loc, last);
    Value place = arith::SelectOp::create(scalar, loc, attains, here, none);
    Value first = reduce(
        place, map, result, b.getI64Type(),
        [&](OpBuilder &b, Value left, Value right) -> Value {
          return arith::MinSIOp::create(b, loc, left, right);
        },
        last);
    Value chosen = addSource({first, map});
    Value isFirst = arith::CmpIOp::create(scalar, loc, arith::CmpIPredicate::eq,
                                          here, chosen);
    share = cotangent;
    attains = isFirst;
  } else {
    Value one = createConstantLike(scalar, loc, cotangent, 1);
    Value counted = arith::SelectOp::create(scalar, loc, attains, one, zero);
    Value count = reduce(
        counted, map, result, getElementTypeOrSelf(result.getType()),
        [&](OpBuilder &b, Value left, Value right) -> Value {
          return arith::AddFOp::create(b, loc, left, right);
        },
        b.getFloatAttr(getElementTypeOrSelf(result.getType()), 0));
    share =
        arith::DivFOp::create(scalar, loc, cotangent, addSource({count, map}));
  }
  share = arith::SelectOp::create(scalar, loc, attains, share, zero);
  scalars.add(scalar, loc, compared, share);
  return success();
}

LogicalResult LinalgAdjoint::seedResult(OpResult result, Value yielded) {
  Value cotangent = adjoints.lookup(result);
  if (!cotangent)
    return success();
  OpOperand *init = op.getDpsInitOperand(result.getResultNumber());
  BlockArgument out =
      block.getArgument(op.getNumDpsInputs() + result.getResultNumber());
  if (!reductionLoops.empty())
    if (Operation *combiner = yielded.getDefiningOp();
        combiner && combiner->getBlock() == &block &&
        llvm::is_contained(combiner->getOperands(), out) &&
        isa<arith::MaximumFOp, arith::MaxNumFOp, arith::MinimumFOp,
            arith::MinNumFOp>(combiner))
      return seedExtreme(result, combiner);
  OpBuilder scalar = atEnd();
  scalars.add(scalar, loc, yielded,
              addSource({cotangent, op.getMatchingIndexingMap(init)}));
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
    auto wide = cast<RankedTensorType>(made.getType());
    AffineMap identity = b.getMultiDimIdentityMap(wide.getRank());
    SmallVector<utils::IteratorType> loops(wide.getRank(),
                                           utils::IteratorType::parallel);
    Value empty = tensor::EmptyOp::create(
        b, loc, tensor::getMixedSizes(b, loc, made), element);
    made = linalg::GenericOp::create(
               b, loc, empty.getType(), made, empty,
               ArrayRef<AffineMap>{identity, identity}, loops,
               [&](OpBuilder &b, Location loc, ValueRange args) {
                 Value narrow =
                     arith::TruncFOp::create(b, loc, element, args[0]);
                 linalg::YieldOp::create(b, loc, narrow);
               })
               .getResult(0);
  }
  if (!isa<RankedTensorType>(value.getType()))
    made = tensor::ExtractOp::create(b, loc, made, ValueRange());
  adjoints.add(b, loc, value, made);
}

LogicalResult LinalgAdjoint::run() {
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

namespace {
template <typename OpTy>
struct LinalgModel
    : DifferentiableOpInterface::ExternalModel<LinalgModel<OpTy>, OpTy> {
  LogicalResult addAdjoints(Operation *op, OpBuilder &b,
                            Adjoints &adjoints) const {
    return LinalgAdjoint(cast<linalg::LinalgOp>(op), b, adjoints).run();
  }
};

/// The inverse permutation.
struct TransposeModel
    : DifferentiableOpInterface::ExternalModel<TransposeModel,
                                               linalg::TransposeOp> {
  LogicalResult addAdjoints(Operation *op, OpBuilder &b,
                            Adjoints &adjoints) const {
    auto transpose = cast<linalg::TransposeOp>(op);
    Value input = transpose.getInput();
    if (!adjoints.isActive(input))
      return success();
    Location loc = op->getLoc();
    auto type = cast<RankedTensorType>(input.getType());
    Value empty = tensor::EmptyOp::create(
        b, loc, tensor::getMixedSizes(b, loc, input), type.getElementType());
    auto made = linalg::TransposeOp::create(
        b, loc, adjoints.lookup(op->getResult(0)), empty,
        invertPermutationVector(transpose.getPermutation()));
    adjoints.add(b, loc, input, made->getResult(0));
    return success();
  }
};

template <typename... Ops> struct Models {
  static void attach(MLIRContext *context) {
    (attachIfLinalg<Ops>(context), ...);
  }
  template <typename OpTy> static void attachIfLinalg(MLIRContext *context) {
    if constexpr (std::is_same_v<OpTy, linalg::TransposeOp>)
      OpTy::template attachInterface<TransposeModel>(*context);
    else if constexpr (OpTy::template hasTrait<linalg::LinalgOp::Trait>())
      OpTy::template attachInterface<LinalgModel<OpTy>>(*context);
  }
};
} // namespace

void mlir::dist::registerLinalgAdjoints(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    Models<
#define GET_OP_LIST
#include "mlir/Dialect/Linalg/IR/LinalgStructuredOps.cpp.inc"
        >::attach(context);
  });
}
