//===- ModuleNotes.h - What directives left for level 3 ---------*- C++ -*-===//

#ifndef DIST_PASSES_SPMD_MODULENOTES_H
#define DIST_PASSES_SPMD_MODULENOTES_H

#include "dialects/dist/IR/Attention.h"

namespace mlir::dist {

/// What the mesh says (kRingsAttr, kGraphHalosAttr) of the innermost module
/// that the op is in and that such a directive names; null where none does.
const NamedAttribute *findModuleNote(Operation *op, DictionaryAttr modules);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_MODULENOTES_H
