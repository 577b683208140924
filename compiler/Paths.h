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

/// The weights file that the module names, or `given` if that is not empty, as
/// a path from the current folder; "" if there is no file.
std::string weightsPath(ModuleOp module, StringRef moduleFile, StringRef given);

/// The same weights as a path from `newFolder`: relative if the module names
/// them so.
std::string relocateWeights(ModuleOp module, StringRef moduleFile,
                            StringRef given, StringRef newFolder);

/// The folder of `file`; "." for a file in the current folder or for "-".
std::string folderOf(StringRef file);

/// Converts the path `path`, relative to `folder`, to one relative to
/// `newFolder`, which need not exist yet. Symbolic links on the way are
/// resolved. An absolute path stays, and so does any path if both are the same
/// folder.
std::string relocate(StringRef path, StringRef folder, StringRef newFolder);

} // namespace mlir::dist

#endif // DIST_COMPILER_PATHS_H
