//===- Updates.cpp - Results that take an argument's place ----------------===//

#include "lowering/buffers/Updates.h"
#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/Utils/FunctionAttrs.h"
#include "lowering/buffers/Passes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace mlir::dist;

Updates mlir::dist::getUpdates(func::FuncOp function) {
  Updates updates(function.getNumResults());
  for (unsigned result = 0; result < updates.size(); ++result)
    if (auto number =
            function.getResultAttrOfType<IntegerAttr>(result, kUpdatesAttr))
      updates[result] = number.getInt();
  return updates;
}

void mlir::dist::recordResults(func::FuncOp function, const Updates &updates) {
  auto module = function->getParentOfType<ModuleOp>();
  Builder builder(function.getContext());
  llvm::BitVector updated(function.getNumArguments());
  SmallVector<int64_t> own;
  for (auto [result, argument] : llvm::enumerate(updates))
    if (argument)
      updated.set(*argument);
    else
      own.push_back(result);
  module->setAttr(kNumResultsAttr, builder.getI64IntegerAttr(own.size()));
  if (updated.none())
    return;
  module->setAttr(kResultNumbersAttr, builder.getDenseI64ArrayAttr(own));
  updateArgAttrs(function, [&](unsigned number, NamedAttrList &list) {
    if (updated.test(number))
      list.set(kUpdatedAttr, builder.getUnitAttr());
  });
}

FailureOr<func::ReturnOp> mlir::dist::findResults(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError("entry function has ")
           << function.getBody().getBlocks().size()
           << " blocks; only structured control flow can be lowered";
  auto terminator =
      cast<func::ReturnOp>(function.getBody().front().getTerminator());
  for (auto [number, type] : llvm::enumerate(terminator.getOperandTypes()))
    if (auto shaped = dyn_cast<ShapedType>(type);
        !shaped || !shaped.hasStaticShape())
      return function.emitOpError("result #")
             << number << " has type " << type
             << "; results must be tensors of static shape";
  return terminator;
}
