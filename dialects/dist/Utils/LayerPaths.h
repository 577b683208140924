//===- LayerPaths.h - Texts that differ in layers' numbers ------*- C++ -*-===//
//
// Layers of a model have paths that differ in numbers: "h.0.attn", "h.1.attn".
// Texts about them are shown as one: "h.{0..11}.attn".
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_UTILS_LAYERPATHS_H
#define DIST_DIALECTS_DIST_UTILS_LAYERPATHS_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <set>
#include <string>
#include <vector>

namespace mlir::dist {

/// Texts that are alike but for the numbers in paths. A text is a path, or a
/// sentence with paths in it; other numbers, as in "dim 1" and "tp.mlir:15",
/// are no parts of paths.
class LayerPaths {
public:
  /// The text with '*' for each number of a path: "h.*.attn". Texts are alike
  /// if these are equal.
  static std::string getPattern(StringRef text);

  /// Adds a text, which is alike those before.
  void add(StringRef text);
  /// "h.{0..11}.attn"; "h.{1,3}.attn" if numbers are missing; a single text as
  /// it is.
  std::string describe() const;

private:
  std::string first;
  /// For each number of the pattern, those that were seen.
  std::vector<std::set<std::string>> numbers;
};

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_UTILS_LAYERPATHS_H
