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
  /// Name of the input that gives the result's cotangent; empty: it is 1.
  StringRef cotangent;
  /// Globs of the names of parameters and inputs; empty: all parameters of
  /// floats.
  ArrayRef<std::string> wrt;
  /// Whether an argument that was chosen may be; says why not. May be null.
  llvm::function_ref<LogicalResult(unsigned)> accept = nullptr;
  /// What messages call the option that it comes from.
  StringRef option = "wrt=";
};

/// The function of that name; empty: the entry function. An error where there
/// is none; null for an entry that is no func.func.
FailureOr<func::FuncOp> findFunction(ModuleOp module, StringRef name);

/// Adds to the function a result for each argument that is asked for: its
/// gradient, called `NAME.grad`. The numbers of these arguments, in the order
/// of the results.
FailureOr<SmallVector<unsigned>> differentiate(ModuleOp module,
                                               const GradientRequest &request);

/// Gives ops of the dialects that are known their adjoints.
void registerAdjoints(DialectRegistry &registry);

} // namespace mlir::dist

#endif // DIST_PASSES_DIFFERENTIATE_DIFFERENTIATE_H
