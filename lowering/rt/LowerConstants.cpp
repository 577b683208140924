//===- LowerConstants.cpp - Parts of constants become arguments -----------===//
//
// --dist-lower-constants: a rank holds its part of a constant as it holds its
// part of a parameter, in memory that the runtime gives it.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Dist.h"
#include "lowering/bounds/Bounds.h"
#include "lowering/rt/Passes.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTLOWERCONSTANTS
#include "lowering/rt/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// Whether the constant can be written to a file as it is.
static LogicalResult checkData(LocalConstantOp op) {
  ElementsAttr value = op.getValue();
  ShapedType type = value.getShapedType();
  if (failed(rt::getStorageDtype(type.getElementType())))
    return op.emitOpError("cannot keep elements of type ")
           << type.getElementType()
           << " in a file; convert the constant, or use it whole";
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    if (static_cast<int64_t>(resource.getData().size()) != getTensorBytes(type))
      return op.emitOpError("has a resource of ")
             << resource.getData().size() << " bytes, but a constant of type "
             << type << " takes " << getTensorBytes(type);
  } else if (!isa<DenseElementsAttr>(value)) {
    return op.emitOpError(
        "has a constant that is neither dense nor a resource");
  }
  return success();
}

/// The translation to LLVM IR does not support bytes for i1.
static LogicalResult makeDense(arith::ConstantOp op) {
  auto resource = dyn_cast<DenseResourceElementsAttr>(op.getValue());
  if (!resource || !resource.getElementType().isInteger(1))
    return success();
  DenseElementsAttr elements = getDenseElements(resource);
  if (!elements)
    return op.emitOpError("has a resource of ")
           << resource.getData().size() << " bytes, but a constant of type "
           << resource.getType() << " takes "
           << getTensorBytes(resource.getType());
  op.setValueAttr(elements);
  return success();
}

/// One number many times over takes no memory of the program: it is filled in
/// when it is needed.
static void fillSplat(arith::ConstantOp op) {
  auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!splat || !type || getTensorBytes(type) <= kMostSplatBytes)
    return;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value number = arith::ConstantOp::create(
      builder, loc, cast<TypedAttr>(splat.getSplatValue<Attribute>()));
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  op.replaceAllUsesWith(
      linalg::FillOp::create(builder, loc, number, empty).getResult(0));
  op.erase();
}

namespace {
struct LowerConstants : dist::impl::DistLowerConstantsBase<LowerConstants> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto entry =
        dyn_cast_or_null<FunctionOpInterface>(getEntryFunction(module));
    Builder builder(&getContext());
    llvm::MapVector<std::pair<Attribute, Attribute>,
                    SmallVector<LocalConstantOp>>
        parts;
    WalkResult walked = module.walk([&](Operation *op) {
      if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
        if (failed(makeDense(constant)))
          return WalkResult::interrupt();
        fillSplat(constant);
        return WalkResult::advance();
      }
      auto part = dyn_cast<LocalConstantOp>(op);
      if (!part)
        return WalkResult::advance();
      if (!entry || op->getParentOfType<FunctionOpInterface>() != entry)
        return WalkResult(op->emitOpError(
            "stands in a function that could not be inlined into the entry "
            "function, whose argument it is to become"));
      if (failed(checkData(part)))
        return WalkResult::interrupt();
      parts[{part.getValue(), part.getSharding()}].push_back(part);
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return signalPassFailure();
    if (parts.empty())
      return;
    SmallVector<Type> types;
    SmallVector<Location> locations;
    SmallVector<Attribute> described;
    for (auto &[data, equal] : parts) {
      LocalConstantOp part = equal.front();
      types.push_back(part.getType());
      locations.push_back(part.getLoc());
      NamedAttrList entries;
      entries.set("value", part.getValue());
      entries.set(kShardingAttr, part.getSharding());
      entries.set("local_type", TypeAttr::get(part.getType()));
      described.push_back(entries.getDictionary(&getContext()));
    }
    unsigned first = entry.getNumArguments();
    if (failed(entry.insertArguments(
            SmallVector<unsigned>(types.size(), first), types,
            SmallVector<DictionaryAttr>(types.size()), locations)))
      return signalPassFailure();
    for (auto [number, entryOfParts] : llvm::enumerate(parts))
      for (LocalConstantOp part : entryOfParts.second) {
        part.getResult().replaceAllUsesWith(entry.getArgument(first + number));
        part.erase();
      }
    module->setAttr(rt::kConstantsAttr, builder.getArrayAttr(described));
  }
};
} // namespace
