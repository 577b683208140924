//===- LoopGathers.cpp - Gathers in loops over microbatches ---------------===//

#include "passes/memory/LoopGathers.h"
#include "dialects/dist/IR/Collectives.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/memory/RecomputedOps.h"

using namespace mlir;
using namespace mlir::dist;

/// The first op of the loop's body that `op` is read in; null where something
/// else reads it, or nothing.
static Operation *findFirstReader(Operation *op, scf::ForOp loop) {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers()) {
    Operation *reader = loop.getBody()->findAncestorOpInBlock(*user);
    if (!reader)
      return nullptr;
    if (!first || reader->isBeforeInBlock(first))
      first = reader;
  }
  return first;
}

/// How often the user is done in a loop where `op` is done once.
static std::optional<int64_t> countTurns(Operation *user, Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(user->getParentOp());
  if (!loop || loop->getBlock() != op->getBlock())
    return std::nullopt;
  std::optional<APInt> turns = loop.getStaticTripCount();
  return turns ? std::optional(turns->getSExtValue()) : std::nullopt;
}

/// If loops read only slices of a gathered value, each whole along the gathered
/// dimension, then the slices are gathered instead.
static void sliceFirst(AllGatherOp gather) {
  int64_t dim = gather.getDim();
  RankedTensorType whole = gather.getResult().getType();
  RankedTensorType part = gather.getOperand().getType();
  if (!whole.hasStaticShape())
    return;
  double elements = 0;
  for (Operation *user : gather->getUsers()) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    std::optional<int64_t> turns = countTurns(user, gather);
    if (!slice || !turns || !slice.getType().hasStaticShape() ||
        slice.getStaticSizes()[dim] != whole.getDimSize(dim) ||
        slice.getDroppedDims().test(dim))
      return;
    elements += double(*turns) * slice.getType().getNumElements();
  }
  if (elements > whole.getNumElements())
    return;
  for (Operation *user : llvm::make_early_inc_range(gather->getUsers())) {
    auto slice = cast<tensor::ExtractSliceOp>(user);
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    int64_t newDim = dim;
    for (int64_t before = 0; before < dim; ++before)
      newDim -= dropped.test(before);
    OpBuilder builder(slice);
    SmallVector<OpFoldResult> sizes = slice.getMixedSizes();
    sizes[dim] = builder.getIndexAttr(part.getDimSize(dim));
    SmallVector<int64_t> shape(slice.getType().getShape());
    shape[newDim] = part.getDimSize(dim);
    Value operand = tensor::ExtractSliceOp::create(
        builder, slice.getLoc(), slice.getType().clone(shape),
        gather.getOperand(), slice.getMixedOffsets(), sizes,
        slice.getMixedStrides());
    IRMapping map;
    map.map(gather.getOperand(), operand);
    auto inside = cast<AllGatherOp>(builder.clone(*gather, map));
    inside.setDim(newDim);
    inside.getResult().setType(slice.getType());
    slice.getResult().replaceAllUsesWith(inside.getResult());
    slice.erase();
  }
  gather.erase();
}

static void moveGathers(scf::ForOp loop) {
  llvm::DenseSet<Value> ofParameters = findOfParameters(*loop->getBlock());
  // The gathered value, and values derived from it.
  llvm::DenseSet<Value> gathered;
  SmallVector<Operation *> ops;
  for (Operation &op : *loop->getBlock()) {
    if (&op == loop)
      break;
    if (op.getNumResults() != 1 || !ofParameters.contains(op.getResult(0)) ||
        !isPure(&op))
      continue;
    if (isa<AllGatherOp>(op) ||
        llvm::any_of(op.getOperands(),
                     [&](Value value) { return gathered.contains(value); })) {
      gathered.insert(op.getResult(0));
      ops.push_back(&op);
    }
  }
  for (Operation *op : llvm::reverse(ops))
    if (Operation *reader = findFirstReader(op, loop))
      op->moveBefore(reader);
}

/// The op that adds to the sum that the loop carries as its argument `number`,
/// and that is its only reader; null if there is no such op.
static linalg::GenericOp findAddition(scf::ForOp loop, unsigned number) {
  BlockArgument sum = loop.getRegionIterArg(number);
  Value next = loop.getYieldedValues()[number];
  auto add = next.getDefiningOp<linalg::GenericOp>();
  if (!add || !sum.hasOneUse() || !next.hasOneUse() ||
      add.getNumDpsInputs() != 1 || add.getNumDpsInits() != 1 ||
      add.getDpsInits().front() != sum ||
      add.getNumParallelLoops() != add.getNumLoops() ||
      !llvm::all_of(add.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return nullptr;
  Block &body = add.getRegion().front();
  auto added =
      body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  bool adds = added && ((added.getLhs() == body.getArgument(0) &&
                         added.getRhs() == body.getArgument(1)) ||
                        (added.getLhs() == body.getArgument(1) &&
                         added.getRhs() == body.getArgument(0)));
  return adds ? add : nullptr;
}

static bool isZeros(Value value) {
  auto fill = value.getDefiningOp<linalg::FillOp>();
  return matchPattern(fill ? fill.getInputs().front() : value,
                      m_AnyZeroFloat());
}

/// Whether there was something to scatter in each round.
static bool scatterInLoop(scf::ForOp loop, unsigned number) {
  Value result = loop.getResult(number);
  auto scatter = result.hasOneUse()
                     ? dyn_cast<ReduceScatterOp>(*result.user_begin())
                     : ReduceScatterOp();
  linalg::GenericOp add = findAddition(loop, number);
  if (!scatter || scatter->getBlock() != loop->getBlock() || !add ||
      !isZeros(loop.getInitArgs()[number]) ||
      scatter.getReduction() != ReductionKind::Sum)
    return false;
  auto part = cast<RankedTensorType>(scatter.getType());
  if (!part.hasStaticShape())
    return false;
  OpBuilder builder(loop);
  Value zero = arith::ConstantOp::create(
      builder, loop.getLoc(), builder.getZeroAttr(part.getElementType()));
  Value empty = tensor::EmptyOp::create(builder, loop.getLoc(), part.getShape(),
                                        part.getElementType());
  Value zeros =
      linalg::FillOp::create(builder, loop.getLoc(), zero, empty).getResult(0);
  // The terms instead of the sum.
  builder.setInsertionPoint(add);
  IRMapping map;
  map.map(result, add.getDpsInputOperand(0)->get());
  Operation *inside = builder.clone(*scatter, map);
  add.getDpsInputOperand(0)->set(inside->getResult(0));
  add->getResult(0).setType(part);
  loop.getInitArgsMutable()[number].set(zeros);
  loop.getRegionIterArg(number).setType(part);
  result.setType(part);
  scatter.getResult().replaceAllUsesWith(result);
  scatter.erase();
  return true;
}

void mlir::dist::moveIntoLoop(scf::ForOp loop) {
  moveGathers(loop);
  for (unsigned i = 0, end = loop.getNumResults(); i < end; ++i)
    // Over one axis after the other.
    while (scatterInLoop(loop, i))
      ;
}

void mlir::dist::gatherSlices(Block &block) {
  // For values gathered over several axes: the last one first.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (auto gather = dyn_cast<AllGatherOp>(op))
      sliceFirst(gather);
}
