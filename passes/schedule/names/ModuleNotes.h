//===- ModuleNotes.h - Directives for later levels --------------*- C++ -*-===//
//
// dist.ring, dist.graph_halo and dist.overlap are about ops that exist only at
// level 3. So they are noted on the mesh, by modules' paths.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_NAMES_MODULENOTES_H
#define DIST_PASSES_SCHEDULE_NAMES_MODULENOTES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace mlir::dist {

/// The key of module `path` in the dictionary. The model itself has the empty
/// path; its key is "**", since an attribute must have a name.
StringRef getNoteName(StringRef path);

/// The path of the module of an entry.
StringRef getNotedModule(StringRef name);

/// The note for an op: that of the innermost module around it that has one.
/// `modules` is kRingsAttr, kGraphHalosAttr or kOverlapAttr of the mesh, and
/// may be null. Null if no module has a note.
const NamedAttribute *findModuleNote(Operation *op, DictionaryAttr modules);

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_NAMES_MODULENOTES_H
