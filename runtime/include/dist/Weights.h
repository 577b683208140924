//===- Weights.h - Parameters by name, in one file or several ---*- C++ -*-===//
//
// Where --weights points to: a safetensors file, an index of several files, or
// a folder with a model.safetensors.index.json or a model.safetensors. With a
// checkpoint's folder come the states of its optimizer/ as well. An index
// is JSON, as Hugging Face writes it beside files of one model. Beyond that it
// may name bytes of any file, such as data of an ONNX model:
//
//   { "metadata": { … },
//     "files": { "model.onnx.data": { "sample": "c3a5…" } },
//     "weight_map": {
//       "head.weight": "model-00001-of-00002.safetensors",
//       "body.weight": { "file": "model.onnx.data", "dtype": "F32",
//                        "shape": [4096, 4096], "offset": 65536 } } }
//
// Paths are relative to the index's folder.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_WEIGHTS_H
#define DIST_WEIGHTS_H

#include "dist/Safetensors.h"

#include <optional>

namespace dist {

/// The tensors, mapped read-only as Safetensors has them.
class Weights {
public:
  /// Opens all files that `path` names, once each. Throws Error, which names
  /// the file and the tensor.
  explicit Weights(const std::string &path);

  /// Null if there is no tensor of that name.
  const Tensor *find(const std::string &name) const;
  const std::map<std::string, Tensor> &tensors() const & { return byName; }
  /// Of an object that goes at once.
  const std::map<std::string, Tensor> &tensors() const && = delete;
  /// The safetensors file or the index.
  const std::string &path() const { return given; }

private:
  std::string given;
  std::map<std::string, Tensor> byName;
};

/// A tensor of an index that is being written: all of the tensor `name` of a
/// safetensors file below the index's folder, or bytes of any file.
struct WeightsEntry {
  SafetensorsEntry tensor;
  std::string file;
  /// The first byte; nothing for a safetensors file.
  std::optional<int64_t> offset;
};

/// The text of an index in `folder`. Reads a sample of each file that has an
/// offset: it says later whether it is still the same file. Throws Error.
std::string makeWeightsIndex(const std::string &folder,
                             const std::vector<WeightsEntry> &entries);

} // namespace dist

#endif // DIST_WEIGHTS_H
