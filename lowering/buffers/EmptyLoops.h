//===- EmptyLoops.h - Ops whose loops may not run at all --------*- C++ -*-===//

#ifndef DIST_LOWERING_BUFFERS_EMPTYLOOPS_H
#define DIST_LOWERING_BUFFERS_EMPTYLOOPS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {

/// A reduction over nothing leaves what its result began with. Upstream's
/// bufferization takes a structured op whose body does not read that for one
/// that overwrites it, whatever its loops; so where a loop that the result is
/// not indexed by has no iteration the op is replaced by what it began with,
/// and where that is known at run time only, the body is made to read it.
void keepInitsOfEmptyLoops(ModuleOp module);

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_EMPTYLOOPS_H
