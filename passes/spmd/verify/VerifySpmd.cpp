//===- VerifySpmd.cpp - Checks a module of level 3 ------------------------===//
//
// Nothing of level 2 is left, local types are those of the whole tensors'
// placements, and the devices of a group issue the same collectives in the same
// order. One program has one order; so the last holds where no collective runs
// under a condition that its group's devices may see differently. That groups
// and dimensions exist and divide is checked by each collective's own verifier.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/spmd/graph/PlacementText.h"
#include "passes/spmd/verify/Passes.h"
#include "passes/spmd/verify/Uniformity.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

namespace {
/// The attributes of a function's argument or result.
struct Boundary {
  std::string name;
  Type type;
  ShardingAttr sharding;
  TypeAttr global;
};
} // namespace

static SmallVector<Boundary> getBoundaries(FunctionOpInterface function) {
  SmallVector<Boundary> all;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    if (isa<RankedTensorType>(type))
      all.push_back({"argument " + std::to_string(i), type,
                     function.getArgAttrOfType<ShardingAttr>(i, kShardingAttr),
                     function.getArgAttrOfType<TypeAttr>(i, kGlobalTypeAttr)});
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    if (isa<RankedTensorType>(type))
      all.push_back(
          {"result " + std::to_string(i), type,
           function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr),
           function.getResultAttrOfType<TypeAttr>(i, kGlobalTypeAttr)});
  return all;
}

static LogicalResult verifySignature(FunctionOpInterface function) {
  SmallVector<Boundary> all = getBoundaries(function);
  if (llvm::none_of(all, [](const Boundary &b) { return b.global; }))
    return success(); // no part of a placed program
  for (const Boundary &boundary : all) {
    if (!boundary.global || !boundary.sharding)
      return function.emitOpError()
             << boundary.name << " is a tensor without '"
             << (boundary.global ? kShardingAttr : kGlobalTypeAttr)
             << "', which others have";
    if (boundary.sharding.isPartial())
      return function.emitOpError()
             << boundary.name << " is placed as " << boundary.sharding
             << ", but what a function takes and returns is complete";
    MeshOp mesh = lookupMesh(function, boundary.sharding.getMesh());
    auto whole = dyn_cast<RankedTensorType>(boundary.global.getValue());
    if (!mesh || !whole)
      return function.emitOpError()
             << boundary.name << " is a part of " << boundary.global
             << " placed as " << boundary.sharding << ", which is no tensor on "
             << "a mesh of this module";
    RankedTensorType local =
        MeshLayout(mesh).localType(whole, boundary.sharding);
    if (local != boundary.type)
      return function.emitOpError()
             << boundary.name << " has type " << boundary.type << ", but of "
             << whole << " placed as " << boundary.sharding
             << " a device holds " << local;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Leftovers
//===----------------------------------------------------------------------===//

static LogicalResult verifyNothingLeft(Operation *op, StringAttr shardings) {
  auto sync = dyn_cast<SyncOp>(op);
  if (isa<ReshardOp, ManualReshardOp, ShardingConstraintOp, FollowOp>(op) ||
      (sync && sync.getOperand()))
    return op->emitOpError()
           << "is left over: in the program of one device there are "
           << "collectives in its place";
  if (Attribute attr = op->getDiscardableAttr(shardings))
    return op->emitOpError() << "has '" << shardings.getValue()
                             << "' = " << attr << ", which is of level 2";
  return success();
}

namespace mlir::dist {
#define GEN_PASS_DEF_VERIFYSPMDPASS
#include "passes/spmd/verify/Passes.h.inc"
} // namespace mlir::dist

namespace {
struct VerifySpmdPass : mlir::dist::impl::VerifySpmdPassBase<VerifySpmdPass> {
  LogicalResult verify() {
    ModuleOp module = getOperation();
    auto shardings = StringAttr::get(&getContext(), kShardingsAttr);
    // Collectives in no region but the function's always run.
    bool isConditional = false, anyCollective = false, anyNestedCall = false;
    FailureOr<MeshOp> mesh = findProgramMesh(module);
    if (failed(mesh))
      return failure();
    for (auto function : module.getOps<FunctionOpInterface>()) {
      if (function.isExternal())
        continue;
      if (failed(verifySignature(function)))
        return failure();
      bool hasBlocks = !function.getFunctionBody().hasOneBlock();
      WalkResult result = function.getFunctionBody().walk([&](Operation *op) {
        if (failed(verifyNothingLeft(op, shardings)))
          return WalkResult::interrupt();
        bool isNested = hasBlocks || op->getParentOp() != function;
        if (isa<CollectiveOpInterface>(op)) {
          anyCollective = true;
          isConditional |= isNested;
        }
        anyNestedCall |= isNested && isa<CallOpInterface>(op);
        return WalkResult::advance();
      });
      if (result.wasInterrupted())
        return failure();
    }
    if (!isConditional && !(anyCollective && anyNestedCall))
      return success();
    return verifyUniformControl(module, MeshLayout(*mesh));
  }

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verify()))
      signalPassFailure();
  }
};
} // namespace
