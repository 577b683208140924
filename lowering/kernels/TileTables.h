//===- TileTables.h - Which tiles of attentions are needed ------*- C++ -*-===//

#ifndef DIST_LOWERING_KERNELS_TILETABLES_H
#define DIST_LOWERING_KERNELS_TILETABLES_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::dist {

/// Which tiles are needed, in the program's data. Equal tables are one.
class TileTables {
public:
  explicit TileTables(ModuleOp module) : symbols(module) {}

  /// A constant [rows, columns] of i64.
  memref::GlobalOp get(StringRef name, ArrayRef<int64_t> values,
                       int64_t columns, Location loc);

private:
  SymbolTable symbols;
  DenseMap<Attribute, memref::GlobalOp> known;
};

} // namespace mlir::dist

#endif // DIST_LOWERING_KERNELS_TILETABLES_H
