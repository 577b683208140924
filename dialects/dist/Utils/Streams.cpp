//===- Streams.cpp - Collectives that run beside computation --------------===//

#include "dialects/dist/Utils/Streams.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/Block.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::dist;

int32_t mlir::dist::getStream(Operation *collective) {
  auto stream = collective->getAttrOfType<IntegerAttr>(kStreamAttr);
  return stream ? stream.getInt() : 0;
}

ArrayAttr mlir::dist::getCommAxes(Operation *op) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!collective || isa<AllSliceOp>(op))
    return {};
  auto permute = dyn_cast<CollectivePermuteOp>(op);
  if (!permute)
    return collective.getAxes();
  llvm::SetVector<Attribute> axes;
  for (ArrayAttr list : {permute.getAxes(), permute.getToAxes()})
    for (AxisRefAttr ref : getAxisRefs(list))
      axes.insert(AxisRefAttr::get(op->getContext(), ref.getName(),
                                   /*pre=*/1, /*size=*/0));
  return ArrayAttr::get(op->getContext(), axes.getArrayRef());
}

Operation *mlir::dist::findFirstUser(Value value) {
  Operation *first = nullptr;
  for (Operation *user : value.getUsers()) {
    Operation *here = value.getParentBlock()->findAncestorOpInBlock(*user);
    if (!here)
      return nullptr;
    if (!first || here->isBeforeInBlock(first))
      first = here;
  }
  return first;
}
