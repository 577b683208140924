//===- TileTables.cpp - Which tiles of attentions are needed --------------===//

#include "lowering/kernels/TileTables.h"

using namespace mlir;
using namespace mlir::dist;

memref::GlobalOp TileTables::get(StringRef name, ArrayRef<int64_t> values,
                                 int64_t columns, Location loc) {
  OpBuilder b(loc.getContext());
  int64_t shape[] = {int64_t(values.size()) / columns, columns};
  auto data = DenseElementsAttr::get(
      RankedTensorType::get(shape, b.getI64Type()), values);
  memref::GlobalOp &global = known[data];
  if (!global) {
    global = memref::GlobalOp::create(b, loc, name, b.getStringAttr("private"),
                                      MemRefType::get(shape, b.getI64Type()),
                                      data, /*constant=*/true,
                                      /*alignment=*/IntegerAttr());
    symbols.insert(global);
  }
  return global;
}
