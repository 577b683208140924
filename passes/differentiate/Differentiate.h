//===- Differentiate.h - Gradients of a function ----------------*- C++ -*-===//
//
// Reverse mode over a program of level 0 or 1; see --dist-differentiate.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_DIFFERENTIATE_DIFFERENTIATE_H
#define DIST_PASSES_DIFFERENTIATE_DIFFERENTIATE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::dist {

struct GradientRequest {
  /// The function; empty: the entry function.
  StringRef function;
  /// Name of the result that is differentiated; empty: the only one of floats.
  StringRef result;
  /// Name of the input that is the result's cotangent; empty: it is 1.
  StringRef cotangent;
  /// Globs of the names of parameters and inputs; empty: all parameters of
  /// floats.
  ArrayRef<std::string> wrt;
  /// Whether `wrt` names parameters alone.
  bool onlyParameters = false;
  /// Checks whether a chosen argument may be differentiated; else emits an
  /// error. May be null.
  llvm::function_ref<LogicalResult(unsigned)> accept = nullptr;
  /// The name of the option in messages.
  StringRef option = "wrt=";
};

/// The function of that name; empty: the entry function. An error if there is
/// no such function; null for an entry that is not a func.func.
FailureOr<func::FuncOp> findFunction(ModuleOp module, StringRef name);

/// Adds a result to the function for each chosen argument: its gradient, called
/// `NAME.grad`. Returns the numbers of these arguments, in the order of the
/// results.
FailureOr<SmallVector<unsigned>> differentiate(ModuleOp module,
                                               const GradientRequest &request);

/// Registers the adjoints of ops of known dialects.
void registerAdjoints(DialectRegistry &registry);

} // namespace mlir::dist

#endif // DIST_PASSES_DIFFERENTIATE_DIFFERENTIATE_H
