//===- SizeBindings.h - Bindings of arguments' sizes ------------*- C++ -*-===//

#ifndef DIST_PASSES_SIZES_SIZEBINDINGS_H
#define DIST_PASSES_SIZES_SIZEBINDINGS_H

#include "passes/sizes/BindSizes.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::dist {

/// The type of the whole tensor that an argument is, or is a part of.
RankedTensorType getWholeType(FunctionOpInterface function, unsigned number);

/// The names of an argument's dimensions (`dist.dimensions`); empty without
/// this attribute.
SmallVector<StringRef> getDimensionNames(FunctionOpInterface function,
                                         unsigned number);

/// Sizes by name, from bindings of a name or of a dimension of that name. They
/// must not contradict each other, must be at least 1, and the names must
/// exist.
FailureOr<llvm::StringMap<int64_t>>
findNamedSizes(FunctionOpInterface function, ArrayRef<SizeBinding> bindings);

} // namespace mlir::dist

#endif // DIST_PASSES_SIZES_SIZEBINDINGS_H
