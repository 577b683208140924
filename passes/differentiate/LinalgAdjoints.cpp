//===- LinalgAdjoints.cpp - The adjoint of every linalg op ----------------===//
//
// One rule: the body is differentiated as scalar code, and the contribution to
// an operand is one linalg.generic over the same loops. Its inputs are the
// operands of the derivative and the cotangents; its output map is the
// operand's. Loops that this map lacks, or has within a window, are summed.
// Tensors that the body reads at computed positions get their derivatives added
// there.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "passes/differentiate/LinalgAdjoint.h"

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

/// The op that computes a tensor in loops over its elements and widens each at
/// the end; the ops behind the widening are left out.
static linalg::GenericOp getWidener(Value tensor) {
  while (auto follow = tensor.getDefiningOp<FollowOp>())
    tensor = follow.getOperand();
  auto maker = tensor.getDefiningOp<linalg::GenericOp>();
  if (!maker || maker->getNumResults() != 1 ||
      maker.getNumReductionLoops() != 0 ||
      !maker.getBody()->getArguments().back().use_empty() ||
      !maker.getIndexingMapsArray().back().isIdentity() ||
      !maker.getBody()
           ->getTerminator()
           ->getOperand(0)
           .getDefiningOp<arith::ExtFOp>())
    return {};
  return maker;
}

bool mlir::dist::isWidened(Value tensor) {
  return getWidener(tensor) != nullptr;
}

/// The tensor that a tensor is the widened elements of; null if it is not that.
Value LinalgAdjoint::getNarrow(Value tensor) {
  linalg::GenericOp maker = getWidener(tensor);
  if (!maker)
    return {};
  Value &narrow = narrowed[maker];
  if (narrow)
    return narrow;
  Operation *yield = maker.getBody()->getTerminator();
  auto widened = yield->getOperand(0).getDefiningOp<arith::ExtFOp>();
  if (widened.getIn() == maker.getBody()->getArgument(0) &&
      maker.getIndexingMapsArray().front().isIdentity())
    return narrow = maker.getInputs()[0];
  Type element = widened.getIn().getType();
  auto type = cast<RankedTensorType>(maker->getResult(0).getType());
  Value empty = tensor::EmptyOp::create(
      b, loc, tensor::getMixedSizes(b, loc, maker->getResult(0)), element);
  IRMapping mapping;
  auto made = cast<linalg::GenericOp>(b.clone(*maker, mapping));
  made.getOutputsMutable().assign(empty);
  made->getResult(0).setType(type.clone(element));
  Block &body = *made.getBody();
  body.getArguments().back().setType(element);
  Operation *inner = body.getTerminator()->getOperand(0).getDefiningOp();
  body.getTerminator()->setOperand(0, inner->getOperand(0));
  if (inner->use_empty())
    inner->erase();
  return narrow = made->getResult(0);
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

  // Sums read the tensor before it was widened: then both factors of a product
  // have the type that libraries multiply.
  bool isWritten = outMap.isPermutation();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (unsigned i : used.set_bits()) {
    Value narrow = isWritten ? Value() : getNarrow(sources[i].value);
    inputs.push_back(narrow ? narrow : sources[i].value);
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
    for (auto [position, i] : llvm::enumerate(used.set_bits())) {
      Value element = args[position];
      Type type = block.getArgument(i).getType();
      if (element.getType() != type)
        element = arith::ExtFOp::create(b, loc, type, element);
      mapping.map(block.getArgument(i), element);
    }
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

Value LinalgAdjoint::sumUp(Value scalar, AffineMap outMap, Value like,
                           Type element) {
  return reduce(
      scalar, outMap, like, element,
      [&](OpBuilder &b, Value left, Value right) {
        return createSum(b, loc, left, right);
      },
      b.getFloatAttr(element, 0));
}

/// A sum of products is a contraction, which later passes know by name; null if
/// `scalar` is no product of two tensors.
Value LinalgAdjoint::contract(Value scalar, AffineMap outMap, Value like,
                              Type element) {
  auto product = scalar.getDefiningOp<arith::MulFOp>();
  if (!product || outMap.isPermutation() || !outMap.isProjectedPermutation() ||
      !isa<RankedTensorType>(like.getType()))
    return nullptr;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  // A loop that is summed over must be one of both.
  llvm::SmallBitVector common(outMap.getNumDims(), true);
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
    common &= getOwnLoops(source.map);
  }
  common |= getOwnLoops(outMap);
  if (!common.all())
    return nullptr;
  maps.push_back(outMap);
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(element));
  Value empty = tensor::EmptyOp::create(
      b, loc, tensor::getMixedSizes(b, loc, like), element);
  Value init = linalg::FillOp::create(b, loc, zero, empty).getResult(0);
  return linalg::ContractOp::create(b, loc, inputs, init,
                                    b.getAffineMapArrayAttr(maps))
      ->getResult(0);
}

/// Adds to the cotangent of an operand: `derivative`, a scalar of the body.
void LinalgAdjoint::contribute(OpOperand &operand, Value derivative) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  Value value = operand.get();
  Type element = getElementTypeOrSelf(value.getType());
  // A sum is rounded to a narrower type only at its end.
  Type sumType = element;
  Value sum = derivative;
  if (!map.isPermutation()) {
    if (auto narrowed = derivative.getDefiningOp<arith::TruncFOp>()) {
      sum = narrowed.getIn();
      sumType = sum.getType();
    }
    if (sumType.isBF16() || sumType.isF16())
      sumType = b.getF32Type();
  }
  Value made = contract(sum, map, value, sumType);
  if (!made) {
    if (sum.getType() != sumType) {
      OpBuilder scalar = atEnd();
      sum = arith::ExtFOp::create(scalar, loc, sumType, sum);
    }
    made = sumUp(sum, map, value, sumType);
  }
  if (sumType != element) {
    made = mapElements(
        b, loc, made, element,
        [&](OpBuilder &b, Location loc, ValueRange args) -> Value {
          return arith::TruncFOp::create(b, loc, element, args[0]);
        });
  }
  if (!isa<RankedTensorType>(value.getType()))
    made = tensor::ExtractOp::create(b, loc, made, ValueRange());
  adjoints.add(b, loc, value, made);
}

/// The cloned body's reads of tensors that vary.
LogicalResult LinalgAdjoint::findReads() {
  auto isActive = [&](Value value) { return adjoints.isActive(value); };
  for (Operation &nested : block) {
    auto read = dyn_cast<tensor::ExtractOp>(nested);
    if (read && isActive(read.getTensor())) {
      reads.push_back(read);
      scalars.setActive(read.getResult());
    } else if (readsAny(&nested, isActive)) {
      return op->emitOpError("reads what varies from within its body, by other "
                             "than tensor.extract: its derivative is not "
                             "known");
    }
  }
  return success();
}

/// Adds the derivatives of all iterations to the places that were read.
LogicalResult LinalgAdjoint::contributeRead(tensor::ExtractOp read) {
  Value derivative = scalars.lookup(read.getResult());
  if (!derivative)
    return success();
  Value table = read.getTensor();
  Type element = getElementTypeOrSelf(table.getType());
  unsigned loops = op.getNumLoops();
  if (read.getIndices().empty()) {
    adjoints.add(b, loc, table,
                 sumUp(derivative, AffineMap::get(loops, 0, b.getContext()),
                       table, element));
    return success();
  }
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  if (ShapedType::isDynamicShape(ranges))
    return op->emitOpError("reads a tensor by computed places over loops of "
                           "sizes that are not known: bind them "
                           "(--dist-bind-sizes=sizes=batch=8)");
  // Over all loops: the contribution, and where it is added.
  AffineMap all = b.getMultiDimIdentityMap(loops);
  Value like = tensor::EmptyOp::create(b, loc, ranges, element);
  Value rows = sumUp(derivative, all, like, element);
  SmallVector<int64_t> shape(ranges);
  shape.push_back(1);
  SmallVector<ReassociationIndices> groups;
  for (int64_t loop = 0; loop < loops; ++loop)
    groups.push_back({loop});
  if (loops > 0)
    groups.back().push_back(loops);
  SmallVector<Value> places;
  Type i64 = b.getI64Type();
  for (Value index : read.getIndices()) {
    OpBuilder scalar = atEnd();
    Value place = arith::IndexCastOp::create(scalar, loc, i64, index);
    Value made = reduce(place, all, like, i64, nullptr, b.getI64IntegerAttr(0));
    places.push_back(tensor::ExpandShapeOp::create(
        b, loc, RankedTensorType::get(shape, i64), made, groups));
  }
  if (like.use_empty())
    like.getDefiningOp()->erase();
  Value indices =
      places.size() == 1
          ? places.front()
          : tensor::ConcatOp::create(b, loc, loops, places).getResult();
  SmallVector<int64_t> dims =
      llvm::to_vector(llvm::seq<int64_t>(0, places.size()));
  Value begun = adjoints.takeCarried(table);
  if (!begun)
    begun = createZeros(b, loc, table);
  adjoints.giveBack(b, loc, table,
                    ScatterAddOp::create(b, loc, table.getType(), rows, begun,
                                         indices, dims));
  return success();
}

LogicalResult LinalgAdjoint::run() {
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  for (auto [loop, iterator] : llvm::enumerate(iterators))
    if (iterator == utils::IteratorType::reduction)
      reductionLoops.push_back(loop);

  // The body: first the op's own, whose active operands vary.
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
  if (failed(findReads()))
    return failure();
  scalars.spreadActivity(block);
  SmallVector<Operation *> ops;
  for (Operation &nested : block)
    if (!isa<tensor::ExtractOp>(nested) ||
        !llvm::is_contained(reads, cast<tensor::ExtractOp>(nested)))
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
      // Checked: the accumulator is added as it is.
      adjoints.add(b, loc, operand.get(),
                   adjoints.lookup(op.getTiedOpResult(&operand)));
    else
      contribute(operand, derivative);
  }
  for (tensor::ExtractOp read : reads)
    if (failed(contributeRead(read)))
      return failure();
  return success();
}

LogicalResult mlir::dist::addLinalgAdjoints(linalg::LinalgOp op, OpBuilder &b,
                                            Adjoints &adjoints) {
  return LinalgAdjoint(op, b, adjoints).run();
}
