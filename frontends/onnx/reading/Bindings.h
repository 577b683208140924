//===- Bindings.h - Sizes of dynamic dimensions -----------------*- C++ -*-===//
//
// The values of --bind for dimensions of inputs that the file leaves open.
// Other dimensions stay open. Dimensions of one name have one size, so a size
// that is given for one by its position holds for all of them.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_READING_BINDINGS_H
#define DIST_FRONTENDS_ONNX_READING_BINDINGS_H

#include "Model.h"
#include "Sizes.h"

#include <map>

namespace mlir::dist::frontend {

/// Bindings of open dimensions, in this order: by their name, or by position as
/// in `input[0]`: a size, or the name or position of another dimension of the
/// same size.
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
