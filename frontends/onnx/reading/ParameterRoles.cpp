//===- ParameterRoles.cpp - What nodes say of their weights ---------------===//

#include "frontends/onnx/reading/ParameterRoles.h"

#include <cstring>

using namespace mlir::dist::frontend;
using namespace llvm;

bool mlir::dist::frontend::isMadeUp(StringRef name) {
  return name.contains(':') || name.contains('/') || name.starts_with("val_") ||
         name.find_first_not_of("0123456789_") == StringRef::npos;
}

int64_t mlir::dist::frontend::numberOf(StringRef name) {
  int64_t number;
  if (!name.consume_front("onnx::") ||
      name.rsplit('_').second.getAsInteger(10, number))
    return -1;
  return number;
}

StringRef mlir::dist::frontend::roleOf(const Node &node, size_t index,
                                       int64_t rank) {
  if (node.op == "MatMul")
    return index == 1 && rank == 2 ? "weight" : "";
  if (node.op == "Gemm" || node.op == "Conv" || node.op == "ConvTranspose")
    return index == 1 ? "weight" : index == 2 ? "bias" : "";
  // Tables and experts, by whatever name.
  if (node.op == "Gather" || node.op == "GatherND")
    return index == 0 && rank > 1 ? "*" : "";
  return "";
}

bool mlir::dist::frontend::isTransposedRole(const Node &node, size_t index,
                                            int64_t rank) {
  if (index != 1 || rank != 2)
    return false;
  if (node.op == "MatMul")
    return true;
  if (node.op != "Gemm")
    return false;
  auto it = node.attributes.find("transB");
  return it == node.attributes.end() || it->second.integer == 0;
}

bool mlir::dist::frontend::isEqual(const OwnLayout &a, const OwnLayout &b) {
  if (a.data.getType() != b.data.getType() || a.getShape() != b.getShape())
    return false;
  if (a.transposed == b.transposed)
    return a.data.hasSameData(b.data);
  for (int64_t i = 0, e = a.data.size(); i < e; ++i)
    if (std::memcmp(a.at(i), b.at(i), a.size) != 0)
      return false;
  return true;
}

bool mlir::dist::frontend::hasBatchNorm(const Node &node) {
  auto rule = node.metadata.find("pkg.onnxscript.rewriter.rule_name");
  return rule != node.metadata.end() &&
         StringRef(rule->second).contains("FuseBatchNorm");
}

bool mlir::dist::frontend::isStatistic(const Node &node, size_t index) {
  return node.op == "BatchNormalization" && (index == 3 || index == 4);
}
