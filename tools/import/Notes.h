//===- Notes.h - What an import says of the model ---------------*- C++ -*-===//

#ifndef DIST_TOOLS_IMPORT_NOTES_H
#define DIST_TOOLS_IMPORT_NOTES_H

#include "frontends/onnx/Import.h"

namespace mlir::dist {

/// Prints what a user should know of a model that is imported: parameters that
/// training cannot change, names that may be wrong, types and sizes that the
/// file has wrong.
void noteImport(const frontend::ImportedModel &imported);

} // namespace mlir::dist

#endif // DIST_TOOLS_IMPORT_NOTES_H
