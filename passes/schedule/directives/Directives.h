//===- Directives.h - The dialect's own directives --------------*- C++ -*-===//
//
// Attaches their implementation to the directive ops.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_DIRECTIVES_DIRECTIVES_H
#define DIST_PASSES_SCHEDULE_DIRECTIVES_DIRECTIVES_H

#include "dialects/dist/IR/Schedule.h"

namespace mlir {
class MLIRContext;
namespace dist {

void attachDecomposeDirective(MLIRContext &context);
void attachFuseDirective(MLIRContext &context);
void attachModuleDirectives(MLIRContext &context);
void attachNotedDirectives(MLIRContext &context);
void attachOverlapDirective(MLIRContext &context);
void attachPipelineDirectives(MLIRContext &context);
void attachRandomDirective(MLIRContext &context);
void attachReplaceDirective(MLIRContext &context);
void attachShardDirective(MLIRContext &context);
void attachSyncDirective(MLIRContext &context);

/// Checks the dist.pipeline of a schedule, if it has one; `isApplied`: that its
/// stages are known.
LogicalResult checkPipeline(ScheduleOp schedule, MeshOp mesh, bool isApplied);

} // namespace dist
} // namespace mlir

#endif // DIST_PASSES_SCHEDULE_DIRECTIVES_DIRECTIVES_H
