//===- Scopes.h - Which module of the model a node came from ----*- C++ -*-===//
//
// Recovers module paths (`transformer.h.0.attn.c_proj`) from what PyTorch's
// exporters leave behind, the same ones from both.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_READING_SCOPES_H
#define DIST_FRONTENDS_ONNX_READING_SCOPES_H

#include "Model.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::dist::frontend {

class Scopes {
public:
  explicit Scopes(const Model &model);

  /// The path of the module; "" at the root or where nothing is known.
  llvm::StringRef operator[](const Node &node) const {
    return scopes[node.ordinal - 1];
  }

  /// Whether the file has several modules of which it may be any.
  bool isGuess(const Node &node) const {
    return guesses.contains(node.ordinal);
  }

private:
  /// Of all nodes; many have the same.
  std::vector<llvm::StringRef> scopes;
  llvm::StringSet<> texts;
  llvm::DenseSet<int64_t> guesses;
};

/// `a.b` of `a.b.weight`; "" of a name without dots.
llvm::StringRef modulePath(llvm::StringRef parameter);
/// `weight` of `a.b.weight`.
llvm::StringRef leafName(llvm::StringRef parameter);
/// "a.b" and "c" to "a.b.c"; "" and "c" to "c".
std::string joinPath(llvm::StringRef module, llvm::StringRef leaf);
/// Whether `inner` is `outer` or a module inside it.
bool isWithin(llvm::StringRef inner, llvm::StringRef outer);

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_READING_SCOPES_H
