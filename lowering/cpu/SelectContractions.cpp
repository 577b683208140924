//===- SelectContractions.cpp - Contractions become runtime calls
//-----------===//
//
// --dist-cpu-select-contractions.
//
//===----------------------------------------------------------------------===//

#include "lowering/cpu/Contraction.h"
#include "lowering/cpu/LoopNest.h"
#include "lowering/cpu/Passes.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTCPUSELECTCONTRACTIONS
#include "lowering/cpu/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// Below this many multiply-adds a call costs more than a loop; measured with
/// oneDNN 2.6, see docs/lowering-cpu.md.
static constexpr int64_t kMinWork = 2048;

/// Pairs of types that dist_contract takes.
static bool isSupported(Type in, Type out) {
  if (in.isF32())
    return out.isF32();
  if (in.isBF16())
    return out == in || out.isF32();
  return false;
}

/// Whether a call pays: a product of matrices, not of a matrix and a vector,
/// which reads everything once and does well as a loop.
static bool isWorthwhile(const LoopNest &nest, ArrayRef<LoopKind> kinds) {
  int64_t work = 1, m = 1, n = 1;
  for (auto [size, kind] : llvm::zip_equal(nest.sizes, kinds)) {
    work *= size;
    if (kind == LoopKind::M)
      m *= size;
    if (kind == LoopKind::N)
      n *= size;
  }
  return m > 1 && n > 1 && work >= kMinWork;
}

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

static LogicalResult select(linalg::LinalgOp op) {
  FailureOr<SmallVector<LoopKind>> kinds = matchContraction(op);
  if (failed(kinds) || !op.hasPureBufferSemantics())
    return success();
  Value a = op->getOperand(0), b = op->getOperand(1), c = op->getOperand(2);
  if (!isa<MemRefType>(a.getType()) || !isa<MemRefType>(b.getType()))
    return success();
  Type in = cast<MemRefType>(a.getType()).getElementType();
  Type out = cast<MemRefType>(c.getType()).getElementType();
  if (in != cast<MemRefType>(b.getType()).getElementType() ||
      !isSupported(in, out))
    return success();
  FailureOr<LoopNest> nest = buildLoopNest(op);
  if (failed(nest))
    return failure();
  if (!isWorthwhile(*nest, *kinds))
    return success();

  SmallVector<int64_t> table;
  for (size_t loop = 0; loop < nest->sizes.size(); ++loop) {
    if (nest->sizes[loop] == 1)
      continue;
    table.push_back(static_cast<int64_t>((*kinds)[loop]));
    table.push_back(nest->sizes[loop]);
    for (const Access &access : nest->accesses)
      table.push_back(access.strides[loop]);
  }
  linalg::FillOp fill = findZeroFill(op, c);
  OpBuilder builder(op);
  auto call = rt::ContractOp::create(builder, op.getLoc(), a, b, c,
                                     builder.getDenseI64ArrayAttr(table),
                                     /*accumulate=*/!fill);
  if (Attribute scope = op->getAttr("dist.scope"))
    call->setAttr("dist.scope", scope);
  op.erase();
  if (fill)
    fill.erase();
  return success();
}

namespace {
struct SelectContractions
    : dist::impl::DistCpuSelectContractionsBase<SelectContractions> {
  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation().walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    for (linalg::LinalgOp op : ops)
      if (failed(select(op)))
        return signalPassFailure();
  }
};
} // namespace
