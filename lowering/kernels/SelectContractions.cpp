//===- SelectContractions.cpp - Contractions become runtime calls ---------===//
//
// Recognises contractions (Contraction.h); whether a call pays, the target
// says.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "lowering/bounds/Bounds.h"
#include "lowering/buffers/ContractionMatch.h"
#include "lowering/kernels/Constants.h"
#include "lowering/kernels/KernelTarget.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::dist;

namespace {

/// Walks over blocks in their order and remembers the zero fills after which
/// nothing has touched their memory, under any name.
class Selection {
public:
  Selection(func::FuncOp function, const KernelTarget &target)
      : aliases(function), target(target) {}

  LogicalResult run(Block &block);

private:
  LogicalResult visit(linalg::LinalgOp op, linalg::FillOp fill);
  void forgetTouched(Operation *op, SmallVector<linalg::FillOp> &fills);

  BufferAliases aliases;
  const KernelTarget &target;
};

} // namespace

static bool isZeroFill(linalg::FillOp fill) {
  Value value = fill.getInputs()[0];
  return isa<MemRefType>(fill.getOutputs()[0].getType()) &&
         (matchPattern(value, m_AnyZeroFloat()) ||
          matchPattern(value, m_PosZeroFloat()));
}

void Selection::forgetTouched(Operation *op,
                              SmallVector<linalg::FillOp> &fills) {
  if (fills.empty())
    return;
  auto forget = [&](Value buffer) {
    const Origins *origins = aliases.getOrigins(buffer);
    llvm::erase_if(fills, [&](linalg::FillOp fill) {
      return mayAlias(origins, aliases.getOrigins(fill.getOutputs()[0]));
    });
  };
  if (!visitTouchedBuffers(op, forget))
    fills.clear();
}

/// Those of more than one iteration.
static SmallVector<rt::LoopAttr>
getLoops(const LoopNest &nest, ArrayRef<LoopKind> kinds, MLIRContext *context) {
  SmallVector<rt::LoopAttr> loops;
  ArrayRef<Access> accesses = nest.accesses;
  for (size_t loop = 0; loop < nest.sizes.size(); ++loop)
    if (nest.sizes[loop] != 1)
      loops.push_back(rt::LoopAttr::get(
          context, kinds[loop], nest.sizes[loop], accesses[0].strides[loop],
          accesses[1].strides[loop], accesses[2].strides[loop]));
  return loops;
}

/// Contractions of 16 bits that the library has with sums of f32 alone.
static LogicalResult widenSums(func::FuncOp function,
                               const KernelTarget &target) {
  SmallVector<linalg::LinalgOp> narrow;
  function.walk([&](linalg::LinalgOp op) {
    FailureOr<SmallVector<LoopKind>> kinds = matchContraction(op);
    if (failed(kinds) || !op.hasPureBufferSemantics())
      return;
    auto getElement = [&](unsigned i) {
      auto type = dyn_cast<MemRefType>(op->getOperand(i).getType());
      return type ? type.getElementType() : Type();
    };
    Type in = getElement(0), out = getElement(2);
    if (in && in == getElement(1) && isa_and_nonnull<FloatType>(out) &&
        out.getIntOrFloatBitWidth() < 32 &&
        target.isContractionCall(in, out, op.getStaticLoopRanges(), *kinds))
      narrow.push_back(op);
  });
  if (narrow.empty())
    return success();
  BufferAliases aliases(function);
  SmallVector<linalg::LinalgOp> found;
  for (linalg::LinalgOp op : narrow) {
    FailureOr<LoopNest> nest = buildLoopNest(op, aliases);
    if (failed(nest))
      return failure();
    Type out = getElementTypeOrSelf(op->getOperand(2).getType());
    if (!target.hasContraction(
            out, getLoops(*nest, *matchContraction(op), op.getContext())))
      found.push_back(op);
  }
  for (linalg::LinalgOp op : found)
    widenContraction(op, /*terms=*/0, /*isCut=*/false);
  return success();
}

LogicalResult Selection::visit(linalg::LinalgOp op, linalg::FillOp fill) {
  SmallVector<LoopKind> kinds = *matchContraction(op);
  Value a = op->getOperand(0), b = op->getOperand(1), c = op->getOperand(2);
  if (!isa<MemRefType>(a.getType()) || !isa<MemRefType>(b.getType()))
    return success();
  Type in = cast<MemRefType>(a.getType()).getElementType();
  Type out = cast<MemRefType>(c.getType()).getElementType();
  if (in != cast<MemRefType>(b.getType()).getElementType())
    return success();
  FailureOr<LoopNest> nest = buildLoopNest(op, aliases);
  if (failed(nest))
    return failure();
  if (!target.isContractionCall(in, out, nest->sizes, kinds))
    return success();

  SmallVector<rt::LoopAttr> loops = getLoops(*nest, kinds, op.getContext());
  // If the fill is also a factor, it must be done before.
  if (fill && (aliases.mayAlias(c, a) || aliases.mayAlias(c, b)))
    fill = {};
  OpBuilder builder(op);
  auto call = rt::ContractOp::create(
      builder, op.getLoc(), a, b, c,
      builder.getArrayAttr(llvm::to_vector_of<Attribute>(loops)),
      /*accumulate=*/!fill, isConstantBuffer(a), isConstantBuffer(b),
      /*only_a=*/false, /*only_b=*/false);
  if (Attribute scope = op->getAttr(kScopeAttr))
    call->setAttr(kScopeAttr, scope);
  op.erase();
  if (fill)
    fill.erase();
  return success();
}

LogicalResult Selection::run(Block &block) {
  SmallVector<linalg::FillOp> fills;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
    if (linalgOp && succeeded(matchContraction(linalgOp)) &&
        linalgOp.hasPureBufferSemantics()) {
      Value target = linalgOp.getDpsInits()[0];
      auto *found = llvm::find_if(fills, [&](linalg::FillOp fill) {
        return fill.getOutputs()[0] == target;
      });
      linalg::FillOp fill = found == fills.end() ? linalg::FillOp() : *found;
      forgetTouched(&op, fills);
      if (failed(visit(linalgOp, fill)))
        return failure();
      continue;
    }
    forgetTouched(&op, fills);
    if (auto fill = dyn_cast<linalg::FillOp>(op); fill && isZeroFill(fill)) {
      if (fills.size() >= kMostRemembered)
        fills.erase(fills.begin());
      fills.push_back(fill);
    }
    if (linalgOp)
      continue;
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        if (failed(run(inner)))
          return failure();
  }
  return success();
}

LogicalResult mlir::dist::selectContractions(func::FuncOp function,
                                             const KernelTarget &target) {
  if (failed(widenSums(function, target)))
    return failure();
  Selection selection(function, target);
  for (Block &block : function.getBody())
    if (failed(selection.run(block)))
      return failure();
  // Now no other op is replaced.
  function.walk([](rt::ContractOp call) {
    call.setOnlyA(call.getConstantA() && isOnlyReader(call, call.getA()));
    call.setOnlyB(call.getConstantB() && isOnlyReader(call, call.getB()));
  });
  return success();
}
