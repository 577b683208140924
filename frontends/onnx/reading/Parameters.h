//===- Parameters.h - Initialisers by the model's own names -----*- C++ -*-===//
//
// Which initializers are parameters, their names in the model, and the model's
// layout of them. It undoes the renaming, transposing, duplicating and merging
// of the exporters, so that both exports of a model have the same list.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_READING_PARAMETERS_H
#define DIST_FRONTENDS_ONNX_READING_PARAMETERS_H

#include "Model.h"
#include "Scopes.h"

#include "llvm/ADT/StringSet.h"

namespace mlir::dist::frontend {

struct Parameter {
  /// Its key in the state_dict.
  std::string name;
  /// Other names that the model has for it, sorted.
  std::vector<std::string> aliases;
  /// As the file has it.
  HostTensor data;
  /// The model has it with the two dimensions swapped.
  bool transposed = false;
  /// How many dimensions of 1 at the end the model's does not have.
  unsigned padding = 0;
  /// The file marks it as not trained.
  bool isBuffer = false;
  /// Why it is perhaps not what the state_dict has under this name, or empty.
  llvm::StringRef doubt;

  DType getType() const { return data.getType(); }
  /// In the model's layout.
  Shape getShape() const {
    Shape shape(data.getShape().drop_back(padding));
    if (transposed)
      std::swap(shape[0], shape[1]);
    return shape;
  }
};

/// What Parameter::doubt says.
inline constexpr llvm::StringLiteral
    kComputed = "computed by the exporter from other parameters (a batch norm "
                "folded into it, a weight norm)",
    kGuessed = "one of several of this name, and the file does not say which";

class Parameters {
public:
  Parameters(const Model &model, const Scopes &scopes);

  struct Use {
    /// Index into the list.
    size_t parameter;
    /// The node reads it with the two dimensions swapped.
    bool transposed;
  };
  /// The parameter behind a value of the graph, if it is one; `user` reads it.
  std::optional<Use> lookup(llvm::StringRef value, const Node &user) const;
  /// Initialisers, and the names that Identity nodes give them.
  const HostTensor *constant(llvm::StringRef value) const;
  bool isAlias(const Node &node) const;

  const std::vector<Parameter> &list() const { return parameters; }
  /// Parameters of the model that are missing here, sorted: the exporter
  /// computed something from them, or nothing reads them. If the file does not
  /// list the model's parameters: the computed constants, by their name in the
  /// file.
  std::vector<std::string> findFolded(const Model &model,
                                      const Scopes &scopes) const;
  /// Tables of floats that the file has beside the model's own list of
  /// parameters and buffers, sorted: computed by the exporter, perhaps of a
  /// parameter that other nodes still read. None where a file has no list.
  std::vector<std::string> findComputed(const Model &model) const;
  /// Adds a large constant that no module owns; returns its index.
  size_t addConstant(llvm::StringRef name, const HostTensor &data);

private:
  void name(const Model &model, const Scopes &scopes);
  void findComputedWeights(const Model &model);
  void nameGroupNorms(const Model &model, const Scopes &scopes);
  /// The entry of a value that only this reader sees.
  size_t makeOwn(llvm::StringRef value, const Node &user);
  void merge(const Model &model, const Scopes &scopes);

  /// An initialiser and what is known of it.
  struct Entry {
    HostTensor data;
    std::string name;          ///< empty: a constant
    bool isNamed = false;      ///< by the file
    bool isReferenced = false; ///< the model's list has it under its name
    bool isStatistic = false;  ///< a batch norm's
    bool transposed = false;
    unsigned padding = 0;
    llvm::StringRef doubt; ///< Parameter::doubt
    /// The reader that decided, in order of execution.
    const Node *firstUser = nullptr;
    size_t firstInput = 0;
    std::optional<size_t> parameter;
  };
  std::vector<Entry> entries;
  /// Values of the graph to entries.
  llvm::StringMap<size_t> entryOf;
  /// "value\0ordinal of the reader" to entries, for values that stand for
  /// several parameters of equal data.
  llvm::StringMap<size_t> entryOfUse;
  std::vector<Parameter> parameters;
  llvm::StringSet<> parameterNames;
};

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_READING_PARAMETERS_H
