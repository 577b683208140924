//===- PlanRings.cpp - Which blocks of keys a device needs ----------------===//
//
// For attention in a ring (dist.ring), while all placements are known: which
// blocks of keys a mask leaves to the queries of which device, and whether
// zigzag gives the busiest device less work.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/Interfaces/Placement.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/attention/AttentionMatch.h"
#include "passes/attention/FormAttention.h"
#include "passes/attention/KeyWindow.h"
#include "passes/rings/Passes.h"
#include "passes/schedule/names/ModuleNotes.h"
#include "passes/spmd/verify/Uniformity.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::dist {
#define GEN_PASS_DEF_PLANRINGSPASS
#include "passes/rings/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// Whether the dimension of queries is in plain blocks over exactly `axes`. The
/// operand that `query` was computed from tells.
static bool isCutOver(AttentionOp op, Value query, ArrayAttr axes) {
  ShardingAttr sharding = getPlacement(query);
  if (!sharding)
    return false;
  std::optional<unsigned> place = op.getMap(0).getResultPosition(
      getAffineDimExpr(op.getQueryDim(), op.getContext()));
  DimShardingAttr dim = sharding.getDims()[*place];
  return dim == DimShardingAttr::get(op.getContext(), getAxisRefs(axes),
                                     dim.getIsOpen());
}

/// Whether devices have blocks of queries with two halves.
static LogicalResult checkHalves(AttentionOp op, const NamedAttribute &ring,
                                 bool isCut, int64_t devices) {
  int64_t queries = op.getDimSizes()[op.getQueryDim()];
  bool isKnown = !ShapedType::isDynamic(queries);
  if (isCut && llvm::divideCeil(queries, devices) > 1)
    return success();
  auto said = cast<DictionaryAttr>(ring.getValue());
  InFlightDiagnostic error = emitError(said.getAs<LocationAttr>("by"));
  error << "dist.ring: in module \"" << getNotedModule(ring.getName()) << "\" ";
  if (isKnown && queries <= devices)
    error << queries << (queries == 1 ? " query is" : " queries are")
          << " in blocks of 1 on " << devices
          << " devices, which have no halves for zigzag: leave 'zigzag' out, "
          << "or take fewer devices than queries along the ring";
  else if (!isKnown)
    error << "the number of queries is not known, so that zigzag cannot "
          << "exchange halves of them: --bind says it, or leave 'zigzag' out";
  else
    error << queries << " queries are not in one block on each of the ring's "
          << devices << " devices, over just its axes, of which zigzag could "
          << "exchange halves, or these are not of one size: shard them so, or "
          << "leave 'zigzag' out";
  error.attachNote(op.getLoc()) << "this attention";
  return error;
}

namespace {
/// The facts about the attentions of a module that a directive names.
struct Module {
  std::vector<bool> seen;
  /// The smallest window of all; empty if one has no window.
  std::optional<KeyWindow> window;
  /// For directives with `zigzag`: whether devices are busier without it.
  bool gains = false;
};

struct PlanRingsPass : mlir::dist::impl::PlanRingsPassBase<PlanRingsPass> {
  void runOnOperation() override {
    FailureOr<MeshOp> mesh = findProgramMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    auto rings = *mesh ? (*mesh)->getAttrOfType<DictionaryAttr>(kRingsAttr)
                       : DictionaryAttr();
    if (!rings)
      return markAllAnalysesPreserved();
    MeshLayout layout(*mesh);
    KeyWindows masks;
    // By all its attentions.
    llvm::MapVector<StringRef, Module> found;
    bool isUnusable = false;
    auto look = [&](AttentionOp op, AttentionMatch &match) {
      const NamedAttribute *ring = findModuleNote(op, rings);
      if (!ring)
        return failure();
      match.keepQueryLoop();
      auto said = cast<DictionaryAttr>(ring->getValue());
      auto axes = said.getAs<ArrayAttr>("axes");
      int64_t devices = layout.size(getAxisRefs(axes));
      bool isZigzag = said.contains("zigzag");
      int64_t queries = op.getDimSizes()[op.getQueryDim()];
      bool isCut = isCutOver(op, match.getQuery(), axes) &&
                   !ShapedType::isDynamic(queries) &&
                   isEquallySpaced(layout, getAxisRefs(axes), queries);
      if (isZigzag && devices > 1 &&
          failed(checkHalves(op, *ring, isCut, devices)))
        isUnusable = true;
      if (isUnusable)
        return failure();
      std::vector<bool> blocks(2 * devices * devices, true);
      if (isCut)
        blocks = masks.findSeenBlocks(op, devices);
      auto [known, isNew] = found.try_emplace(ring->getName().strref());
      Module &module = known->second;
      if (isZigzag) {
        SmallVector<bool> table(blocks.begin(), blocks.end());
        int64_t rows = llvm::divideCeil(queries, devices);
        module.gains |=
            countRowsInRing(table, devices, rows, /*isZigzag=*/true) <
            countRowsInRing(table, devices, rows, /*isZigzag=*/false);
      }
      std::optional<KeyWindow> window = isCut ? masks.find(op) : std::nullopt;
      if (isNew) {
        module.seen.assign(blocks.size(), false);
        module.window = window;
      }
      if (!window)
        module.window.reset();
      else if (module.window)
        module.window = {std::max(module.window->left, window->left),
                         std::max(module.window->right, window->right)};
      for (auto [number, block] : llvm::enumerate(blocks))
        module.seen[number] = module.seen[number] || block;
      return failure(); // it stays as it is
    };
    formAttentions(getOperation(), /*minScores=*/1, WithAdjoints::Yes,
                   /*withFactors=*/true, look);
    if (isUnusable)
      return signalPassFailure();
    Builder builder(&getContext());
    NamedAttrList modules(rings);
    // Of a directive, where 'zigzag' gains nothing.
    llvm::MapVector<Location, SmallVector<StringRef>> unmoved;
    for (const auto &[name, module] : found) {
      NamedAttrList ring(rings.getAs<DictionaryAttr>(name));
      SmallVector<bool> blocks(module.seen.begin(), module.seen.end());
      auto axes = cast<ArrayAttr>(ring.get("axes"));
      if (ring.get("zigzag") && !module.gains &&
          layout.size(getAxisRefs(axes)) > 1) {
        Location by = cast<LocationAttr>(ring.get("by"));
        unmoved[by].push_back(getNotedModule(name));
        ring.erase("zigzag");
      }
      ring.set("seen", builder.getDenseBoolArrayAttr(blocks));
      if (module.window)
        ring.set("window", builder.getDenseI64ArrayAttr(
                               {module.window->left, module.window->right}));
      modules.set(name, ring.getDictionary(&getContext()));
    }
    for (const auto &[by, names] : unmoved) {
      InFlightDiagnostic remark = emitRemark(by)
                                  << "dist.ring: in module \"" << names.front()
                                  << "\"";
      if (names.size() > 1)
        remark << " and " << names.size() - 1 << " more";
      remark << " the busiest device has as much to do with zigzag as without, "
                "by what masks leave: queries stay where they are";
    }
    (*mesh)->setAttr(kRingsAttr, modules.getDictionary(&getContext()));
  }
};
} // namespace
