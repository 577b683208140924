//===- ConvertRtToLLVM.h - Runtime calls in the LLVM dialect ----*- C++ -*-===//
//
// The part of the host code that is the same for every target: the rt dialect's
// ops as calls of the C interface's functions.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LOWERING_RT_CONVERTRTTOLLVM_H
#define DIST_LOWERING_RT_CONVERTRTTOLLVM_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::rt {

/// Functions of the runtime and constant tables, declared on first use, and the
/// numbers of events, plans of rows and checks.
class RuntimeSymbols {
public:
  /// Numbers the module's events, plans and checks; sets `rt.checks`.
  explicit RuntimeSymbols(ModuleOp module);

  LLVM::LLVMFuncOp function(StringRef name, Type result, TypeRange arguments);

  /// The address of a constant table; equal tables are one.
  Value table(OpBuilder &builder, Location loc, ArrayRef<int64_t> values);

  /// The address of a text, which ends with a zero.
  Value text(OpBuilder &builder, Location loc, StringRef value);

  /// The number of an event, by the op that records it.
  int32_t event(Operation *record) { return events.lookup(record); }

  /// The number of a plan of rows, by the op that creates it.
  int32_t rowPlan(Operation *plan) { return rowPlans.lookup(plan); }

  /// The number of a check: its index in the module's `rt.checks`.
  int32_t check(StringAttr message, bool hasValue) {
    return checks.find(describe(message, hasValue))->second;
  }

private:
  static DictionaryAttr describe(StringAttr message, bool hasValue);

  ModuleOp module;
  llvm::StringMap<Operation *> functions;
  DenseMap<Attribute, LLVM::GlobalOp> tables;
  llvm::StringMap<LLVM::GlobalOp> texts;
  DenseMap<Operation *, int32_t> events, rowPlans;
  llvm::MapVector<Attribute, int32_t> checks;
};

/// If the program names modules: makes it report, before each contraction,
/// convolution and kernel, which module it belongs to (dist_mark).
void markModules(FunctionOpInterface program, RuntimeSymbols &symbols);

/// Calls of the runtime from a function whose first argument is the rank
/// (`dist_rank *`).
void populateRtToLLVMPatterns(const LLVMTypeConverter &converter,
                              RuntimeSymbols &symbols,
                              RewritePatternSet &patterns);

} // namespace mlir::rt

#endif // DIST_LOWERING_RT_CONVERTRTTOLLVM_H
