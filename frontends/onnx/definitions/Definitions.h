//===- Definitions.h - What operators look like in each opset ---*- C++ -*-===//
//
// The attributes, inputs and outputs that ONNX defines for each operator, so
// that a node which says more than its conversion follows is an error, and no
// wrong numbers.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_DEFINITIONS_DEFINITIONS_H
#define DIST_FRONTENDS_ONNX_DEFINITIONS_DEFINITIONS_H

#include "frontends/onnx/operators/NodeContext.h"

namespace mlir::dist::frontend {

/// The opsets whose definitions are known.
inline constexpr int64_t kFirstOpset = 13, kLastOpset = 28;

/// All that a node says but its operator does not have in this opset: unknown
/// attributes, too many inputs or outputs, a definition that the converter
/// does not follow. A line each; none where all is well.
std::vector<std::string> checkDefinition(const Node &node, int64_t opset);

/// All types of inputs, and of results so far, that the operator does not have
/// in this opset; a line each. Those that exporters write all the same are
/// added to `taken`, with what they are taken as.
std::vector<std::string> checkTypes(const Node &node, int64_t opset,
                                    ArrayRef<Tensor *> inputs,
                                    ArrayRef<Tensor> results,
                                    std::vector<std::string> &taken);

/// All that a node says and its conversion has not looked at: attributes that
/// are not at their default, and inputs.
std::vector<std::string> findIgnored(const NodeContext &context);

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_DEFINITIONS_DEFINITIONS_H
