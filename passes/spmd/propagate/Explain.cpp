//===- Explain.cpp - Where a value's sharding came from -------------------===//
//
// Follows the records of propagation for each dimension back to the annotation,
// and prints the proposals that lost.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "passes/spmd/graph/PlacementText.h"
#include "passes/spmd/propagate/Passes.h"
#include "passes/spmd/propagate/PlacementAnalysis.h"

using namespace mlir;
using namespace mlir::dist;

static void printValue(Value value, raw_ostream &os) {
  OpPrintingFlags flags;
  flags.useLocalScope();
  value.printAsOperand(os, flags);
  if (Operation *op = value.getDefiningOp())
    os << " = " << op->getName();
  Operation *owner = value.getDefiningOp();
  if (!owner)
    owner = cast<BlockArgument>(value).getOwner()->getParentOp();
  if (auto scope = owner->getAttrOfType<StringAttr>(kScopeAttr))
    os << " (" << scope.getValue() << ")";
}

/// Tells for a value where its sharding came from, step by step, and what lost.
static void explain(Value value, const PlacementGraph &graph,
                    const Placements &placements, const LostProposals &losers,
                    DimShardingAttr none, raw_ostream &os) {
  constexpr unsigned kNone = PlacementGraph::kNone;
  ArrayRef<PlacementGraph::Node> nodes = graph.getNodes();
  ArrayRef<std::string> causes = placements.getCauses();
  unsigned index = graph.getIndex(value);
  printValue(value, os);
  if (index == kNone) {
    os << ": made where it is used\n";
    return;
  }
  os << ": " << placements.getSharding(index) << "\n";
  for (auto [dim, state] : llvm::enumerate(placements.getDims(index))) {
    if (auto lost = losers.find({index, static_cast<unsigned>(dim)});
        lost != losers.end())
      for (const Proposal &proposal : lost->second)
        os << "  dimension " << dim << " is not " << printDim(proposal.sharding)
           << ", as " << describeOp(nodes[proposal.node].op) << " would have it"
           << (proposal.cause == kNone ? std::string()
                                       : ", after " + causes[proposal.cause])
           << "\n";
    if (state.sharding == none)
      continue;
    os << "  dimension " << dim << " " << printDim(state.sharding) << ":\n";
    // Follow the nodes back to the annotation.
    unsigned at = index, atDim = dim;
    while (true) { // each step is of an earlier round
      const Placements::DimState &here = placements.getDims(at)[atDim];
      if (here.node == kNone) {
        os << "    asked for by "
           << (here.cause == kNone ? "the program" : causes[here.cause])
           << "\n";
        break;
      }
      const PlacementGraph::Node &node = nodes[here.node];
      SmallVector<AxisRefAttr> axes = here.sharding.getAllAxes();
      unsigned next = kNone, nextDim = 0, nextRound = here.round;
      for (unsigned other : graph.getLinks(node)) {
        if (other == kNone || other == at)
          continue;
        for (auto [d, state] : llvm::enumerate(placements.getDims(other)))
          if (state.sharding != none && state.cause == here.cause &&
              state.round < nextRound &&
              anyOverlap(axes, state.sharding.getAllAxes())) {
            next = other;
            nextDim = d;
            nextRound = state.round;
          }
      }
      os << "    round " << here.round << ": through " << node.op->getName();
      if (auto scope = node.op->getAttrOfType<StringAttr>(kScopeAttr))
        os << " (" << scope.getValue() << ")";
      if (next == kNone) {
        os << "\n";
        break;
      }
      os << " from ";
      printValue(graph.getValues()[next], os);
      os << ", dimension " << nextDim << "\n";
      at = next;
      atDim = nextDim;
    }
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace mlir::dist {
#define GEN_PASS_DEF_EXPLAINPASS
#include "passes/spmd/propagate/Passes.h.inc"
} // namespace mlir::dist

namespace {
struct ExplainPass : mlir::dist::impl::ExplainPassBase<ExplainPass> {
  using ExplainPassBase::ExplainPassBase;
  void runOnOperation() override {
    PlacementAnalysis analysis(getOperation());
    if (failed(analysis.getStatus()))
      return signalPassFailure();
    if (!analysis.getLayout())
      return;
    LostProposals lost;
    analysis.propagate(&lost);
    bool found = false;
    for (Value value : analysis.getGraph().getValues()) {
      Operation *op = value.getDefiningOp();
      auto scopeAttr =
          op ? op->getAttrOfType<StringAttr>(kScopeAttr) : StringAttr();
      if (!scope.empty() && (!scopeAttr || scopeAttr.getValue() != scope))
        continue;
      found = true;
      explain(value, analysis.getGraph(), analysis.getPlacements(), lost,
              analysis.getLayout()->none(), llvm::outs());
    }
    if (!found && !scope.empty()) {
      getOperation()->emitError()
          << "no value with the scope '" << scope << "' to explain";
      signalPassFailure();
    }
    markAllAnalysesPreserved();
  }
};
} // namespace
