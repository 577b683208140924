//===- Signature.h - The dynamo exporter's parameters -----------*- C++ -*-===//
//
// torch.export's list of a model's parameters and buffers, and which of them a
// node or a constant of the file was created from.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_READING_SIGNATURE_H
#define DIST_FRONTENDS_ONNX_READING_SIGNATURE_H

#include "Model.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <set>
#include <string>
#include <vector>

namespace mlir::dist::frontend {

/// The list in the file's metadata: `p_fc_weight: PARAMETER
/// target='fc.weight'`.
class Signature {
public:
  explicit Signature(const Model &model);

  /// No such list: the script exporter's, or another program's file.
  bool empty() const { return !present; }
  bool hasTarget(llvm::StringRef name) const { return targets.contains(name); }
  bool hasPlaceholder(llvm::StringRef name) const {
    return targetOf.contains(name);
  }
  /// Parameters alone, no buffers, in order.
  const std::vector<std::string> &getParameters() const { return parameters; }
  /// Also of constants that are computed from no parameters.
  bool isBuffer(llvm::StringRef target) const {
    return buffers.contains(target);
  }
  /// Whether the file says what its constants were computed from: newer
  /// exporters do.
  bool hasFoldings() const { return foldings; }
  /// Whether a constant says that it was computed from that target.
  bool isFolded(llvm::StringRef target) const {
    return folded.contains(target);
  }
  /// The targets that a node's fx_node names, in order.
  llvm::SmallVector<llvm::StringRef> getReferences(const Node &node) const;
  /// Whether a module of this path, or inside it, has parameters.
  bool hasModule(llvm::StringRef path) const;

private:
  llvm::StringMap<std::string> targetOf;
  /// Of the state_dict.
  llvm::StringSet<> targets;
  std::vector<std::string> parameters;
  llvm::StringSet<> buffers, folded;
  /// Those that own a target.
  std::set<std::string> modules;
  bool present = false, foldings = false;
};

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_READING_SIGNATURE_H
