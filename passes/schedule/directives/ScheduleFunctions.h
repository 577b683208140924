//===- ScheduleFunctions.h - Functions beside a schedule --------*- C++ -*-===//
//
// A directive may name functions: a replacement for a module, or the code of a
// sync. They stand beside the schedule in its file, and are moved into the
// program with it. The functions are not part of the program: only copies of
// their ops are, where a directive puts them.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_DIRECTIVES_SCHEDULEFUNCTIONS_H
#define DIST_PASSES_SCHEDULE_DIRECTIVES_SCHEDULEFUNCTIONS_H

#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Schedule.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::dist {

/// Moves the functions that directives of `schedule` name from `holder` to
/// `module`, where they are private and get names of their own.
void moveFunctions(ScheduleOp schedule, ModuleOp holder, ModuleOp module);

/// The functions of the schedules of a program, removed from it.
class ScheduleFunctions {
public:
  explicit ScheduleFunctions(ModuleOp module);

  /// The function called `name`, which has one block and calls no other; fails
  /// after an error at `directive`.
  FailureOr<FunctionOpInterface> find(Operation *directive,
                                      FlatSymbolRefAttr name) const;

private:
  std::vector<OwningOpRef<Operation *>> functions;
  llvm::DenseMap<StringAttr, Operation *> byName;
};

/// "(tensor<4xf32>, f32) -> tensor<4xf32>", for messages.
std::string describeSignature(TypeRange arguments, TypeRange results);

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_DIRECTIVES_SCHEDULEFUNCTIONS_H
