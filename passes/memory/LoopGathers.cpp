//===- LoopGathers.cpp - Gathers in loops over microbatches ---------------===//

#include "passes/memory/LoopGathers.h"
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

static void moveGathers(scf::ForOp loop) {
  llvm::DenseSet<Value> ofParameters = findOfParameters(*loop->getBlock());
  // What is gathered, and what is made of it.
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
/// which nothing else reads; null where there is none such.
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
  // In place of the sum, what is added to it.
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
