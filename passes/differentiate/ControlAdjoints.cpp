//===- ControlAdjoints.cpp - Adjoints of loops and branches ---------------===//
//
// A loop runs backward, from the last iteration to the first. Each iteration
// turns the cotangents of the values that it yields into those of the values
// that it gets, and adds to those of values from outside. Values of forward
// that the adjoint needs are kept in tensors with a leading dimension of
// iterations. A branch takes the same way back.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Gradients.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/differentiate/Models.h"
#include "passes/loops/HandOver.h"
#include "passes/loops/Replay.h"

using namespace mlir;
using namespace mlir::dist;

/// The values from outside that the regions of `op` read, and that vary.
static SmallVector<Value> findActiveReads(Operation *op,
                                          const Adjoints &adjoints) {
  llvm::SetVector<Value> above;
  getUsedValuesDefinedAbove(op->getRegions(), above);
  SmallVector<Value> out;
  for (Value value : above)
    if (adjoints.isActive(value))
      out.push_back(value);
  return out;
}

static SmallVector<Operation *> getOps(Block &block) {
  return llvm::map_to_vector(block.without_terminator(),
                             [](Operation &op) { return &op; });
}

/// The cotangent, or zeros.
static Value lookupOrZeros(const Adjoints &adjoints, OpBuilder &b, Location loc,
                           Value value) {
  if (Value found = adjoints.lookup(value))
    return found;
  return createConstantLike(b, loc, value, 0);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

namespace {
class LoopAdjoint {
public:
  LoopAdjoint(scf::ForOp loop, OpBuilder &b, Adjoints &adjoints)
      : loop(loop), b(b), adjoints(adjoints), loc(loop.getLoc()) {}
  LogicalResult build();

private:
  LogicalResult countRounds();
  void findActive();
  LogicalResult writeBackward();
  Value getIndex(OpBuilder &at, int64_t number) {
    return arith::ConstantIndexOp::create(at, loc, number);
  }

  scf::ForOp loop;
  OpBuilder &b;
  Adjoints &adjoints;
  Location loc;
  int64_t rounds = 0;
  /// Numbers of the carried values that vary.
  SmallVector<unsigned> carried;
  /// Differentiable values from outside the loop that all iterations read.
  SmallVector<Value> reads;
  Adjoints within;
  scf::ForOp backward;
};
} // namespace

LogicalResult LoopAdjoint::countRounds() {
  std::optional<APInt> count = loop.getStaticTripCount();
  if (!count || count->getActiveBits() > 40)
    return loop.emitOpError(
        "has a gradient only where the number of its rounds is known: its "
        "bounds and its step are to be constants");
  rounds = count->getZExtValue();
  return success();
}

/// A yielded value that varies also varies in the next iteration: until nothing
/// new does.
void LoopAdjoint::findActive() {
  reads = findActiveReads(loop, adjoints);
  for (Value value : reads)
    within.setActive(value);
  auto spread = [&](ValueRange values) {
    bool isNew = false;
    for (auto [argument, value] :
         llvm::zip_equal(loop.getRegionIterArgs(), values)) {
      bool varies = within.isActive(value) || adjoints.isActive(value);
      if (!varies || within.isActive(argument) ||
          !isDifferentiable(argument.getType()))
        continue;
      within.setActive(argument);
      isNew = true;
    }
    return isNew;
  };
  spread(loop.getInitArgs());
  do
    within.spreadActivity(*loop.getBody());
  while (spread(loop.getYieldedValues()));
  for (auto [number, argument] : llvm::enumerate(loop.getRegionIterArgs()))
    if (within.isActive(argument))
      carried.push_back(number);
}

LogicalResult LoopAdjoint::writeBackward() {
  SmallVector<Value> inits;
  for (unsigned number : carried)
    inits.push_back(lookupOrZeros(adjoints, b, loc, loop.getResult(number)));
  for (Value value : reads) {
    Value begun = adjoints.takeCarried(value);
    inits.push_back(begun ? begun : createConstantLike(b, loc, value, 0));
  }
  backward = scf::ForOp::create(b, loc, getIndex(b, 0), getIndex(b, rounds),
                                getIndex(b, 1), inits);
  OpBuilder inner(b.getContext());
  inner.setInsertionPointToStart(backward.getBody());
  ValueRange arguments = backward.getRegionIterArgs();
  for (auto [value, sum] :
       llvm::zip_equal(reads, arguments.drop_front(carried.size())))
    within.carry(value, sum);
  for (auto [number, cotangent] :
       llvm::zip_equal(carried, arguments.take_front(carried.size())))
    within.add(inner, loc, loop.getYieldedValues()[number], cotangent);
  if (failed(within.reverse(inner, getOps(*loop.getBody()))))
    return failure();
  SmallVector<Value> results;
  auto finish = [&](Value value) {
    within.settle(inner, value);
    results.push_back(lookupOrZeros(within, inner, loc, value));
  };
  for (unsigned number : carried)
    finish(loop.getRegionIterArg(number));
  llvm::for_each(reads, finish);
  scf::YieldOp::create(inner, loc, results);
  return success();
}

LogicalResult LoopAdjoint::build() {
  if (failed(countRounds()))
    return failure();
  if (rounds == 0) {
    for (auto [init, result] :
         llvm::zip_equal(loop.getInitArgs(), loop.getResults()))
      if (Value cotangent = adjoints.lookup(result))
        adjoints.add(b, loc, init, cotangent);
    return success();
  }
  findActive();
  SmallVector<Value> inits(loop.getInitArgs());
  if (failed(writeBackward()))
    return failure();
  FailureOr<scf::ForOp> made = handOver(loop, backward, rounds);
  if (failed(made))
    return failure();
  adjoints.replace(loop, made->getResults().take_front(loop.getNumResults()));
  ValueRange results = backward.getResults();
  for (auto [number, cotangent] :
       llvm::zip_equal(carried, results.take_front(carried.size())))
    adjoints.add(b, loc, inits[number], cotangent);
  for (auto [value, sum] :
       llvm::zip_equal(reads, results.drop_front(carried.size())))
    adjoints.giveBack(b, loc, value, sum);
  return success();
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

namespace {
class BranchAdjoint {
public:
  BranchAdjoint(scf::IfOp branch, OpBuilder &b, Adjoints &adjoints)
      : branch(branch), b(b), adjoints(adjoints), loc(branch.getLoc()) {}
  LogicalResult build();

private:
  LogicalResult writeBackward(Region &forward, Block &block);
  LogicalResult handOver();

  scf::IfOp branch;
  OpBuilder &b;
  Adjoints &adjoints;
  Location loc;
  SmallVector<Value> reads;
  /// The cotangents that `reads` have already, to which the branch adds; or
  /// null.
  SmallVector<Value> begun;
  scf::IfOp backward;
};
} // namespace

LogicalResult BranchAdjoint::writeBackward(Region &forward, Block &block) {
  OpBuilder inner(b.getContext());
  inner.setInsertionPointToEnd(&block);
  Adjoints within;
  for (auto [value, sum] : llvm::zip_equal(reads, begun)) {
    within.setActive(value);
    if (sum)
      within.carry(value, sum);
  }
  Block &body = forward.front();
  within.spreadActivity(body);
  for (auto [yielded, result] : llvm::zip_equal(
           body.getTerminator()->getOperands(), branch.getResults()))
    if (Value cotangent = adjoints.lookup(result))
      within.add(inner, loc, yielded, cotangent);
  if (failed(within.reverse(inner, getOps(body))))
    return failure();
  SmallVector<Value> results;
  for (Value value : reads) {
    within.settle(inner, value);
    results.push_back(lookupOrZeros(within, inner, loc, value));
  }
  scf::YieldOp::create(inner, loc, results);
  return success();
}

/// Each side passes on the values that its adjoint needs; the other side passes
/// a value of that type, which nobody reads.
LogicalResult BranchAdjoint::handOver() {
  Replay replays[] = {{branch.getThenRegion(), backward.getThenRegion()},
                      {branch.getElseRegion(), backward.getElseRegion()}};
  SmallVector<Type> types(branch.getResultTypes());
  for (Replay &replay : replays)
    for (Value value : replay.getSaved()) {
      if (failed(checkKept(value)))
        return failure();
      types.push_back(value.getType());
    }
  OpBuilder before(branch);
  auto made = scf::IfOp::create(before, loc, types, branch.getCondition());
  made->setDiscardableAttrs(branch->getDiscardableAttrDictionary());
  made.getThenRegion().takeBody(branch.getThenRegion());
  made.getElseRegion().takeBody(branch.getElseRegion());
  unsigned next = branch.getNumResults();
  Region *forward[] = {&made.getThenRegion(), &made.getElseRegion()};
  Region *back[] = {&backward.getThenRegion(), &backward.getElseRegion()};
  for (unsigned side : {0, 1}) {
    IRMapping mapping;
    for (Value value : replays[side].getSaved()) {
      for (unsigned other : {0, 1}) {
        Operation *yield = forward[other]->front().getTerminator();
        OpBuilder at(yield);
        Value handed = value;
        if (other != side) {
          Type type = value.getType();
          if (auto tensor = dyn_cast<RankedTensorType>(type))
            handed = tensor::EmptyOp::create(at, loc, tensor.getShape(),
                                             tensor.getElementType());
          else
            handed = arith::ConstantOp::create(at, loc, at.getZeroAttr(type));
        }
        yield->insertOperands(yield->getNumOperands(), handed);
      }
      mapping.map(value, made.getResult(next++));
    }
    OpBuilder inner(b.getContext());
    inner.setInsertionPointToStart(&back[side]->front());
    replays[side].connect(inner, mapping);
    markBackward(*back[side]);
  }
  adjoints.replace(branch,
                   made.getResults().take_front(branch.getNumResults()));
  return success();
}

LogicalResult BranchAdjoint::build() {
  reads = findActiveReads(branch, adjoints);
  for (Value value : reads)
    begun.push_back(adjoints.takeCarried(value));
  SmallVector<Type> types =
      llvm::map_to_vector(reads, [](Value value) { return value.getType(); });
  backward = scf::IfOp::create(b, loc, types, branch.getCondition(),
                               /*addThenBlock=*/true, /*addElseBlock=*/true);
  if (failed(writeBackward(branch.getThenRegion(),
                           backward.getThenRegion().front())) ||
      failed(writeBackward(branch.getElseRegion(),
                           backward.getElseRegion().front())) ||
      failed(handOver()))
    return failure();
  for (auto [value, sum] : llvm::zip_equal(reads, backward.getResults()))
    adjoints.giveBack(b, loc, value, sum);
  return success();
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

namespace {
struct ForModel
    : DifferentiableOpInterface::ExternalModel<ForModel, scf::ForOp> {
  LogicalResult addAdjoints(Operation *op, OpBuilder &b,
                            Adjoints &adjoints) const {
    return LoopAdjoint(cast<scf::ForOp>(op), b, adjoints).build();
  }
};

struct IfModel : DifferentiableOpInterface::ExternalModel<IfModel, scf::IfOp> {
  LogicalResult addAdjoints(Operation *op, OpBuilder &b,
                            Adjoints &adjoints) const {
    return BranchAdjoint(cast<scf::IfOp>(op), b, adjoints).build();
  }
};
} // namespace

void mlir::dist::registerControlAdjoints(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, scf::SCFDialect *) {
    scf::ForOp::attachInterface<ForModel>(*context);
    scf::IfOp::attachInterface<IfModel>(*context);
  });
}
