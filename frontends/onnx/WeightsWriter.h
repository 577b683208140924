//===- WeightsWriter.h - Writes files of parameters -------------*- C++ -*-===//
//
// A safetensors file (huggingface.co/docs/safetensors): the header's length in
// 8 bytes, a JSON header of names, types, shapes and offsets, then the data,
// row-major and little-endian. And an index (dist/Weights.h) of such a file and
// of data that stays where the model has it.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_WEIGHTSWRITER_H
#define DIST_FRONTENDS_ONNX_WEIGHTSWRITER_H

#include "dist/Weights.h"
#include "frontends/onnx/reading/Parameters.h"

#include "llvm/Support/raw_ostream.h"

namespace mlir::dist::frontend {

/// Writes the parameters in the model's own layout.
void writeSafetensors(llvm::raw_ostream &os,
                      llvm::ArrayRef<Parameter> parameters);

/// Where data of a parameter lies.
struct PlaceInFile {
  /// As the model's path leads there.
  llvm::StringRef file;
  int64_t offset;
};
/// The bytes of an external file that are the parameter in the model's own
/// layout, if there are such.
std::optional<PlaceInFile> findInPlace(const Parameter &parameter,
                                       llvm::ArrayRef<ExternalFile> files);

/// The entry of a parameter in an index or a header.
::dist::SafetensorsEntry describe(const Parameter &parameter);

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_WEIGHTSWRITER_H
