//===- SelectContractions.cpp - Contractions become runtime calls ---------===//
//
// Recognises contractions (Contraction.h); whether a call pays, the target
// says.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "lowering/buffers/Contraction.h"
#include "lowering/kernels/KernelTarget.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::dist;

/// The zero fill that writes `buffer` just before `op` reads it, or null.
static linalg::FillOp findZeroFill(Operation *op, Value buffer) {
  linalg::FillOp fill;
  Value root = getRoot(buffer);
  for (Operation *user : buffer.getUsers()) {
    auto candidate = dyn_cast<linalg::FillOp>(user);
    if (candidate && candidate->getBlock() == op->getBlock() &&
        candidate->isBeforeInBlock(op) &&
        (!fill || fill->isBeforeInBlock(candidate)))
      fill = candidate;
  }
  if (!fill || (!matchPattern(fill.getInputs()[0], m_AnyZeroFloat()) &&
                !matchPattern(fill.getInputs()[0], m_PosZeroFloat())))
    return {};
  // Nothing else may touch the buffer in between.
  SmallVector<Value> pending = {root};
  while (!pending.empty())
    for (Operation *user : pending.pop_back_val().getUsers()) {
      if (isView(user)) {
        pending.push_back(user->getResult(0));
        continue;
      }
      Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
      if (user != op && here && fill->isBeforeInBlock(here) &&
          here->isBeforeInBlock(op))
        return {};
    }
  return fill;
}

static LogicalResult select(linalg::LinalgOp op, const KernelTarget &target) {
  FailureOr<SmallVector<LoopKind>> kinds = matchContraction(op);
  if (failed(kinds) || !op.hasPureBufferSemantics())
    return success();
  Value a = op->getOperand(0), b = op->getOperand(1), c = op->getOperand(2);
  if (!isa<MemRefType>(a.getType()) || !isa<MemRefType>(b.getType()))
    return success();
  Type in = cast<MemRefType>(a.getType()).getElementType();
  Type out = cast<MemRefType>(c.getType()).getElementType();
  if (in != cast<MemRefType>(b.getType()).getElementType())
    return success();
  FailureOr<LoopNest> nest = buildLoopNest(op);
  if (failed(nest))
    return failure();
  if (!target.isContractionCall(in, out, *nest, *kinds))
    return success();

  SmallVector<Attribute> loops;
  for (size_t loop = 0; loop < nest->sizes.size(); ++loop) {
    if (nest->sizes[loop] == 1)
      continue;
    ArrayRef<Access> accesses = nest->accesses;
    loops.push_back(
        rt::LoopAttr::get(op.getContext(), (*kinds)[loop], nest->sizes[loop],
                          accesses[0].strides[loop], accesses[1].strides[loop],
                          accesses[2].strides[loop]));
  }
  linalg::FillOp fill = findZeroFill(op, c);
  OpBuilder builder(op);
  auto call = rt::ContractOp::create(builder, op.getLoc(), a, b, c,
                                     builder.getArrayAttr(loops),
                                     /*accumulate=*/!fill);
  if (Attribute scope = op->getAttr(kScopeAttr))
    call->setAttr(kScopeAttr, scope);
  op.erase();
  if (fill)
    fill.erase();
  return success();
}

LogicalResult mlir::dist::selectContractions(func::FuncOp function,
                                             const KernelTarget &target) {
  SmallVector<linalg::LinalgOp> ops;
  function.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
  for (linalg::LinalgOp op : ops)
    if (failed(select(op, target)))
      return failure();
  return success();
}
