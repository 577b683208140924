//===- Propagate.cpp - The pass that places values: level 1 to 2 ----------===//
//
// Reads the module into a graph, seeds the placements that annotations ask for,
// propagates them, and writes the outcome on every op.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/spmd/propagate/Passes.h"
#include "passes/spmd/propagate/PlacementAnalysis.h"

using namespace mlir;
using namespace mlir::dist;

namespace mlir::dist {
#define GEN_PASS_DEF_PROPAGATEPASS
#include "passes/spmd/propagate/Passes.h.inc"
} // namespace mlir::dist

namespace {
struct PropagatePass : mlir::dist::impl::PropagatePassBase<PropagatePass> {
  using PropagatePassBase::PropagatePassBase;

  /// Says which ops every device will compute in full.
  LogicalResult reportUnruled(const PlacementGraph &graph) {
    for (Operation *op : graph.getUnruledOps()) {
      if (strict) {
        op->emitError() << "'" << op->getName()
                        << "' has no sharding rule (its dialect can implement "
                        << "ShardingRuleOpInterface), and replication is not "
                        << "allowed here";
        return failure();
      }
      op->emitWarning() << "'" << op->getName()
                        << "' has no sharding rule: it runs replicated";
    }
    return success();
  }

  void runOnOperation() override {
    eraseBackwardSyncs(getOperation());
    auto &analysis = getAnalysis<PlacementAnalysis>();
    if (failed(analysis.getStatus()))
      return signalPassFailure();
    markAnalysesPreserved<PlacementAnalysis>();
    if (!analysis.getLayout())
      return;
    if (failed(reportUnruled(analysis.getGraph())))
      return signalPassFailure();
    analysis.propagate();
    writePlacements(getOperation(), analysis.getGraph(),
                    analysis.getPlacements());
  }

  static void writePlacements(Operation *module, const PlacementGraph &graph,
                              const Placements &placements) {
    MLIRContext *context = module->getContext();
    auto name = StringAttr::get(context, kShardingsAttr);
    auto unit = UnitAttr::get(context);
    SmallVector<Attribute, 2> shardings;
    module->walk([&](Operation *op) {
      if (auto function = dyn_cast<FunctionOpInterface>(op)) {
        // One attribute holds those of all arguments: it is built once.
        SmallVector<DictionaryAttr> attrs;
        function.getAllArgAttrs(attrs);
        attrs.resize(function.getNumArguments(), DictionaryAttr::get(context));
        for (BlockArgument argument : function.getArguments())
          if (unsigned value = graph.getIndex(argument);
              value != PlacementGraph::kNone) {
            DictionaryAttr &dict = attrs[argument.getArgNumber()];
            NamedAttrList list(dict ? dict : DictionaryAttr::get(context));
            list.set(kShardingAttr, placements.getSharding(value));
            if (auto axes = placements.getStoredAxes(value); !axes.empty())
              list.set(kStoredAttr,
                       ArrayAttr::get(context, SmallVector<Attribute>(
                                                   axes.begin(), axes.end())));
            dict = list.getDictionary(context);
          }
        function.setAllArgAttrs(attrs);
        return;
      }
      shardings.clear();
      bool any = false;
      for (Value result : op->getResults()) {
        unsigned value = graph.getIndex(result);
        any |= value != PlacementGraph::kNone;
        shardings.push_back(value == PlacementGraph::kNone
                                ? Attribute(unit)
                                : placements.getSharding(value));
      }
      if (any)
        op->setDiscardableAttr(name, ArrayAttr::get(context, shardings));
    });
  }
};
} // namespace
