//===- TiedSums.cpp - Gradients to which several stages add ---------------===//
//
// A parameter that two stages read has a gradient of two summands. They would
// be sent for each microbatch to be added up. Here each stage adds its own ones
// up, and they are sent once.
//
//===----------------------------------------------------------------------===//

#include "passes/pipeline/TiedSums.h"
#include "dialects/dist/IR/Attributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

#include <map>

using namespace mlir;
using namespace mlir::dist;

/// Whether an op adds two tensors, element by element.
static bool isSum(linalg::GenericOp op) {
  if (!op || op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 ||
      op.getNumReductionLoops() != 0 ||
      llvm::any_of(op.getIndexingMapsArray(),
                   [](AffineMap map) { return !map.isIdentity(); }))
    return false;
  Block &body = *op.getBlock();
  auto add = dyn_cast<arith::AddFOp>(body.front());
  return add && body.getTerminator()->getOperand(0) == add.getResult() &&
         add->getNextNode() == body.getTerminator() &&
         add.getLhs() == body.getArgument(0) &&
         add.getRhs() == body.getArgument(1);
}

/// Whether an op of one input makes out + in, of which `in` may be extended.
static bool addsInput(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1)
    return false;
  Block &body = *op.getBlock();
  auto add = body.getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!add || add.getLhs() != body.getArgument(1))
    return false;
  Value input = add.getRhs();
  if (auto extended = input.getDefiningOp<arith::ExtFOp>())
    input = extended.getIn();
  return input == body.getArgument(0);
}

/// The op that adds a microbatch's gradient to a carried sum: one input, and
/// the sum as its destination.
static linalg::GenericOp getAccumulation(scf::ForOp loop, unsigned carried) {
  Value yielded = loop.getBody()->getTerminator()->getOperand(carried);
  auto add = yielded.getDefiningOp<linalg::GenericOp>();
  Value sum = loop.getRegionIterArg(carried);
  // Further sums begin with what this one begins with.
  auto fill = loop.getInitArgs()[carried].getDefiningOp<linalg::FillOp>();
  if (!fill || !matchPattern(fill.getInputs()[0], m_AnyZeroFloat()))
    return {};
  if (!add || !addsInput(add) || add.getNumDpsInits() != 1 ||
      add.getDpsInits()[0] != sum || !sum.hasOneUse() || !yielded.hasOneUse() ||
      llvm::any_of(add.getIndexingMapsArray(),
                   [](AffineMap map) { return !map.isIdentity(); }))
    return {};
  return add;
}

/// The summands of a value, in order.
static void visitSummands(Value value, function_ref<void(Value)> visit) {
  auto sum = value.getDefiningOp<linalg::GenericOp>();
  if (!isSum(sum) || !value.hasOneUse())
    return visit(value);
  for (Value input : sum.getDpsInputs())
    visitSummands(input, visit);
}

namespace {
/// A carried sum and the summands of each stage, in the order of stages.
struct TiedSum {
  unsigned carried;
  linalg::GenericOp add;
  std::map<int64_t, SmallVector<Value>> summands;
};
} // namespace

/// a + b + …, as ops before `before`.
static Value addUp(OpBuilder &b, linalg::GenericOp like,
                   ArrayRef<Value> values) {
  Value sum = values.front();
  for (Value next : values.drop_front()) {
    IRMapping mapping;
    mapping.map(like.getDpsInputs()[0], sum);
    mapping.map(like.getDpsInputs()[1], next);
    Operation *added = b.clone(*like, mapping);
    // It is of the stage whose summands it adds, not of a module's.
    added->removeAttr(kScopeAttr);
    sum = added->getResult(0);
  }
  return sum;
}

scf::ForOp
mlir::dist::splitTiedSums(scf::ForOp loop,
                          function_ref<int64_t(Operation *)> getStage) {
  SmallVector<TiedSum> tied;
  for (unsigned i = 0, end = loop.getInitArgs().size(); i < end; ++i) {
    linalg::GenericOp add = getAccumulation(loop, i);
    if (!add)
      continue;
    TiedSum sum{i, add, {}};
    visitSummands(add.getDpsInputs()[0], [&](Value value) {
      Operation *op = value.getDefiningOp();
      bool isInside = op && op->getBlock() == loop.getBody();
      sum.summands[isInside ? getStage(op) : 0].push_back(value);
    });
    if (sum.summands.size() > 1)
      tied.push_back(std::move(sum));
  }
  if (tied.empty())
    return loop;
  // The sums of all stages but the first are carried behind the others.
  OpBuilder b(loop);
  SmallVector<Value> inits(loop.getInitArgs());
  for (TiedSum &sum : tied)
    inits.append(sum.summands.size() - 1, loop.getInitArgs()[sum.carried]);
  auto wider = scf::ForOp::create(b, loop.getLoc(), loop.getLowerBound(),
                                  loop.getUpperBound(), loop.getStep(), inits);
  wider->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  Block *body = wider.getBody();
  body->getOperations().splice(body->end(), loop.getBody()->getOperations());
  for (auto [from, to] :
       llvm::zip(loop.getBody()->getArguments(), body->getArguments()))
    from.replaceAllUsesWith(to);
  auto yield = cast<scf::YieldOp>(body->getTerminator());
  SmallVector<Value> yielded(yield.getOperands());
  unsigned next = loop.getInitArgs().size();
  OpBuilder after(wider->getContext());
  after.setInsertionPointAfter(wider);
  for (auto [result, now] : llvm::zip(loop.getResults(), wider.getResults()))
    result.replaceAllUsesWith(now);
  for (TiedSum &tie : tied) {
    auto inner =
        cast<linalg::GenericOp>(tie.add.getDpsInputs()[0].getDefiningOp());
    OpBuilder in(tie.add);
    // The op that adds two of the sums, which may have a wider type.
    Value first = wider.getResult(tie.carried);
    SmallVector<Value> sums;
    for (auto &[stage, values] : tie.summands) {
      Value mine = addUp(in, inner, values);
      unsigned carried = sums.empty() ? tie.carried : next++;
      IRMapping mapping;
      mapping.map(tie.add.getDpsInputs()[0], mine);
      mapping.map(tie.add.getDpsInits()[0], wider.getRegionIterArg(carried));
      Value sum = in.clone(*tie.add, mapping)->getResult(0);
      if (sums.empty())
        yielded[carried] = sum;
      else
        yielded.push_back(sum);
      sums.push_back(wider.getResult(carried));
    }
    SmallVector<OpOperand *> readers;
    for (OpOperand &use : first.getUses())
      readers.push_back(&use);
    Value total = first;
    for (Value sum : ArrayRef<Value>(sums).drop_front()) {
      auto type = cast<RankedTensorType>(total.getType());
      Value empty = tensor::EmptyOp::create(
          after, tie.add.getLoc(), type.getShape(), type.getElementType());
      total = linalg::AddOp::create(after, tie.add.getLoc(), type,
                                    ValueRange{total, sum}, ValueRange{empty})
                  .getResult(0);
    }
    for (OpOperand *use : readers)
      use->set(total);
  }
  OpBuilder end(yield);
  scf::YieldOp::create(end, yield.getLoc(), yielded);
  yield.erase();
  for (TiedSum &tie : tied)
    tie.add.erase();
  loop.erase();
  return wider;
}
