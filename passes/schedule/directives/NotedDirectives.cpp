//===- NotedDirectives.cpp - Directives about what is yet to come ---------===//
//
// dist.ring and dist.graph_halo are about gathers of keys and values, or of
// rows, which exist only at level 3. So they are noted on the mesh until then.
// Rows, and sums by index, are placed in such a way that the gathers will
// exist.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Attention.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Halo.h"
#include "dialects/dist/IR/Schedule.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/schedule/directives/Directives.h"
#include "passes/schedule/directives/ScheduleApplication.h"
#include "passes/schedule/names/ModuleNotes.h"

using namespace mlir;
using namespace mlir::dist;

/// Notes the directive's axes for each module under `name`.
template <typename Directive>
static FailureOr<unsigned>
note(Directive directive, StringRef name, ScheduleApplication &application,
     ArrayRef<unsigned> targets, ArrayRef<NamedAttribute> more = {}) {
  MeshOp mesh = application.getMesh();
  NamedAttrList modules;
  if (auto before = mesh->getAttrOfType<DictionaryAttr>(name))
    modules.append(before.begin(), before.end());
  Builder builder(directive.getContext());
  NamedAttrList said(more);
  said.set("axes", directive.getAxesAttr());
  said.set("by", LocationAttr(directive.getLoc()));
  DictionaryAttr what = said.getDictionary(directive.getContext());
  for (unsigned scope : targets) {
    StringRef path = application.getScopes().getPath(scope);
    if (modules.set(getNoteName(path), what))
      return emitError(directive.getLoc())
             << "module \"" << path << "\" has a " << directive->getName()
             << " from a directive before; leave one out";
  }
  mesh->setAttr(name, modules.getDictionary(directive.getContext()));
  return targets.size();
}

namespace {
struct RingDirective
    : ScheduleDirectiveOpInterface::ExternalModel<RingDirective, RingOp> {
  std::optional<int64_t> getExpected(Operation *op) const {
    return cast<RingOp>(op).getExpect();
  }
  FailureOr<unsigned> apply(Operation *op, ScheduleApplication &application,
                            ArrayRef<unsigned> targets) const {
    auto ring = cast<RingOp>(op);
    SmallVector<NamedAttribute> more;
    if (UnitAttr zigzag = ring.getZigzagAttr())
      more.push_back({ring.getZigzagAttrName(), zigzag});
    return note(ring, kRingsAttr, application, targets, more);
  }
};

struct GraphHaloDirective
    : ScheduleDirectiveOpInterface::ExternalModel<GraphHaloDirective,
                                                  GraphHaloOp> {
  std::optional<int64_t> getExpected(Operation *op) const {
    return cast<GraphHaloOp>(op).getExpect();
  }
  FailureOr<unsigned> apply(Operation *op, ScheduleApplication &application,
                            ArrayRef<unsigned> targets) const {
    auto directive = cast<GraphHaloOp>(op);
    for (unsigned scope : targets)
      for (Operation *lookup : application.getScopes().getOps(scope))
        if (failed(place(directive, lookup, application)))
          return failure();
    return note(directive, kGraphHalosAttr, application, targets);
  }

private:
  /// Tables and updates are placed like the indices, along the axes, and sums
  /// like their rows; all other dimensions are open.
  static LogicalResult place(GraphHaloOp directive, Operation *op,
                             ScheduleApplication &application) {
    auto constrain = [&](OpOperand *use, Value value) {
      const MeshLayout &layout = application.getLayout();
      SmallVector<DimShardingAttr> dims(
          cast<RankedTensorType>(value.getType()).getRank(),
          DimShardingAttr::get(layout.getContext(), ArrayRef<AxisRefAttr>(),
                               /*isOpen=*/true));
      dims[0] = DimShardingAttr::get(layout.getContext(),
                                     getAxisRefs(directive.getAxes()));
      return application.constrain(directive, op, use,
                                   ShardingAttr::get(layout.getContext(),
                                                     layout.getName(), dims,
                                                     ReductionKind::Sum, {}));
    };
    // If indices have several dimensions, it is unknown which one is that of
    // edges.
    auto isLine = [](ArrayRef<int64_t> dims, Value indices) {
      return dims.size() == 1 &&
             cast<RankedTensorType>(indices.getType()).getRank() == 2;
    };
    if (auto gather = dyn_cast<tensor::GatherOp>(op)) {
      if (isLine(gather.getGatherDims(), gather.getIndices()))
        return failure(failed(constrain(&gather.getIndicesMutable(),
                                        gather.getIndices())) ||
                       failed(constrain(nullptr, gather.getResult())));
    } else if (auto sum = dyn_cast<ScatterAddOp>(op)) {
      if (isLine(sum.getDims(), sum.getIndices()))
        return failure(
            failed(constrain(&sum.getIndicesMutable(), sum.getIndices())) ||
            failed(constrain(&sum.getSourceMutable(), sum.getSource())));
    }
    return success();
  }
};
} // namespace

void mlir::dist::attachNotedDirectives(MLIRContext &context) {
  RingOp::attachInterface<RingDirective>(context);
  GraphHaloOp::attachInterface<GraphHaloDirective>(context);
}
