//===- Rt.cpp - The dialect of runtime calls ------------------------------===//

#include "lowering/rt/Rt.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::rt;

#include "lowering/rt/RtDialect.cpp.inc"
#define GET_OP_CLASSES
#include "lowering/rt/RtOps.cpp.inc"

void RtDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "lowering/rt/RtOps.cpp.inc"
      >();
}

namespace {
struct Dtype {
  const char *name;
  int32_t value; // dist_dtype
};
} // namespace

/// Names and numbers as in runtime.h and docs/bundle.md.
static Dtype lookupDtype(Type type) {
  if (type.isF64())
    return {"f64", 0};
  if (type.isF32())
    return {"f32", 1};
  if (type.isF16())
    return {"f16", 2};
  if (type.isBF16())
    return {"bf16", 3};
  if (type.isUnsignedInteger(8))
    return {"u8", 8};
  if (auto integer = dyn_cast<IntegerType>(type)) {
    switch (integer.getWidth()) {
    case 64:
      return {"i64", 4};
    case 32:
      return {"i32", 5};
    case 16:
      return {"i16", 6};
    case 8:
      return {"i8", 7};
    case 1:
      return {"i1", 9};
    }
  }
  if (type.isIndex())
    return {"i64", 4};
  return {"", -1};
}

FailureOr<int32_t> mlir::rt::getDtype(Type elementType) {
  Dtype dtype = lookupDtype(elementType);
  if (dtype.value < 0)
    return failure();
  return dtype.value;
}

StringRef mlir::rt::getDtypeName(Type elementType) {
  return lookupDtype(elementType).name;
}

int64_t mlir::rt::getElementBytes(Type elementType) {
  if (auto complex = dyn_cast<ComplexType>(elementType))
    return 2 * getElementBytes(complex.getElementType());
  return elementType.isIndex() ? 8
                               : llvm::PowerOf2Ceil(llvm::divideCeil(
                                     elementType.getIntOrFloatBitWidth(), 8));
}

FailureOr<int32_t> mlir::rt::getStorageDtype(Type elementType) {
  if (FailureOr<int32_t> dtype = getDtype(elementType); succeeded(dtype))
    return dtype;
  if (!elementType.isIntOrFloat())
    return failure();
  return getDtype(IntegerType::get(elementType.getContext(),
                                   8 * getElementBytes(elementType)));
}

//===----------------------------------------------------------------------===//
// CollectiveOp
//===----------------------------------------------------------------------===//

void CollectiveOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  // On tensors there are none: all ranks run the same program, so that a
  // collective whose result nobody reads disappears from all of them.
  if (isa<MemRefType>(getInput().getType()))
    effects.emplace_back(MemoryEffects::Read::get(), &getInputMutable());
  if (isa<MemRefType>(getInit().getType()))
    effects.emplace_back(MemoryEffects::Write::get(), &getInitMutable());
}

static bool isContiguous(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return true;
  int64_t offset;
  SmallVector<int64_t> strides;
  return succeeded(memref.getStridesAndOffset(strides, offset)) &&
         memref.areTrailingDimsContiguous(memref.getRank());
}

LogicalResult CollectiveOp::verify() {
  struct Kind {
    StringRef name;
    size_t params;
    bool reduces, morePairs;
  };
  static const Kind kinds[] = {
      {"all_reduce", 1, true, false},
      {"all_gather", 3, false, false},
      {"reduce_scatter", 3, true, false},
      {"all_to_all", 6, false, false},
      {"broadcast", 2, false, false},
      {"collective_permute", 1, false, true},
      {"halo_exchange", 5, false, false},
  };
  const Kind *kind =
      llvm::find_if(kinds, [&](const Kind &k) { return k.name == getKind(); });
  if (kind == std::end(kinds))
    return emitOpError("unknown kind '") << getKind() << "'";
  if (kind->morePairs ? getParams().size() % 2 != 1
                      : getParams().size() != kind->params)
    return emitOpError() << getKind() << " takes " << kind->params
                         << (kind->morePairs ? " integer and pairs"
                                             : " integers")
                         << ", " << getParams().size() << " given";
  if (kind->reduces != getReduction().has_value())
    return emitOpError() << getKind()
                         << (kind->reduces ? " needs a" : " takes no")
                         << " reduction";
  for (Type type : {getInput().getType(), getInit().getType()})
    if (!isContiguous(type))
      return emitOpError("operand of type ") << type << " is not contiguous";
  return success();
}

//===----------------------------------------------------------------------===//
// ContractOp
//===----------------------------------------------------------------------===//

LogicalResult ContractOp::verify() {
  if (getLoops().size() % 5 != 0)
    return emitOpError("loops holds five integers a loop, ")
           << getLoops().size() << " given";
  return success();
}
