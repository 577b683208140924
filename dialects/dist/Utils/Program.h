//===- Program.h - Properties of a whole module -----------------*- C++ -*-===//
//
// Its level, its entry function, its mesh, and the positions of its ops as
// text: definitions that all passes and tools share (docs/internals/levels.md).
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_UTILS_PROGRAM_H
#define DIST_DIALECTS_DIST_UTILS_PROGRAM_H

#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::dist {

/// The level of a module, as in docs/internals/levels.md: 0 the model, 1 with
/// annotations, 2 placed, 3 the program of one device.
int getLevel(ModuleOp module);

/// The functions that a directive of a schedule names.
SmallVector<FlatSymbolRefAttr, 2> getFunctionNames(Operation *directive);
/// The functions of `module` that directives of its schedules name. They are
/// not part of the program.
SmallVector<FunctionOpInterface> getScheduleFunctions(ModuleOp module);

/// The entry function (see getEntryFunction). It is an error, at the functions
/// in question, if there is no such function or if several are public.
FailureOr<FunctionOpInterface> findEntryFunction(ModuleOp module);

/// The mesh that a program is placed on: the only mesh that its shardings,
/// constraints and collectives name. If they name no mesh: the only one that
/// the module defines. Null if there is no mesh; an error if the program uses
/// several.
FailureOr<MeshOp> findProgramMesh(ModuleOp module);

/// "file:line" of the first file position in `location`; "" if it has no file
/// position.
std::string describeFileLine(Location location);

/// "file:line:column", after the name of the model's node, if it has one:
/// `/h.0/MatMul (gpt2.onnx:12:1)`.
std::string describeLocation(Location location);

/// The message for an index of `what` that is not within `sizes`; an unknown
/// size is written `?`.
std::string describeOutOfRange(StringRef what, ArrayRef<int64_t> sizes);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_UTILS_PROGRAM_H
