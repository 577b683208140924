//===- Rings.h - Modules whose keys and values go round ---------*- C++ -*-===//

#ifndef DIST_PASSES_SPMD_RINGS_H
#define DIST_PASSES_SPMD_RINGS_H

#include "dialects/dist/IR/Attention.h"

namespace mlir::dist {

/// What the mesh says (kRingsAttr) of the innermost module that the op is in
/// and that a dist.ring names; null where none does.
const NamedAttribute *findRing(Operation *op, DictionaryAttr rings);

} // namespace mlir::dist

#endif // DIST_PASSES_SPMD_RINGS_H
