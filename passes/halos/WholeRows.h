//===- WholeRows.h - Rows that every device has -----------------*- C++ -*-===//
//
// A device's block that was sliced from a value which all devices have whole.
// Then rows beside the block need not be exchanged.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_HALOS_WHOLEROWS_H
#define DIST_PASSES_HALOS_WHOLEROWS_H

#include "dialects/dist/IR/Dist.h"

namespace mlir::dist {

/// Whether `local` is a block along `dim`, over `axes`, of a value that is
/// whole along `dim` on every device.
bool isSliceOfWhole(Value local, int64_t dim, ArrayAttr axes);

/// `local` with all rows along `dim`, those of the whole tensor without
/// padding; slices along other dimensions are repeated on it. Null if it is no
/// such block, or does not have `size` rows.
Value getWholeRows(OpBuilder &builder, Value local, int64_t dim, int64_t size,
                   ArrayAttr axes);

} // namespace mlir::dist

#endif // DIST_PASSES_HALOS_WHOLEROWS_H
