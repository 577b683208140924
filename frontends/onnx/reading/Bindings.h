//===- Bindings.h - Sizes of dynamic dimensions -----------------*- C++ -*-===//
//
// What --bind says of the inputs' dimensions that the file leaves open. Those
// of which it says nothing stay open.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_READING_BINDINGS_H
#define DIST_FRONTENDS_ONNX_READING_BINDINGS_H

#include "Model.h"
#include "Sizes.h"

#include <map>

namespace mlir::dist::frontend {

/// What open dimensions are, by their name, or by place as `input[0]`: a size,
/// or the name or place of another one that is of the same size.
using Bindings = std::map<std::string, std::string>;

/// Every binding names an open dimension of an input, and says a size or
/// another one.
llvm::Error checkBindings(const Model &model, const Bindings &bindings);

/// The input's shape, of bindings that were checked.
llvm::Expected<Shape> inputShape(const Model &model, const ValueInfo &input,
                                 const Bindings &bindings, Sizes &sizes);

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_READING_BINDINGS_H
