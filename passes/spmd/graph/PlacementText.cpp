//===- PlacementText.cpp - Ops, axes, dimensions in messages --------------===//

#include "passes/spmd/graph/PlacementText.h"

using namespace mlir;
using namespace mlir::dist;

std::string mlir::dist::describeOp(Operation *op) {
  std::string text = op->getName().getStringRef().str();
  if (auto scope = op->getAttrOfType<StringAttr>(kScopeAttr))
    text += " (" + scope.str() + ")";
  return text;
}

std::string mlir::dist::printAxes(ArrayRef<AxisRefAttr> axes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(axes, os);
  return text;
}

std::string mlir::dist::printDim(DimShardingAttr dim) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << dim;
  // Alone it is an attribute of the dialect: #dist.dim<{"tp"}>.
  StringRef inner = text;
  inner.consume_front("#dist.dim<");
  inner.consume_back(">");
  return inner.trim().str();
}
