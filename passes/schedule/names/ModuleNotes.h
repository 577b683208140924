//===- ModuleNotes.h - What directives left for later levels ----*- C++ -*-===//
//
// Of dist.ring, dist.graph_halo and dist.overlap the mesh says, by modules'
// paths, what is asked for: what they speak of is only there at level 3.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_NAMES_MODULENOTES_H
#define DIST_PASSES_SCHEDULE_NAMES_MODULENOTES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace mlir::dist {

/// The name under which the dictionary has what is said of `path`. The model
/// itself, whose path is empty, is "**", since every attribute has a name.
StringRef getNoteName(StringRef path);

/// The path of the module that an entry is of.
StringRef getNotedModule(StringRef name);

/// What `modules` (kRingsAttr, kGraphHalosAttr, kOverlapAttr of the mesh; may
/// be null) say of the innermost module that the op is in and that such a
/// directive names; null where none does.
const NamedAttribute *findModuleNote(Operation *op, DictionaryAttr modules);

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_NAMES_MODULENOTES_H
