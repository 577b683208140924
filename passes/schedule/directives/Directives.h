//===- Directives.h - The dialect's own directives --------------*- C++ -*-===//
//
// Attaches their implementation to the directive ops.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_DIRECTIVES_DIRECTIVES_H
#define DIST_PASSES_SCHEDULE_DIRECTIVES_DIRECTIVES_H

namespace mlir {
class MLIRContext;
namespace dist {

void attachDecomposeDirective(MLIRContext &context);
void attachFuseDirective(MLIRContext &context);
void attachModuleDirectives(MLIRContext &context);
void attachNotedDirectives(MLIRContext &context);
void attachOverlapDirective(MLIRContext &context);
void attachRandomDirective(MLIRContext &context);
void attachReplaceDirective(MLIRContext &context);
void attachShardDirective(MLIRContext &context);
void attachSyncDirective(MLIRContext &context);

} // namespace dist
} // namespace mlir

#endif // DIST_PASSES_SCHEDULE_DIRECTIVES_DIRECTIVES_H
