//===- ScopeIndex.h - The ops of a program by module path -------*- C++ -*-===//
//
// One walk over the program; directives then look only at what they name.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_NAMES_SCOPEINDEX_H
#define DIST_PASSES_SCHEDULE_NAMES_SCOPEINDEX_H

#include "dialects/dist/IR/Directive.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/schedule/names/NameTrie.h"

namespace mlir::dist {

/// A function argument or result with a name in the model.
struct NamedTensor {
  StringRef name;
  FunctionOpInterface function;
  unsigned index;
  bool isResult;

  Type getType() const;
  /// "argument 3 ("wte.weight")".
  std::string describe() const;
};

/// The values that one node of the model computed, by the name in the locations
/// of its ops.
struct NamedValues {
  StringRef name;
  /// The values that another op reads, in program order.
  SmallVector<Value, 1> values;
};

/// The path of module `inner` of module `outer`.
std::string joinPaths(StringRef outer, StringRef inner);

/// Which ops came from which module of the model, and which tensors have which
/// names. A path stands for its own ops and those of the modules within it.
/// Paths without ops of their own are included, such as `h.0` if all ops are in
/// `h.0.attn` and `h.0.mlp`.
class ScopeIndex {
public:
  explicit ScopeIndex(ModuleOp module);

  /// The numbers of the scopes or tensors of `kind` that `pattern` matches, in
  /// order of their first occurrence.
  SmallVector<unsigned> match(TargetKind kind,
                              const NamePattern &pattern) const;
  /// The names that patterns of `kind` are matched with.
  SmallVector<StringRef> getNames(TargetKind kind) const;

  /// The model itself is scope 0, with the empty path; the others are numbered
  /// from 1 on. This is the number after the last.
  unsigned getScopeEnd() const { return paths.size(); }
  /// The path of a scope.
  StringRef getPath(unsigned scope) const { return paths.getName(scope); }
  /// The ops of a scope and of those within it, in program order within each.
  SmallVector<Operation *> getOps(unsigned scope) const;
  /// Adds an op that a directive created.
  void add(Operation *op);
  /// The op's position in program order, from 1 on; 0 for an op that a
  /// directive created.
  unsigned getPosition(Operation *op) const { return positions.lookup(op); }

  const NamedTensor &getTensor(unsigned number) const {
    return tensors[number];
  }
  const NamedValues &getValues(unsigned number) const { return values[number]; }
  /// Adds the names of values, by a walk over the program. Before, no value has
  /// a name.
  void addValueNames();

private:
  /// Names of one kind of tensor, and the tensors that have each.
  struct TensorNames {
    NameTrie names;
    llvm::DenseMap<unsigned, SmallVector<unsigned, 1>> numbers;
  };

  TensorNames &getTensorNames(TargetKind kind);
  const TensorNames &getTensorNames(TargetKind kind) const;
  void addTensor(TargetKind kind, NamedTensor tensor);
  /// Other names of the parameter that was added last; may be null.
  void addTiedNames(ArrayAttr names);

  StringAttr scopeName;
  /// A scope's number is its node.
  NameTrie paths;
  std::vector<SmallVector<Operation *, 4>> opsOf;
  /// Equal scopes are one attribute, whose text is looked at once.
  llvm::DenseMap<Attribute, unsigned> numberOf;
  llvm::DenseMap<Operation *, unsigned> positions;
  std::vector<NamedTensor> tensors;
  TensorNames parameters, inputs, outputs, valueNames;
  ModuleOp module;
  std::vector<NamedValues> values;
  bool hasValueNames = false;
};

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_NAMES_SCOPEINDEX_H
