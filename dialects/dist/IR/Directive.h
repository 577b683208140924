//===- Directive.h - What directives of a schedule share --------*- C++ -*-===//
//
// ScheduleDirectiveOpInterface, and what its description names.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_IR_DIRECTIVE_H
#define DIST_DIALECTS_DIST_IR_DIRECTIVE_H

#include "dialects/dist/IR/Dist.h"

namespace mlir::dist {

/// A schedule while it is applied (passes/schedule).
class ScheduleApplication;

/// What the pattern of a directive names: modules of the model by their path,
/// arguments and results by their name in it, or values by the names that the
/// locations of their ops give.
enum class TargetKind { Module, Parameter, Input, Output, Value };

/// "megatron.mlir:5: dist.shard \"h.*\" column over \"tp\"": a directive and
/// the line it stands on.
std::string describeDirective(Operation *directive);

/// Checks what directives about modules that come true at level 3 only leave on
/// a mesh under `name`: {axes = [...], by = loc(...)} for modules' paths.
LogicalResult verifyModuleAxesAttr(Operation *op, StringRef name,
                                   Attribute attr);

} // namespace mlir::dist

#include "dialects/dist/IR/ScheduleDirectiveOpInterface.h.inc"

#endif // DIST_DIALECTS_DIST_IR_DIRECTIVE_H
