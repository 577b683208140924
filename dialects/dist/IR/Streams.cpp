//===- Streams.cpp - Collectives that run beside computation --------------===//

#include "dialects/dist/IR/Streams.h"
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

LogicalResult mlir::dist::verifyOverlapAttr(Operation *op, Attribute attr) {
  auto modules = dyn_cast<DictionaryAttr>(attr);
  if (!modules || !isa<MeshOp>(op) ||
      !llvm::all_of(modules, [](NamedAttribute entry) {
        auto wish = dyn_cast<DictionaryAttr>(entry.getValue());
        auto chunks = wish ? wish.getAs<IntegerAttr>("chunks") : IntegerAttr();
        bool isRing = wish && !chunks && wish.getAs<UnitAttr>("ring");
        return isa<BoolAttr>(entry.getValue()) ||
               ((isRing || (chunks && chunks.getType().isInteger(64) &&
                            chunks.getInt() > 1)) &&
                wish.getAs<LocationAttr>("by"));
      }))
    return op->emitOpError()
           << "'" << kOverlapAttr << "' is a dictionary of bools, or {by = "
           << "loc(...), chunks = ...} with at least 2, or {by = loc(...), "
              "ring}, by modules' paths, on a mesh, but is "
           << attr;
  return success();
}
