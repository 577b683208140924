//===- Bindings.h - Sizes of dynamic dimensions -----------------*- C++ -*-===//
//
// What --bind says of the inputs' dimensions that the file leaves open. Those
// of which it says nothing stay open. Dimensions of one name are of one size,
// so that what is said of one by its place is said of all.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_READING_BINDINGS_H
#define DIST_FRONTENDS_ONNX_READING_BINDINGS_H

#include "Model.h"
#include "Sizes.h"

#include <map>

namespace mlir::dist::frontend {

/// What is said of open dimensions, in this order: by their name, or by place
/// as `input[0]`, a size, or the name or place of another one of the same size.
using Bindings = std::vector<std::pair<std::string, std::string>>;

/// What an open dimension is: a size, or as large as another one.
struct Bound {
  std::optional<int64_t> size;
  std::string like;
};
/// By name, and of dimensions without one by place.
using BoundDims = std::map<std::string, Bound>;

/// Every binding names an open dimension of an input, and says a size of at
/// least 1 or another one; no two contradict each other.
llvm::Expected<BoundDims> resolveBindings(const Model &model,
                                          const Bindings &bindings);

llvm::Expected<Shape> inputShape(const Model &model, const ValueInfo &input,
                                 const BoundDims &bound, Sizes &sizes);

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_READING_BINDINGS_H
