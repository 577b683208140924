//===- OnnxTensor.h - Tensors in ONNX's .pb files ---------------*- C++ -*-===//
//
// A serialized onnx.TensorProto, the format of inputs and outputs in ONNX's
// test data. Field numbers: onnx/onnx.proto.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_ONNXTENSOR_H
#define DIST_ONNXTENSOR_H

#include "dist/Tensor.h"

#include <string>

namespace dist {

/// Reads `path`. Throws Error if it is no such file, is truncated, keeps its
/// data elsewhere, or has an element type that dist does not know. If `name` is
/// given it receives the tensor's own name.
Tensor readOnnxTensor(const std::string &path, std::string *name = nullptr);

} // namespace dist

#endif // DIST_ONNXTENSOR_H
