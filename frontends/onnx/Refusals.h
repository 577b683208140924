//===- Refusals.h - What cannot be imported ---------------------*- C++ -*-===//
//
// Collects all problems, to report them at once: the missing operators and the
// like, with counts and the first position, and the open sizes that must be
// given.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_FRONTENDS_ONNX_REFUSALS_H
#define DIST_FRONTENDS_ONNX_REFUSALS_H

#include "frontends/onnx/reading/Model.h"
#include "frontends/onnx/reading/Sizes.h"

#include "llvm/ADT/DenseSet.h"

namespace mlir::dist::frontend {

class Refusals {
public:
  void add(const Node &node, const std::string &what);
  /// Names of open sizes that it depends on, and limits within which it would
  /// not.
  void addSizes(const std::set<std::string> &names,
                llvm::ArrayRef<SizeLimit> within);

  bool empty() const { return entries.empty(); }
  llvm::ArrayRef<SizeLimit> getLimits() const { return limits; }
  std::string describe(int64_t opset) const;

private:
  struct Entry {
    std::string what;
    const Node *first;
    int64_t count = 0;
  };
  std::vector<Entry> entries;
  /// Positions in that list, by problem.
  llvm::StringMap<size_t> entryOf;
  llvm::DenseSet<const Node *> nodes;
  std::set<std::string> openNames;
  std::vector<SizeLimit> limits;
};

} // namespace mlir::dist::frontend

#endif // DIST_FRONTENDS_ONNX_REFUSALS_H
