//===- Microbatches.cpp - A step over several batches ---------------------===//

#include "passes/train/Microbatches.h"
#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/Interfaces/Adjoints.h"
#include "dialects/dist/Utils/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/train/Formulas.h"

using namespace mlir;
using namespace mlir::dist;

/// All devices go through the microbatches together.
static ShardingAttr addWholeDim(ShardingAttr sharding) {
  MLIRContext *context = sharding.getContext();
  SmallVector<DimShardingAttr> dims{
      DimShardingAttr::get(context, ArrayRef<AxisRefAttr>(), /*isOpen=*/false)};
  llvm::append_range(dims, sharding.getDims());
  return ShardingAttr::get(context, sharding.getMesh(), dims,
                           ReductionKind::Sum, {});
}

LogicalResult Microbatches::open() {
  Block &block = function.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  number = last = arith::ConstantIndexOp::create(builder, function.getLoc(), 0);
  for (BlockArgument argument : block.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto name = function.getArgAttrOfType<StringAttr>(index, kInputAttr);
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    auto random = function.getArgAttrOfType<StringAttr>(index, kRandomAttr);
    if (random && random.getValue() == kRandomStep)
      countSteps(argument);
    if (!name || !type || random)
      continue;
    if (!type.hasStaticShape())
      return function.emitError("accumulates over microbatches of input '")
             << name.getValue() << "', which is of type " << type
             << ": its sizes must be known "
                "(--dist-bind-sizes=sizes=batch=8)";
    SmallVector<int64_t> shape{count};
    llvm::append_range(shape, type.getShape());
    argument.setType(type.clone(shape));
    if (auto sharding =
            function.getArgAttrOfType<ShardingAttr>(index, kShardingAttr))
      function.setArgAttr(index, kShardingAttr, addWholeDim(sharding));
    if (auto names =
            function.getArgAttrOfType<ArrayAttr>(index, kDimensionsAttr)) {
      SmallVector<Attribute> dims{builder.getStringAttr("")};
      llvm::append_range(dims, names);
      function.setArgAttr(index, kDimensionsAttr, builder.getArrayAttr(dims));
    }
    Value slice = takeSlice(argument);
    argument.replaceAllUsesExcept(slice, slice.getDefiningOp());
  }
  function.setType(builder.getFunctionType(block.getArgumentTypes(),
                                           function.getResultTypes()));
  return success();
}

/// Each microbatch has random numbers of its own.
void Microbatches::countSteps(BlockArgument step) {
  OpBuilder b(step.getContext());
  b.setInsertionPointAfter(last);
  Location loc = step.getLoc();
  Type element = getElementTypeOrSelf(step);
  Value index =
      arith::IndexCastOp::create(b, loc, element, number->getResult(0));
  Value own = mapElements(b, loc, step, {}, element,
                          [&](OpBuilder &b, Location loc, ValueRange args) {
                            Value all = arith::ConstantOp::create(
                                b, loc, b.getIntegerAttr(element, count));
                            Value before =
                                arith::MulIOp::create(b, loc, args[0], all);
                            return SmallVector<Value>{
                                arith::AddIOp::create(b, loc, before, index)};
                          })
                  .front();
  last = own.getDefiningOp();
  step.replaceUsesWithIf(
      own, [&](OpOperand &use) { return use.getOwner() != last; });
}

Value Microbatches::takeSlice(BlockArgument input) {
  OpBuilder builder(input.getContext());
  builder.setInsertionPointAfter(last);
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
      strides(type.getRank(), builder.getIndexAttr(1)), sizes;
  for (int64_t size : type.getShape())
    sizes.push_back(builder.getIndexAttr(size));
  offsets.front() = number->getResult(0);
  sizes.front() = builder.getIndexAttr(1);
  auto slice = tensor::ExtractSliceOp::create(
      builder, input.getLoc(), type.clone(type.getShape().drop_front()), input,
      offsets, sizes, strides);
  last = slice;
  return slice;
}

/// Values that depend on the number of the microbatch or on carried values.
/// Also values that only these use and that are computed from constants: empty
/// tensors and the like, of which each microbatch has its own.
llvm::SetVector<Operation *>
Microbatches::findBody(ArrayRef<CarriedArgument> carried) {
  Block &block = function.getBody().front();
  llvm::DenseSet<Value> varying{number->getResult(0)}, given;
  for (const CarriedArgument &one : carried)
    varying.insert(one.argument);
  given.insert_range(block.getArguments());
  llvm::DenseSet<Operation *> inside;
  for (Operation &op : block.without_terminator()) {
    if (readsAny(&op, [&](Value value) { return varying.contains(value); })) {
      varying.insert_range(op.getResults());
      inside.insert(&op);
    }
    if (readsAny(&op, [&](Value value) { return given.contains(value); }))
      given.insert_range(op.getResults());
  }
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    bool isOwn =
        !op.use_empty() && isPure(&op) &&
        !op.hasTrait<OpTrait::ConstantLike>() &&
        llvm::none_of(op.getResults(),
                      [&](Value value) { return given.contains(value); }) &&
        llvm::all_of(op.getUsers(), [&](Operation *user) {
          return inside.contains(block.findAncestorOpInBlock(*user));
        });
    if (isOwn)
      inside.insert(&op);
  }
  llvm::SetVector<Operation *> body;
  for (Operation &op : block)
    if (inside.contains(&op))
      body.insert(&op);
  return body;
}

/// sum + value, in the place of the sum.
static Value accumulate(OpBuilder &b, Location loc, Value value, Value sum) {
  int64_t rank = cast<RankedTensorType>(sum.getType()).getRank();
  auto made = createParallelLoops(
      b, loc, value, b.getMultiDimIdentityMap(rank), sum,
      [](OpBuilder &b, Location loc, ValueRange args) -> SmallVector<Value> {
        Value added = args[0];
        if (added.getType() != args[1].getType())
          added = arith::ExtFOp::create(b, loc, args[1].getType(), added);
        return {arith::AddFOp::create(b, loc, args[1], added)};
      });
  return made.getResult(0);
}

LoopValues Microbatches::close(ArrayRef<Summand> summands,
                               ArrayRef<CarriedArgument> carried) {
  llvm::SetVector<Operation *> body = findBody(carried);
  Location loc = function.getLoc();
  OpBuilder b(function.getBody().front().getTerminator());
  SmallVector<Value> inits;
  for (const Summand &summand : summands) {
    auto type = cast<RankedTensorType>(summand.value.getType());
    Value zero =
        arith::ConstantOp::create(b, loc, b.getZeroAttr(summand.element));
    Value empty =
        tensor::EmptyOp::create(b, loc, type.getShape(), summand.element);
    inits.push_back(linalg::FillOp::create(b, loc, zero, empty).getResult(0));
  }
  for (const CarriedArgument &one : carried)
    inits.push_back(one.argument);
  Value low = arith::ConstantIndexOp::create(b, loc, 0);
  Value high = arith::ConstantIndexOp::create(b, loc, count);
  Value step = arith::ConstantIndexOp::create(b, loc, 1);
  auto loop = scf::ForOp::create(b, loc, low, high, step, inits);
  loop->setDiscardableAttr(kMicrobatchesAttr, b.getUnitAttr());
  OpBuilder inner = OpBuilder::atBlockEnd(loop.getBody());
  for (Operation *op : body) {
    op->remove();
    inner.insert(op);
  }
  SmallVector<Value> yielded;
  for (auto [summand, sum] : llvm::zip(summands, loop.getRegionIterArgs()))
    yielded.push_back(
        accumulate(inner, summand.value.getLoc(), summand.value, sum));
  for (const CarriedArgument &one : carried)
    yielded.push_back(one.value);
  scf::YieldOp::create(inner, loc, yielded);
  for (auto [one, now] : llvm::zip_equal(
           carried, loop.getRegionIterArgs().drop_front(summands.size())))
    Value(one.argument).replaceUsesWithIf(now, [&](OpOperand &use) {
      return loop->isProperAncestor(use.getOwner());
    });
  number->getResult(0).replaceAllUsesWith(loop.getInductionVar());
  number->erase();
  LoopValues values;
  for (auto [summand, result] : llvm::zip(summands, loop.getResults())) {
    Value sum = result;
    if (summand.leader)
      sum = FollowOp::create(b, summand.value.getLoc(), sum.getType(), sum,
                             summand.leader, /*moved=*/false);
    values.sums.push_back(sum);
  }
  llvm::append_range(values.carried,
                     loop.getResults().drop_front(summands.size()));
  return values;
}
