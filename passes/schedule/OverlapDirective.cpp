//===- OverlapDirective.cpp - What runs beside computation ----------------===//
//
// dist.overlap: written down with the mesh, which goes through all levels,
// since collectives are yet to come.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Overlap.h"
#include "dialects/dist/IR/Streams.h"
#include "passes/schedule/Directives.h"
#include "passes/schedule/ScheduleApplication.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
struct OverlapDirective
    : ScheduleDirectiveOpInterface::ExternalModel<OverlapDirective, OverlapOp> {
  std::optional<int64_t> getExpected(Operation *op) const {
    return cast<OverlapOp>(op).getExpect();
  }

  FailureOr<unsigned> apply(Operation *op, ScheduleApplication &application,
                            ArrayRef<unsigned> targets) const {
    auto directive = cast<OverlapOp>(op);
    MeshOp mesh = application.getMesh();
    NamedAttrList modules;
    if (auto before = mesh->getAttrOfType<DictionaryAttr>(kOverlapAttr))
      modules.append(before.begin(), before.end());
    auto value = BoolAttr::get(op->getContext(), directive.getAlways());
    for (unsigned scope : targets) {
      StringRef path = application.getScopes().getPath(scope);
      Attribute before = modules.set(path, value);
      if (before && before != value)
        return emitError(op->getLoc())
               << "module \"" << path << "\" has "
               << (directive.getAlways() ? "never" : "always")
               << " from a directive before; leave one out";
    }
    mesh->setAttr(kOverlapAttr, modules.getDictionary(op->getContext()));
    return targets.size();
  }
};
} // namespace

void mlir::dist::attachOverlapDirective(MLIRContext &context) {
  OverlapOp::attachInterface<OverlapDirective>(context);
}
