//===- Passes.h - Collectives in flight -------------------------*- C++ -*-===//

#ifndef DIST_LOWERING_STREAMS_PASSES_H
#define DIST_LOWERING_STREAMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
namespace dist {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "lowering/streams/Passes.h.inc"

} // namespace dist
} // namespace mlir

#endif // DIST_LOWERING_STREAMS_PASSES_H
