//===- TileTables.h - Tables of tiles of attentions -------------*- C++ -*-===//

#ifndef DIST_LOWERING_KERNELS_TILETABLES_H
#define DIST_LOWERING_KERNELS_TILETABLES_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::dist {

/// The tiles that are needed, as constants of the program. Equal tables are
/// one.
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
