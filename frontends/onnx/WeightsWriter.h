//===- WeightsWriter.h - Writes a safetensors file --------------*- C++ -*-===//
//
// The format of huggingface.co/docs/safetensors: the header's length in 8
// bytes, a JSON header of names, types, shapes and offsets, then the data,
// row-major and little-endian.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_WEIGHTSWRITER_H
#define DIST_FRONTENDS_ONNX_WEIGHTSWRITER_H

#include "frontends/onnx/reading/Parameters.h"

#include "llvm/Support/raw_ostream.h"

namespace mlir::dist::frontend {

/// Writes the parameters in the model's own layout.
void writeSafetensors(llvm::raw_ostream &os,
                      llvm::ArrayRef<Parameter> parameters);

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_WEIGHTSWRITER_H
