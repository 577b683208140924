//===- BindSizes.h - Sizes that only running tells become known -*- C++ -*-===//

#ifndef DIST_PASSES_SIZES_BINDSIZES_H
#define DIST_PASSES_SIZES_BINDSIZES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <string>
#include <vector>

namespace mlir::dist {

/// The size of one dimension of an argument of the entry function. Arguments
/// are named as in bundles: by `dist.input` or `dist.parameter`, else arg0, …
/// Where `dim` is negative, that of all dimensions that `dist.dimensions` gives
/// the name `argument`.
struct SizeBinding {
  std::string argument;
  int64_t dim;
  int64_t size;
};

/// Parses texts such as "x[0]=8" and "batch=8"; tells `emitError` of the first
/// that is none.
FailureOr<std::vector<SizeBinding>>
parseBindings(ArrayRef<std::string> texts,
              function_ref<void(const Twine &)> emitError);

/// The texts that parseBindings makes `bindings` of.
SmallVector<std::string> formatBindings(ArrayRef<SizeBinding> bindings);

/// The name of an argument in bindings.
std::string getArgumentName(FunctionOpInterface function, unsigned number);

/// Whether there are values whose sizes are not known.
bool hasUnknownSizes(ModuleOp module);

/// Names of the entry function's arguments, as --input and --bind give them;
/// none where it is not clear which function that is.
std::vector<std::string> getArgumentNames(ModuleOp module);

/// Adds to `bindings` what a tensor of shape `shape` tells of the argument
/// called `name`: the sizes of those dimensions that are not known and not
/// bound yet.
void addSizes(ModuleOp module, StringRef name, ArrayRef<int64_t> shape,
              std::vector<SizeBinding> &bindings);

/// Gives the arguments of the entry function the sizes in `bindings` and all
/// values those that follow; functions called with other sizes than before
/// become copies. In a module of level 3 the sizes are those of the whole
/// tensors, which the mesh must divide. Dimensions of one name
/// (dist.dimensions) are of one size, of at least 1: what is known of one is
/// known of all. An argument or value whose size is still not known then is an
/// error.
LogicalResult bindSizes(ModuleOp module, ArrayRef<SizeBinding> bindings);

} // namespace mlir::dist

#endif // DIST_PASSES_SIZES_BINDSIZES_H
