//===- Bindings.h - Sizes of dynamic dimensions -----------------*- C++ -*-===//
//
// What --bind says of the inputs' dimensions that the file leaves open.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_BINDINGS_H
#define DIST_FRONTENDS_ONNX_BINDINGS_H

#include "Import.h"
#include "Model.h"

namespace mlir::dist::frontend {

/// Every binding names a dynamic dimension of an input.
llvm::Error checkBindings(const Model &model, const ImportOptions &options);

/// The input's shape; a dimension without a size is an error that says how to
/// give it one.
llvm::Expected<Shape> inputShape(const Model &model, const ValueInfo &input,
                                 const ImportOptions &options);

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_BINDINGS_H
