//===- Directive.h - Common parts of directives -----------------*- C++ -*-===//
//
// ScheduleDirectiveOpInterface, and the types that its description uses.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_IR_DIRECTIVE_H
#define DIST_DIALECTS_DIST_IR_DIRECTIVE_H

namespace mlir::dist {

/// A schedule while it is applied (passes/schedule).
class ScheduleApplication;

/// What the pattern of a directive names. Modules have their path, arguments
/// and results their name in the model, values the names in the locations of
/// their ops.
enum class TargetKind { Module, Parameter, Input, Output, Value };

/// The words of clauses behind a directive's target. The last three, which any
/// directive may have, come last.
inline constexpr StringRef kClauseWords[] = {
    "over",     "groups", "dim",    "to",    "partial", "low",      "high",
    "boundary", "zigzag", "always", "never", "chunks",  "split",    "sizes",
    "ring",     "axes",   "where",  "with",  "except",  "optional", "expect"};

/// "megatron.mlir:5: dist.shard \"h.*\" column over \"tp\"": a directive and
/// its line.
std::string describeDirective(Operation *directive);

} // namespace mlir::dist

#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/IR/ScheduleDirectiveOpInterface.h.inc"

#endif // DIST_DIALECTS_DIST_IR_DIRECTIVE_H
