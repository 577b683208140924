//===- Paths.h - Where a module finds its weights ---------------*- C++ -*-===//
//
// A module and a bundle name their weights relative to themselves.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_COMPILER_PATHS_H
#define DIST_COMPILER_PATHS_H

#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace mlir::dist {

/// The weights file that the module names, or `given` where that is not empty,
/// as a path from the current folder; "" if there is none.
std::string weightsPath(ModuleOp module, StringRef moduleFile, StringRef given);

/// The same weights as a path from `newFolder`: relative if the module names
/// them so.
std::string relocateWeights(ModuleOp module, StringRef moduleFile,
                            StringRef given, StringRef newFolder);

/// The folder of `file`, "." for one of the current folder or for "-".
std::string folderOf(StringRef file);

/// The relative path `path` from `folder` on, as it is from `newFolder` on,
/// which need not be there yet. Symbolic links on the way are looked through.
/// An absolute path stays, and so does any path where both are the same folder.
std::string relocate(StringRef path, StringRef folder, StringRef newFolder);

} // namespace mlir::dist

#endif // DIST_COMPILER_PATHS_H
