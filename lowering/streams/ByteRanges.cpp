//===- ByteRanges.cpp - Bytes that ops access -----------------------------===//

#include "lowering/streams/ByteRanges.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::dist;

bool mlir::dist::mayOverlap(const ByteRange &a, const ByteRange &b) {
  if (!a.memory || !b.memory)
    return true;
  if (a.memory != b.memory) {
    auto first = a.memory.getDefiningOp<memref::GetGlobalOp>();
    auto second = b.memory.getDefiningOp<memref::GetGlobalOp>();
    return first && second && first.getName() == second.getName();
  }
  return a.begin < b.end && b.begin < a.end;
}

/// The part of its source that `view` names, in bytes.
static ByteRange getPart(memref::ViewOp view) {
  ByteRange place{view.getSource()};
  APInt shift;
  MemRefType type = view.getType();
  if (matchPattern(view.getByteShift(), m_ConstantInt(&shift)) &&
      type.hasStaticShape() && type.getElementType().isIntOrIndexOrFloat()) {
    unsigned bits =
        type.getElementType().isIndex() ? 64 : type.getElementTypeBitWidth();
    place.begin = shift.getSExtValue();
    place.end = place.begin + type.getNumElements() * ((bits + 7) / 8);
  }
  return place;
}

SmallVector<ByteRange, 2> mlir::dist::getByteRanges(Value buffer) {
  SmallVector<ByteRange, 2> places;
  SmallVector<Value> pending = {buffer};
  llvm::SmallPtrSet<Value, 4> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (!op) {
      bool isArgument =
          isa<FunctionOpInterface>(value.getParentBlock()->getParentOp());
      places.push_back({isArgument ? value : Value()});
    } else if (auto view = dyn_cast<memref::ViewOp>(op);
               view && isa<BlockArgument>(view.getSource())) {
      places.push_back(getPart(view));
    } else if (isa<ViewLikeOpInterface>(op)) {
      pending.push_back(op->getOperand(0));
    } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
      pending.append({select.getTrueValue(), select.getFalseValue()});
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      unsigned number = cast<OpResult>(value).getResultNumber();
      for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
        pending.push_back(region->front().getTerminator()->getOperand(number));
    } else {
      bool isMemory = isa<memref::AllocOp, memref::GetGlobalOp>(op);
      places.push_back({isMemory ? value : Value()});
    }
  }
  return places;
}

static bool isBuffer(Value value) {
  return isa<BaseMemRefType>(value.getType());
}

void mlir::dist::visitAccesses(Operation *op,
                               llvm::function_ref<void(Value, bool)> visit) {
  op->walk([&](Operation *inner) {
    if (isa<ViewLikeOpInterface, memref::AllocOp>(inner))
      return;
    if (auto call = dyn_cast<CallOpInterface>(inner)) {
      auto callee =
          dyn_cast_if_present<FunctionOpInterface>(call.resolveCallable());
      for (auto [index, operand] : llvm::enumerate(call.getArgOperands()))
        if (isBuffer(operand))
          visit(operand,
                !callee ||
                    !callee.getArgAttr(
                        index, LLVM::LLVMDialect::getReadonlyAttrName()));
      return;
    }
    auto effects = dyn_cast<MemoryEffectOpInterface>(inner);
    if (!effects) {
      // Branches and loops access what the ops in them access. Other ops may
      // access their operands.
      if (!inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
        for (Value operand : inner->getOperands())
          if (isBuffer(operand))
            visit(operand, true);
      return;
    }
    SmallVector<MemoryEffects::EffectInstance> instances;
    effects.getEffects(instances);
    for (const MemoryEffects::EffectInstance &instance : instances) {
      Value value = instance.getValue();
      // The status words are no buffer.
      if (!value && isa_and_present<rt::RtDialect>(inner->getDialect()))
        continue;
      if (!value || isBuffer(value))
        visit(value, isa<MemoryEffects::Write, MemoryEffects::Free>(
                         instance.getEffect()));
    }
  });
}
