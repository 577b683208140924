//===- Bindings.h - Sizes of dynamic dimensions -----------------*- C++ -*-===//
//
// What --bind says of the inputs' dimensions that the file leaves open.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_READING_BINDINGS_H
#define DIST_FRONTENDS_ONNX_READING_BINDINGS_H

#include "Model.h"

#include <map>

namespace mlir::dist::frontend {

/// Sizes of dynamic dimensions by name, or by place as `input[0]`.
using Bindings = std::map<std::string, int64_t>;

/// Every binding names a dynamic dimension of an input, and each of these has
/// one; all that lack one are named at once.
llvm::Error checkBindings(const Model &model, const Bindings &bindings);

/// The input's shape, of bindings that were checked.
llvm::Expected<Shape> inputShape(const Model &model, const ValueInfo &input,
                                 const Bindings &bindings);

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_READING_BINDINGS_H
