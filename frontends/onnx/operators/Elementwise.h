//===- Elementwise.h - What elementwise converters share --------*- C++ -*-===//
//
// Checks of a node's operands, and one loop nest over all of them.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_OPERATORS_ELEMENTWISE_H
#define DIST_FRONTENDS_ONNX_OPERATORS_ELEMENTWISE_H

#include "Converter.h"

namespace mlir::dist::frontend {

/// All `inputs` are there, are tensors, and there are no more.
LogicalResult takesInputs(NodeContext &c, size_t inputs);
/// One elementwise op over all inputs, broadcast; its result becomes result 0.
LogicalResult emitElementwise(NodeContext &c, DType result, Emitter::Body body);
/// The same of one input: floating point in, the same out.
LogicalResult emitFloat(NodeContext &c,
                        llvm::function_ref<Value(Scalar &, Value)> body);

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_OPERATORS_ELEMENTWISE_H
