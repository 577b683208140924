//===- Program.h - What a whole module says ---------------------*- C++ -*-===//
//
// Its level, its entry function, its mesh, and the places of its ops as text:
// the definitions that all passes and tools share (docs/conventions.md).
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_IR_PROGRAM_H
#define DIST_DIALECTS_DIST_IR_PROGRAM_H

#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::dist {

/// The level of a module, as docs/conventions.md tells them apart: 0 the model,
/// 1 with annotations, 2 placed, 3 the program of one device.
int getLevel(ModuleOp module);

/// The functions that a directive of a schedule names.
SmallVector<FlatSymbolRefAttr, 2> getFunctionNames(Operation *directive);
/// Those of `module` that directives of its schedules name: they are no part of
/// the program.
SmallVector<FunctionOpInterface> getScheduleFunctions(ModuleOp module);

/// The entry function (see getEntryFunction), or an error at the functions in
/// question where there is none or where several are public.
FailureOr<FunctionOpInterface> findEntryFunction(ModuleOp module);

/// The mesh that a program is placed on: the only one that its shardings,
/// constraints and collectives name, or, where they name none, the only one
/// that the module defines. Null where there is none; an error where the
/// program uses several.
FailureOr<MeshOp> findProgramMesh(ModuleOp module);

/// "file:line" of the first file position in `location`; "" where it has none.
std::string describeFileLine(Location location);

/// "file:line:column", with the name of the model's node before it where there
/// is one: `/h.0/MatMul (gpt2.onnx:12:1)`.
std::string describeLocation(Location location);

/// What is said of an index of `what` that is not within `sizes`; one that is
/// not known is written `?`.
std::string describeOutOfRange(StringRef what, ArrayRef<int64_t> sizes);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_PROGRAM_H
