//===- FuseDirective.cpp - Linear layers that are to be one ---------------===//
//
// dist.fuse marks contractions that read one tensor. They become one on each
// device, once they are placed (passes/spmd/FuseContractions.cpp).
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Schedule.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "passes/schedule/directives/Directives.h"
#include "passes/schedule/directives/ScheduleApplication.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// A contraction with a parameter, and the module that it is of.
struct Layer {
  Operation *op;
  unsigned scope, weight;
};

struct FuseDirective
    : ScheduleDirectiveOpInterface::ExternalModel<FuseDirective, FuseOp> {
  /// Layers by the path of the module around theirs, and their operands.
  using Groups =
      llvm::MapVector<std::pair<StringRef, Value>, SmallVector<Layer, 4>>;

  std::optional<int64_t> getExpected(Operation *op) const {
    return cast<FuseOp>(op).getExpect();
  }

  FailureOr<unsigned> apply(Operation *op, ScheduleApplication &application,
                            ArrayRef<unsigned> targets) const {
    Groups groups;
    if (failed(findGroups(op, application, targets, groups)))
      return failure();
    // Other ops of a module, such as its gradient, may stay alone.
    llvm::SmallDenseSet<unsigned> fused;
    for (auto &[key, layers] : groups)
      if (layers.size() > 1)
        for (const Layer &layer : layers)
          fused.insert(layer.scope);
    unsigned places = 0;
    for (auto &[key, layers] : groups) {
      if (layers.size() == 1 && !fused.contains(layers.front().scope))
        return sayAlone(op, application, groups, layers.front(), key.first);
      if (layers.size() == 1)
        continue;
      ++places;
      // The first op's place tells groups apart.
      unsigned number = application.getScopes().getPosition(layers.front().op);
      for (const Layer &layer : layers)
        if (failed(mark(op, application, layer, number)))
          return failure();
    }
    return places;
  }

private:
  LogicalResult findGroups(Operation *directive,
                           ScheduleApplication &application,
                           ArrayRef<unsigned> targets, Groups &groups) const;
  LogicalResult mark(Operation *directive, ScheduleApplication &application,
                     const Layer &layer, unsigned group) const;
  InFlightDiagnostic sayAlone(Operation *directive,
                              ScheduleApplication &application,
                              const Groups &groups, const Layer &layer,
                              StringRef parent) const;
};
} // namespace

LogicalResult FuseDirective::findGroups(Operation *directive,
                                        ScheduleApplication &application,
                                        ArrayRef<unsigned> targets,
                                        Groups &groups) const {
  ScopeIndex &scopes = application.getScopes();
  llvm::SmallPtrSet<Operation *, 16> seen;
  for (unsigned scope : targets) {
    StringRef path = scopes.getPath(scope), parent = path.rsplit('.').first;
    if (parent.size() == path.size())
      parent = "";
    bool found = false;
    for (Operation *op : scopes.getOps(scope)) {
      auto contraction = application.getOrigins().findFeatureContraction(op);
      if (!contraction || !isa<linalg::LinalgOp>(op))
        continue;
      found = true;
      if (seen.insert(op).second)
        groups[{parent, contraction->activation->get()}].push_back(
            {op, scope, contraction->parameter->getOperandNumber()});
    }
    if (!found)
      return emitError(directive->getLoc())
             << "module \"" << path
             << "\" has no linear layer: no contraction with a parameter";
  }
  return success();
}

LogicalResult FuseDirective::mark(Operation *directive,
                                  ScheduleApplication &application,
                                  const Layer &layer, unsigned group) const {
  if (auto before = layer.op->getAttrOfType<DictionaryAttr>(kFuseAttr)) {
    InFlightDiagnostic error = emitError(directive->getLoc())
                               << "module \""
                               << application.getScopes().getPath(layer.scope)
                               << "\" is fused with others already";
    error.attachNote(before.getAs<LocationAttr>("by")) << "by this";
    return error;
  }
  Builder builder(directive->getContext());
  layer.op->setAttr(
      kFuseAttr,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("by", LocationAttr(directive->getLoc())),
           builder.getNamedAttr("group", builder.getI64IntegerAttr(group)),
           builder.getNamedAttr("weight",
                                builder.getI64IntegerAttr(layer.weight))}));
  return success();
}

InFlightDiagnostic FuseDirective::sayAlone(Operation *directive,
                                           ScheduleApplication &application,
                                           const Groups &groups,
                                           const Layer &layer,
                                           StringRef parent) const {
  ScopeIndex &scopes = application.getScopes();
  InFlightDiagnostic error = emitError(directive->getLoc());
  error << "nothing to fuse module \"" << scopes.getPath(layer.scope)
        << "\" with: no other layer of \"" << parent
        << "\" that is named reads the same tensor";
  error.attachNote(layer.op->getLoc()) << "the layer";
  for (auto &[key, layers] : groups)
    if (key.first == parent && layers.front().op != layer.op)
      error.attachNote(layers.front().op->getLoc())
          << "module \"" << scopes.getPath(layers.front().scope)
          << "\" reads another one";
  return error;
}

void mlir::dist::attachFuseDirective(MLIRContext &context) {
  FuseOp::attachInterface<FuseDirective>(context);
}
