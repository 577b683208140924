//===- Streams.cpp - Collectives that run beside computation --------------===//

#include "dialects/dist/IR/Streams.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/Block.h"

using namespace mlir;
using namespace mlir::dist;

int32_t mlir::dist::getStream(Operation *collective) {
  auto stream = collective->getAttrOfType<IntegerAttr>(kStreamAttr);
  return stream ? stream.getInt() : 0;
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

LogicalResult mlir::dist::verifyStreamAttr(Operation *op, Attribute attr) {
  auto stream = dyn_cast<IntegerAttr>(attr);
  if (!stream || !stream.getType().isSignlessInteger(32) ||
      stream.getInt() < 1 || stream.getInt() > kMaxStream)
    return op->emitOpError()
           << "'" << kStreamAttr << "' must be an i32 from 1 to " << kMaxStream
           << ", but is " << attr;
  if (!isa<CollectiveOpInterface>(op) || isa<AllSliceOp>(op))
    return op->emitOpError()
           << "has '" << kStreamAttr << "', but is no collective that sends";
  Value result = op->getResult(0);
  if (!result.use_empty() && !findFirstUser(result))
    return op->emitOpError() << "has '" << kStreamAttr
                             << "', but its result is used in another block";
  return success();
}
