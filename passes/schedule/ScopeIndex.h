//===- ScopeIndex.h - The ops of a program by module path -------*- C++ -*-===//
//
// One walk over the program; directives then look only at what they name.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_SCOPEINDEX_H
#define DIST_PASSES_SCHEDULE_SCOPEINDEX_H

#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::dist {

/// A function argument or result with a name in the model.
struct NamedTensor {
  StringRef name;
  FunctionOpInterface function;
  unsigned index;
  bool isResult;

  Type getType() const;
  /// "argument 3 ('wte.weight')".
  std::string describe() const;
};

/// Which ops came from which module of the model. A path stands for its own ops
/// and those of the modules within it; paths without ops of their own, such as
/// `h.0` where all ops are in `h.0.attn` and `h.0.mlp`, are there as well.
class ScopeIndex {
public:
  explicit ScopeIndex(ModuleOp module);

  /// All paths, in order of first occurrence.
  ArrayRef<StringRef> getPaths() const { return paths; }

  /// Adds an op that a directive made.
  void add(Operation *op);

  /// The ops of `path` and the paths within it, in program order within each.
  SmallVector<Operation *> getOps(StringRef path) const;

  /// Named arguments or results: of kind `parameter`, `input` or `output`.
  ArrayRef<NamedTensor> getTensors(ShardTarget kind) const;

private:
  struct Scope {
    SmallVector<Operation *, 4> ops;
    SmallVector<unsigned, 4> children;
  };

  unsigned addPath(StringRef path);

  SmallVector<StringRef> paths;
  SmallVector<Scope> scopes;
  /// Equal scopes are one attribute, whose text is looked at once.
  llvm::DenseMap<StringAttr, unsigned> numberOf;
  llvm::DenseMap<StringRef, unsigned> numbers;
  SmallVector<NamedTensor> parameters, inputs, outputs;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_SCOPEINDEX_H
