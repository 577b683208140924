//===- OverlapDirective.cpp - What runs beside computation ----------------===//
//
// dist.overlap: written down with the mesh, which goes through all levels,
// since collectives are yet to come.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Overlap.h"
#include "dialects/dist/Utils/Streams.h"
#include "passes/schedule/directives/Directives.h"
#include "passes/schedule/directives/ScheduleApplication.h"
#include "passes/schedule/names/ModuleNotes.h"

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
    Builder builder(op->getContext());
    Attribute value = builder.getBoolAttr(directive.getAlways());
    if (IntegerAttr chunks = directive.getChunksAttr())
      value = builder.getDictionaryAttr(
          {builder.getNamedAttr("by", LocationAttr(op->getLoc())),
           builder.getNamedAttr("chunks", chunks)});
    if (directive.getRing())
      value = builder.getDictionaryAttr(
          {builder.getNamedAttr("by", LocationAttr(op->getLoc())),
           builder.getNamedAttr("ring", builder.getUnitAttr())});
    auto describe = [](Attribute wish) -> std::string {
      if (auto always = dyn_cast<BoolAttr>(wish))
        return always.getValue() ? "always" : "never";
      auto chunks = cast<DictionaryAttr>(wish).getAs<IntegerAttr>("chunks");
      return chunks ? "chunks " + std::to_string(chunks.getInt()) : "ring";
    };
    for (unsigned scope : targets) {
      StringRef path = application.getScopes().getPath(scope);
      Attribute before = modules.set(getNoteName(path), value);
      if (before && describe(before) != describe(value))
        return emitError(op->getLoc())
               << "module \"" << path << "\" has " << describe(before)
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
