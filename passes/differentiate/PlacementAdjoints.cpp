//===- PlacementAdjoints.cpp - Adjoints of what a schedule wrote ----------===//
//
// Placements compute nothing, so cotangents pass unchanged. A constraint on a
// value also applies to its cotangent. A sync does not: the ops on both sides
// decide where the cotangent is communicated.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Schedule.h"
#include "mlir/IR/IRMapping.h"
#include "passes/differentiate/Models.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
struct ConstraintModel
    : DifferentiableOpInterface::ExternalModel<ConstraintModel,
                                               ShardingConstraintOp> {
  LogicalResult addAdjoints(Operation *op, OpBuilder &b,
                            Adjoints &adjoints) const {
    auto constraint = cast<ShardingConstraintOp>(op);
    Value operand = constraint.getOperand();
    if (!adjoints.isActive(operand))
      return success();
    // A sum that the value leaves pending says nothing of the cotangent.
    ShardingAttr sharding = constraint.getSharding().withoutPartial();
    Value like = ShardingConstraintOp::create(
        b, op->getLoc(), adjoints.lookup(constraint.getResult()), sharding,
        constraint.getCauseAttr(), /*whole=*/ArrayAttr());
    adjoints.add(b, op->getLoc(), operand, like);
    return success();
  }
};

struct SyncModel : DifferentiableOpInterface::ExternalModel<SyncModel, SyncOp> {
  LogicalResult addAdjoints(Operation *op, OpBuilder &b,
                            Adjoints &adjoints) const {
    auto sync = cast<SyncOp>(op);
    Value cotangent = adjoints.lookup(sync.getResult());
    // One that speaks of the gradient acts on it.
    if (sync.getMode() == SyncMode::BwdPost) {
      IRMapping mapping;
      mapping.map(sync.getOperand(), cotangent);
      auto made = cast<SyncOp>(b.clone(*op, mapping));
      made.setMode(SyncMode::FwdPost);
      cotangent = made.getResult();
    }
    // It is placed as the value was before.
    if (adjoints.isActive(sync.getOperand()))
      cotangent =
          FollowOp::create(b, op->getLoc(), cotangent.getType(), cotangent,
                           sync.getOperand(), /*moved=*/true);
    adjoints.add(b, op->getLoc(), sync.getOperand(), cotangent);
    return success();
  }
};

/// Back by code of the user's own, if it was given.
struct ManualReshardModel
    : DifferentiableOpInterface::ExternalModel<ManualReshardModel,
                                               ManualReshardOp> {
  LogicalResult addAdjoints(Operation *op, OpBuilder &b,
                            Adjoints &adjoints) const {
    auto manual = cast<ManualReshardOp>(op);
    Value cotangent = adjoints.lookup(manual.getResult());
    if (!manual.getBackward().empty()) {
      auto made = ManualReshardOp::create(
          b, op->getLoc(), cotangent, manual.getSharding().withoutPartial(),
          manual.getSource().withoutPartial(), manual.getCauseAttr());
      IRMapping mapping;
      manual.getBackward().cloneInto(&made.getBody(), mapping);
      cotangent = made.getResult();
    }
    adjoints.add(b, op->getLoc(), manual.getOperand(), cotangent);
    return success();
  }
};
} // namespace

void mlir::dist::registerPlacementAdjoints(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, DistDialect *) {
    ShardingConstraintOp::attachInterface<ConstraintModel>(*context);
    SyncOp::attachInterface<SyncModel>(*context);
    ManualReshardOp::attachInterface<ManualReshardModel>(*context);
  });
}
