//===- Driver.h - What dist-compile and dist-run share ----------*- C++ -*-===//
//
// From files and options to a module of level 3, and from there to a bundle.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_COMPILER_DRIVER_H
#define DIST_COMPILER_DRIVER_H

#include "compiler/Diagnostics.h"
#include "compiler/Paths.h"
#include "compiler/Register.h"
#include "compiler/Stages.h"
#include "compiler/distribute/Passes.h"
#include "lowering/bundle/Bundle.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/sizes/BindSizes.h"
#include <string>
#include <vector>

namespace mlir::dist {

/// The values of --bind, each "x[0]=8"; fails, with a message, for others.
FailureOr<std::vector<SizeBinding>>
parseBindings(ArrayRef<std::string> options);

/// Parses `path` ("-" for standard input). Null after an error message.
OwningOpRef<ModuleOp> loadModule(StringRef path, MLIRContext *context,
                                 Stages &stages);

/// Turns all floating-point work into f64 (--dist-convert-to-f64).
LogicalResult convertToF64(ModuleOp module, Stages &stages);

/// Does what --dist-distribute does, in stages.
LogicalResult distribute(ModuleOp module, const DistDistributeOptions &options,
                         Stages &stages);

/// Writes the module as dist-opt does, with the path of its weights from the
/// file's folder on, or "".
LogicalResult writeModule(ModuleOp module, StringRef path, StringRef weights);

/// The level-0 program that a module of level 0 to 2 is without its annotations
/// (--dist-erase-annotations); fails, with a message, for level 3.
LogicalResult eraseAnnotations(ModuleOp module, Stages &stages);

} // namespace mlir::dist

#endif // DIST_COMPILER_DRIVER_H
