//===- Random.cpp - Assembly and verifiers of random numbers --------------===//

#include "dialects/dist/IR/Random.h"
#include "dialects/dist/IR/Assembly.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::dist;

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistRandom.cpp.inc"

LogicalResult RandomWordsOp::verify() {
  if (getSizes().size() != getIndices().size() ||
      static_cast<size_t>(llvm::count_if(getSizes(), ShapedType::isDynamic)) !=
          getDynamicSizes().size())
    return emitOpError("has ")
           << getIndices().size() << " indices, " << getSizes().size()
           << " sizes, and " << getDynamicSizes().size()
           << " of these that are not known; each index is "
              "to have a size";
  if (getBy() && !isa<LocationAttr>(*getBy()))
    return emitOpError("has 'by' ") << *getBy() << ", which is no location";
  if (!getAxes()) {
    if (getBy())
      return emitOpError("has 'by' and no streams");
    return success();
  }
  if (getStream())
    return emitOpError("has streams over axes and the number of a stream");
  if (getAxes()->empty())
    return emitOpError("has streams over no axis");
  return verifyAxes(getAxisRefs(*getAxes()), lookupMesh(*this, {}),
                    [&] { return emitOpError(); });
}

DictionaryAttr mlir::dist::getRandomStreams(int64_t number,
                                            ArrayRef<AxisRefAttr> axes,
                                            ShardingAttr sharding,
                                            ArrayRef<int64_t> sizes) {
  Builder builder(sharding.getContext());
  SmallVector<Attribute> refs(axes.begin(), axes.end());
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("axes", builder.getArrayAttr(refs)),
       builder.getNamedAttr("number", builder.getI64IntegerAttr(number)),
       builder.getNamedAttr("sharding", sharding),
       builder.getNamedAttr("sizes", builder.getDenseI64ArrayAttr(sizes))});
}
