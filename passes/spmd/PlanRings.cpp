//===- PlanRings.cpp - Which blocks of keys a device needs ----------------===//
//
// Of attention whose keys and values are to go round (dist.ring), while it is
// known where everything is placed: which blocks of keys a mask leaves the
// queries of which device.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Program.h"
#include "dialects/dist/Interfaces/Placement.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/Passes.h"
#include "passes/attention/FormAttention.h"
#include "passes/attention/KeyWindow.h"
#include "passes/spmd/ModuleNotes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_PLANRINGSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

/// Where a value of level 2 is placed; null where nothing says so.
static ShardingAttr getPlacement(Value value) {
  if (auto result = dyn_cast<OpResult>(value)) {
    auto shardings =
        result.getOwner()->getAttrOfType<ArrayAttr>(kShardingsAttr);
    return shardings
               ? dyn_cast<ShardingAttr>(shardings[result.getResultNumber()])
               : ShardingAttr();
  }
  auto argument = cast<BlockArgument>(value);
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  return function ? function.getArgAttrOfType<ShardingAttr>(
                        argument.getArgNumber(), kShardingAttr)
                  : ShardingAttr();
}

/// Whether the dimension of queries is in plain blocks over just `axes`.
static bool isCutOver(AttentionOp op, ArrayAttr axes) {
  ShardingAttr sharding = getPlacement(op.getQuery());
  if (!sharding)
    return false;
  std::optional<unsigned> place = op.getMap(0).getResultPosition(
      getAffineDimExpr(op.getQueryDim(), op.getContext()));
  DimShardingAttr dim = sharding.getDims()[*place];
  return dim == DimShardingAttr::get(op.getContext(), getAxisRefs(axes),
                                     dim.getIsOpen());
}

namespace {
struct PlanRingsPass : mlir::dist::impl::PlanRingsPassBase<PlanRingsPass> {
  void runOnOperation() override {
    FailureOr<MeshOp> mesh = findProgramMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    auto rings = *mesh ? (*mesh)->getAttrOfType<DictionaryAttr>(kRingsAttr)
                       : DictionaryAttr();
    if (!rings)
      return;
    MeshLayout layout(*mesh);
    KeyWindows masks;
    // Of each module, by all its attentions.
    llvm::StringMap<std::vector<bool>> seen;
    auto look = [&](AttentionOp op) {
      const NamedAttribute *ring = findModuleNote(op, rings);
      if (!ring)
        return failure();
      auto axes =
          cast<DictionaryAttr>(ring->getValue()).getAs<ArrayAttr>("axes");
      int64_t devices = layout.size(getAxisRefs(axes));
      std::vector<bool> blocks(devices * devices, true);
      if (isCutOver(op, axes))
        blocks = masks.findSeenBlocks(op, devices);
      auto [known, isNew] = seen.try_emplace(ring->getName().strref(), blocks);
      if (!isNew)
        for (auto [number, block] : llvm::enumerate(blocks))
          known->second[number] = known->second[number] || block;
      return failure(); // it stays as it is
    };
    formAttentions(getOperation(), /*minScores=*/1, /*withAdjoints=*/true,
                   look);
    Builder builder(&getContext());
    NamedAttrList modules(rings);
    for (const auto &module : seen) {
      NamedAttrList ring(rings.getAs<DictionaryAttr>(module.getKey()));
      SmallVector<bool> blocks(module.second.begin(), module.second.end());
      ring.set("seen", builder.getDenseBoolArrayAttr(blocks));
      modules.set(module.getKey(), ring.getDictionary(&getContext()));
    }
    (*mesh)->setAttr(kRingsAttr, modules.getDictionary(&getContext()));
  }
};
} // namespace
