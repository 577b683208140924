//===- Passes.h - A model cut into stages------------------------*- C++ -*-===//

#ifndef DIST_PASSES_PIPELINE_PASSES_H
#define DIST_PASSES_PIPELINE_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
namespace dist {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/pipeline/Passes.h.inc"

} // namespace dist
} // namespace mlir

#endif // DIST_PASSES_PIPELINE_PASSES_H
