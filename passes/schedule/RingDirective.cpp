//===- RingDirective.cpp - Keys and values go round -----------------------===//
//
// dist.ring: written down with the mesh, as what it speaks of, the gathers of
// keys and values, is yet to come.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Attention.h"
#include "passes/schedule/Directives.h"
#include "passes/schedule/ScheduleApplication.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
struct RingDirective
    : ScheduleDirectiveOpInterface::ExternalModel<RingDirective, RingOp> {
  std::optional<int64_t> getExpected(Operation *op) const {
    return cast<RingOp>(op).getExpect();
  }

  FailureOr<unsigned> apply(Operation *op, ScheduleApplication &application,
                            ArrayRef<unsigned> targets) const {
    auto directive = cast<RingOp>(op);
    MeshOp mesh = application.getMesh();
    NamedAttrList modules;
    if (auto before = mesh->getAttrOfType<DictionaryAttr>(kRingsAttr))
      modules.append(before.begin(), before.end());
    Builder builder(op->getContext());
    auto ring = builder.getDictionaryAttr(
        {builder.getNamedAttr("axes", directive.getAxesAttr()),
         builder.getNamedAttr("by", LocationAttr(op->getLoc()))});
    for (unsigned scope : targets) {
      StringRef path = application.getScopes().getPath(scope);
      if (modules.set(path, ring))
        return emitError(op->getLoc())
               << "module \"" << path
               << "\" has a dist.ring from a directive before; leave one out";
    }
    mesh->setAttr(kRingsAttr, modules.getDictionary(op->getContext()));
    return targets.size();
  }
};
} // namespace

void mlir::dist::attachRingDirective(MLIRContext &context) {
  RingOp::attachInterface<RingDirective>(context);
}
