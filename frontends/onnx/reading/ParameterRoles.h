//===- ParameterRoles.h - What nodes say of their weights -------*- C++ -*-===//

#ifndef DIST_FRONTENDS_ONNX_READING_PARAMETERROLES_H
#define DIST_FRONTENDS_ONNX_READING_PARAMETERROLES_H

#include "frontends/onnx/reading/Model.h"

namespace mlir::dist::frontend {

/// Names that an exporter makes up: onnx::MatMul_550, /layer/Constant_output_0,
/// val_113, 42.
bool isMadeUp(llvm::StringRef name);

/// The number of `onnx::MatMul_550`, which the script exporter counts up; -1 of
/// other names.
int64_t numberOf(llvm::StringRef name);

/// Whether a node's input `index` is a weight or bias of the node's module, and
/// which; the leaf of its name, or "".
llvm::StringRef roleOf(const Node &node, size_t index, int64_t rank);

/// Whether the exporter stores an anonymous weight the other way round than
/// nn.Linear does, [in, out] for [out, in].
bool isTransposedRole(const Node &node, size_t index, int64_t rank);

/// Whether the node reads recorded statistics there, which no gradient changes.
bool isStatistic(const Node &node, size_t index);

/// Whether a batch norm was folded into the node's weights.
bool hasBatchNorm(const Node &node);

/// Reads a tensor in the model's layout.
struct OwnLayout {
  OwnLayout(const HostTensor &data, bool transposed)
      : data(data), transposed(transposed), size(sizeOf(data.getType())) {}
  Shape getShape() const {
    Shape shape(data.getShape());
    if (transposed)
      std::swap(shape[0], shape[1]);
    return shape;
  }
  const char *at(int64_t index) const {
    if (transposed) {
      int64_t rows = data.getShape()[0], columns = data.getShape()[1];
      index = index % rows * columns + index / rows;
    }
    return data.getBytes().data() + index * size;
  }
  const HostTensor &data;
  bool transposed;
  int64_t size;
};
bool isEqual(const OwnLayout &a, const OwnLayout &b);

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_READING_PARAMETERROLES_H
