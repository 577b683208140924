//===- BindSizes.h - Sets sizes that were unknown ---------------*- C++ -*-===//

#ifndef DIST_PASSES_SIZES_BINDSIZES_H
#define DIST_PASSES_SIZES_BINDSIZES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <string>
#include <vector>

namespace mlir::dist {

/// The size of one dimension of an argument of the entry function. Arguments
/// are named as in bundles: by `dist.input` or `dist.parameter`, else arg0, …
/// If `dim` is negative: the size of all dimensions with the name `argument` in
/// `dist.dimensions`.
struct SizeBinding {
  std::string argument;
  int64_t dim;
  int64_t size;
};

/// Parses texts such as "x[0]=8" and "batch=8"; reports the first malformed one
/// to `emitError`.
FailureOr<std::vector<SizeBinding>>
parseBindings(ArrayRef<std::string> texts,
              function_ref<void(const Twine &)> emitError);

/// The texts that parseBindings makes `bindings` of.
SmallVector<std::string> formatBindings(ArrayRef<SizeBinding> bindings);

/// The name of an argument in bindings.
std::string getArgumentName(FunctionOpInterface function, unsigned number);

/// Whether there are values of unknown sizes.
bool hasUnknownSizes(ModuleOp module);

/// Names of the entry function's arguments, as --input and --bind give them;
/// empty if the entry function is not unique.
std::vector<std::string> getArgumentNames(ModuleOp module);

/// Adds to `bindings` the sizes that a tensor of shape `shape` implies for the
/// argument `name`: those of dimensions that are unknown and not bound yet.
void addSizes(ModuleOp module, StringRef name, ArrayRef<int64_t> shape,
              std::vector<SizeBinding> &bindings);

/// Gives the arguments of the entry function the sizes in `bindings`, and all
/// values the sizes that follow. Functions that are called with other sizes
/// than before are copied. In a module of level 3 the sizes are those of whole
/// tensors, which the mesh must divide. Dimensions of one name
/// (dist.dimensions) have one size, of at least 1. An argument or value whose
/// size is still unknown is an error.
LogicalResult bindSizes(ModuleOp module, ArrayRef<SizeBinding> bindings);

} // namespace mlir::dist

#endif // DIST_PASSES_SIZES_BINDSIZES_H
