//===- ModuleDirectives.cpp - What is only written down -------------------===//
//
// dist.annotate and dist.checkpoint: attributes of a module's ops.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Schedule.h"
#include "passes/schedule/directives/Directives.h"
#include "passes/schedule/directives/ScheduleApplication.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
struct AnnotateDirective
    : ScheduleDirectiveOpInterface::ExternalModel<AnnotateDirective,
                                                  AnnotateOp> {
  std::optional<int64_t> getExpected(Operation *op) const {
    return cast<AnnotateOp>(op).getExpect();
  }

  FailureOr<unsigned> apply(Operation *op, ScheduleApplication &application,
                            ArrayRef<unsigned> targets) const {
    auto directive = cast<AnnotateOp>(op);
    for (unsigned scope : targets)
      for (Operation *annotated : application.getScopes().getOps(scope))
        for (NamedAttribute attr : directive.getAnnotations()) {
          Attribute before = annotated->getDiscardableAttr(attr.getName());
          if (before && before != attr.getValue()) {
            InFlightDiagnostic error = emitError(op->getLoc())
                                       << "sets '" << attr.getName().getValue()
                                       << "' to " << attr.getValue()
                                       << ", but an op of \""
                                       << application.getScopes().getPath(scope)
                                       << "\" has " << before << " already";
            error.attachNote(annotated->getLoc()) << "this op";
            return error;
          }
          annotated->setDiscardableAttr(attr.getName(), attr.getValue());
        }
    return targets.size();
  }
};

struct CheckpointDirective
    : ScheduleDirectiveOpInterface::ExternalModel<CheckpointDirective,
                                                  CheckpointOp> {
  std::optional<int64_t> getExpected(Operation *op) const {
    return cast<CheckpointOp>(op).getExpect();
  }

  FailureOr<unsigned> apply(Operation *op, ScheduleApplication &application,
                            ArrayRef<unsigned> targets) const {
    ScopeIndex &scopes = application.getScopes();
    auto name = StringAttr::get(op->getContext(), kCheckpointAttr);
    for (unsigned scope : targets) {
      auto path = StringAttr::get(op->getContext(), scopes.getPath(scope));
      for (Operation *inside : scopes.getOps(scope)) {
        // Of nested modules the outer one is recomputed.
        auto before = llvm::dyn_cast_or_null<StringAttr>(
            inside->getDiscardableAttr(name));
        if (!before || before.size() > path.size())
          inside->setDiscardableAttr(name, path);
      }
    }
    return targets.size();
  }
};
} // namespace

void mlir::dist::attachModuleDirectives(MLIRContext &context) {
  AnnotateOp::attachInterface<AnnotateDirective>(context);
  CheckpointOp::attachInterface<CheckpointDirective>(context);
}
