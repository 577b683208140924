//===- ScheduleDirectiveOpInterface.td - Directives --------*- tablegen -*-===//
//
// What the directives of a schedule have in common.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_IR_SCHEDULEDIRECTIVEOPINTERFACE_TD
#define DIST_IR_SCHEDULEDIRECTIVEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def Dist_ScheduleDirectiveOpInterface
    : OpInterface<"ScheduleDirectiveOpInterface"> {
  let cppNamespace = "::mlir::dist";
  let description = [{
    An op that `dist.schedule` may hold. It has a pattern, and
    `--dist-apply-schedule` calls `apply` with the targets that the pattern matches.
    The dialect promises the interface for its own directives; passes/schedule
    implements it. A user's dialect can implement it for directives of its own.
  }];
  let methods = [
    InterfaceMethod<"The kind of names that the pattern is matched with.",
                    "::mlir::dist::TargetKind", "getTargetKind", (ins), "",
                    "return ::mlir::dist::TargetKind::Module;">,
    InterfaceMethod<"A glob, or a regular expression between slashes.",
                    "::llvm::StringRef", "getTargetPattern", (ins), "",
                    "return $_op.getTargetAttr().getValue();">,
    InterfaceMethod<"Whether the pattern may match nothing.",
                    "bool", "isOptional", (ins), "",
                    "return $_op.getOptional();">,
    InterfaceMethod<"How many places it must apply to, if it has `expect`.",
                    "::std::optional<int64_t>", "getExpected", (ins), "",
                    "return ::std::nullopt;">,
    InterfaceMethod<[{The directive and the line it stands on, for messages and
                      causes: `megatron.mlir:5: dist.shard "h.*" column over "tp"`.}],
                    "std::string", "describe", (ins), "",
                    "return ::mlir::dist::describeDirective($_op);">,
    InterfaceMethod<[{Writes the directive into the program, for the targets with
                      these numbers (scopes, or named tensors of its kind).
                      Returns the number of places that it applied to, or fails
                      after an error at the directive's line.}],
                    "::llvm::FailureOr<unsigned>", "apply",
                    (ins "::mlir::dist::ScheduleApplication &":$application,
                         "::llvm::ArrayRef<unsigned>":$targets)>,
  ];
}

#endif // DIST_IR_SCHEDULEDIRECTIVEOPINTERFACE_TD
