//===- ConvertToF64.cpp - The same program in f64 -------------------------===//
//
// --dist-convert-to-f64: so that rounding is told apart from a wrong schedule.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "lowering/decompose/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTCONVERTTOF64
#include "lowering/decompose/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

static APFloat widen(APFloat value) {
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value;
}

static bool isNarrow(Type type) {
  auto floatType = dyn_cast<FloatType>(type);
  return floatType && floatType.getWidth() < 64;
}

/// Constants as f64; every narrower type is a subset.
static Attribute widen(DenseElementsAttr attr) {
  auto type = attr.getType().clone(Float64Type::get(attr.getContext()));
  if (attr.isSplat())
    return DenseElementsAttr::get(type, widen(attr.getSplatValue<APFloat>()));
  SmallVector<APFloat> values;
  values.reserve(attr.getNumElements());
  for (const APFloat &value : attr.getValues<APFloat>())
    values.push_back(widen(value));
  return DenseElementsAttr::get(type, values);
}

namespace {
struct ConvertToF64 : dist::impl::DistConvertToF64Base<ConvertToF64> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    Type f64 = Float64Type::get(&getContext());
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](FloatType type) -> std::optional<Type> {
      if (!isNarrow(type))
        return std::nullopt;
      return f64;
    });
    replacer.addReplacement(
        [&](FloatAttr attr) -> std::optional<std::pair<Attribute, WalkResult>> {
          if (!isNarrow(attr.getType()))
            return std::nullopt;
          return std::pair<Attribute, WalkResult>(
              FloatAttr::get(f64, widen(attr.getValue())), WalkResult::skip());
        });
    replacer.addReplacement(
        [&](DenseElementsAttr attr)
            -> std::optional<std::pair<Attribute, WalkResult>> {
          if (!isNarrow(attr.getElementType()))
            return std::pair<Attribute, WalkResult>(attr, WalkResult::skip());
          return std::pair<Attribute, WalkResult>(widen(attr),
                                                  WalkResult::skip());
        });
    replacer.addReplacement(
        [&](DenseResourceElementsAttr attr)
            -> std::optional<std::pair<Attribute, WalkResult>> {
          if (!isNarrow(attr.getElementType()))
            return std::pair<Attribute, WalkResult>(attr, WalkResult::skip());
          return std::pair<Attribute, WalkResult>(widen(getDenseElements(attr)),
                                                  WalkResult::skip());
        });
    // Ops that look at the bits have no meaning in another width.
    WalkResult walked = module.walk([&](Operation *op) {
      bool casts = isa<arith::BitcastOp>(op) &&
                   (isNarrow(getElementTypeOrSelf(op->getResult(0))) ||
                    isNarrow(getElementTypeOrSelf(op->getOperand(0))));
      bool lacksData = false;
      for (NamedAttribute attr : op->getAttrs())
        if (auto resource =
                dyn_cast<DenseResourceElementsAttr>(attr.getValue()))
          lacksData |= isNarrow(resource.getElementType()) &&
                       getTensorBytes(resource.getType()) !=
                           static_cast<int64_t>(resource.getData().size());
      if (!casts && !lacksData)
        return WalkResult::advance();
      op->emitOpError(casts ? "reads the bits of a narrow float"
                            : "holds narrow floats as a resource that has not "
                              "the size of its type")
          << ", of type " << op->getResult(0).getType()
          << ", and cannot be converted to f64";
      return WalkResult::interrupt();
    });
    if (walked.wasInterrupted())
      return signalPassFailure();
    replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                          /*replaceLocs=*/false,
                                          /*replaceTypes=*/true);
    // Conversions between floats have nothing left to do.
    module.walk([](Operation *op) {
      if (!isa<arith::ExtFOp, arith::TruncFOp>(op) ||
          op->getOperand(0).getType() != op->getResult(0).getType())
        return;
      op->getResult(0).replaceAllUsesWith(op->getOperand(0));
      op->erase();
    });
  }
};
} // namespace
