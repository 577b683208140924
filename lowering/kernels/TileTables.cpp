//===- TileTables.cpp - Which tiles of attentions are needed --------------===//

#include "lowering/kernels/TileTables.h"

using namespace mlir;
using namespace mlir::dist;

memref::GlobalOp TileTables::get(ArrayRef<NeededTiles> rows, Location loc) {
  SmallVector<int64_t> values;
  for (const NeededTiles &row : rows)
    values.append({row.start, row.end, row.plainStart, row.plainEnd});
  OpBuilder b(loc.getContext());
  int64_t shape[] = {int64_t(rows.size()), 4};
  auto data = DenseElementsAttr::get(
      RankedTensorType::get(shape, b.getI64Type()), ArrayRef(values));
  memref::GlobalOp &global = known[data];
  if (!global) {
    global = memref::GlobalOp::create(
        b, loc, "attention_tiles", b.getStringAttr("private"),
        MemRefType::get(shape, b.getI64Type()), data, /*constant=*/true,
        /*alignment=*/IntegerAttr());
    symbols.insert(global);
  }
  return global;
}
