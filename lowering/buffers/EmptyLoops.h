//===- EmptyLoops.h - Ops whose loops may not run at all --------*- C++ -*-===//

#ifndef DIST_LOWERING_BUFFERS_EMPTYLOOPS_H
#define DIST_LOWERING_BUFFERS_EMPTYLOOPS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {

/// A reduction over nothing leaves what its result began with. Upstream's
/// bufferization takes a structured op whose body does not read that for one
/// that overwrites it: where it shows at run time only whether a loop runs, the
/// body is made to read it. (What writes nothing, or parts, for certain is gone
/// by then: --dist-decompose-ops.)
void keepInitsOfEmptyLoops(ModuleOp module);

} // namespace mlir::dist

#endif // DIST_LOWERING_BUFFERS_EMPTYLOOPS_H
