//===- Model.h - What an ONNX file says, checked ----------------*- C++ -*-===//
//
// The graph of a model file as plain data, so that only the reader depends on
// protobuf. Everything the rest relies on has been checked by the reader: data
// sizes, names defined before use and once, types and counts.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_READING_MODEL_H
#define DIST_FRONTENDS_ONNX_READING_MODEL_H

#include "ExternalData.h"
#include "HostTensor.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace mlir::dist::frontend {

struct AttributeValue {
  enum Kind { Int, Float, String, Tensor, Ints, Floats, Strings, Other };
  Kind kind = Other;
  int64_t integer = 0;
  double number = 0;
  std::string string;
  HostTensor tensor;
  std::vector<int64_t> ints;
  std::vector<double> floats;
  std::vector<std::string> strings;
};

/// A node in a branch of an If is there only if the value `condition` is
/// `wanted`, and what holds of the If itself does.
struct Guard {
  std::string condition;
  bool wanted = true;
  std::shared_ptr<const Guard> outer;
};

struct Node {
  /// Position in the file, from 1, for locations.
  int64_t ordinal = 0;
  std::string op;
  std::string domain;
  std::string name;
  /// Empty strings stand for optional inputs and outputs left out.
  std::vector<std::string> inputs, outputs;
  llvm::StringMap<AttributeValue> attributes;
  /// Of the innermost branch that it stands in; null outside of branches.
  std::shared_ptr<const Guard> guard;
  /// The exporter's remarks: pkg.torch.onnx.name_scopes, fx_node, ….
  llvm::StringMap<std::string> metadata;
  /// Of a ReduceMax (ReduceMin): where an ArgMax (ArgMin) of the same input
  /// finds the first place.
  std::vector<int64_t> placeAxes;

  /// "MatMul", or "com.microsoft.Attention" outside the standard domain.
  std::string opName() const { return domain.empty() ? op : domain + "." + op; }
  /// The name, or the first output's if the node has no name.
  llvm::StringRef label() const {
    if (!name.empty())
      return name;
    return outputs.empty() ? llvm::StringRef("?") : outputs.front();
  }
};

/// A dimension as declared: a number, or a name (perhaps empty) when dynamic.
struct Dim {
  int64_t size = -1;
  std::string name;
};

struct ValueInfo {
  std::string name;
  DType type = DType::Undefined;
  /// Whether a shape is given at all.
  bool ranked = false;
  std::vector<Dim> dims;
  /// A sequence, map or optional.
  bool isTensor = true;
  /// The exporter's remarks: pkg.onnxscript.optimizer.folded_from, ….
  llvm::StringMap<std::string> metadata;
};

struct Model {
  std::string file;
  std::vector<ExternalFile> externalFiles;
  int64_t opset = 0;
  std::string producer;
  /// In the order of execution. The nodes of an If's branches come before it,
  /// and their results are its inputs after the condition: first those of
  /// `then`, then those of `else`.
  std::vector<Node> nodes;
  /// Without those that are initialisers.
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  /// Further type information of the file, for values of branches, initializers
  /// among the inputs, and others. A value may occur more than once.
  std::vector<ValueInfo> values;
  std::vector<std::pair<std::string, HostTensor>> initializers;
  /// Remarks on the graph: pkg.torch.export.ExportedProgram.graph_signature, ….
  llvm::StringMap<std::string> metadata;
};

/// Reads and checks `path`, and the files of external data that it names.
llvm::Expected<Model> readModel(llvm::StringRef path);

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_READING_MODEL_H
