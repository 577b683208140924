//===- SizeBindings.h - What is said of arguments' sizes --------*- C++ -*-===//

#ifndef DIST_PASSES_SIZES_SIZEBINDINGS_H
#define DIST_PASSES_SIZES_SIZEBINDINGS_H

#include "passes/sizes/BindSizes.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::dist {

/// The type of the whole tensor that an argument is, or is a part of.
RankedTensorType getWholeType(FunctionOpInterface function, unsigned number);

/// The names of an argument's dimensions (`dist.dimensions`); none if it has no
/// such attribute.
SmallVector<StringRef> getDimensionNames(FunctionOpInterface function,
                                         unsigned number);

/// Sizes by name, as `bindings` say of a name or of a dimension that has it.
/// All must say the same, of at least 1, and of names that there are.
FailureOr<llvm::StringMap<int64_t>>
findNamedSizes(FunctionOpInterface function, ArrayRef<SizeBinding> bindings);

} // namespace mlir::dist

#endif // DIST_PASSES_SIZES_SIZEBINDINGS_H
