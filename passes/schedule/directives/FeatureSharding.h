//===- FeatureSharding.h - column, row and heads ----------------*- C++ -*-===//
//
// The directives that shard contractions with parameters by their features.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_DIRECTIVES_FEATURESHARDING_H
#define DIST_PASSES_SCHEDULE_DIRECTIVES_FEATURESHARDING_H

#include "passes/schedule/directives/ScheduleApplication.h"

namespace mlir::dist {

class FeatureBlocks;

/// `column` and `row`, of the contractions in modules. Returns how many they
/// are, or fails after an error at the directive.
FailureOr<unsigned> shardFeatures(ShardOp directive,
                                  ScheduleApplication &application,
                                  ArrayRef<unsigned> scopes);

/// `heads`, of the attention in modules. Returns how many they are, or fails
/// after an error at the directive.
FailureOr<unsigned> shardHeads(ShardOp directive,
                               ScheduleApplication &application,
                               ArrayRef<unsigned> scopes);

/// `experts`, of the weights of experts in modules. Returns how many weights
/// they are, or fails after an error at the directive.
FailureOr<unsigned> shardExperts(ShardOp directive,
                                 ScheduleApplication &application,
                                 ArrayRef<unsigned> scopes);

/// Placement of a tensor of an op with `rule` in which `factor` is sharded like
/// `sharding` and all else is open; null where the factors of a dimension are
/// not divided evenly.
ShardingAttr placeFactor(const MeshLayout &layout, const ShardingRule &rule,
                         const TensorRule &tensor, unsigned factor,
                         DimShardingAttr sharding);

/// Shards `factor` of `op`, one of the parameter that it reads as `read`:
/// places the parameter so, through the ops on the way to it.
LogicalResult placeParameterOf(ShardOp directive,
                               ScheduleApplication &application, Operation *op,
                               const ShardingRule &rule, OpOperand *read,
                               unsigned factor, DimShardingAttr sharding);

/// Takes the projections apart that the directive shards block by block, those
/// to heads that the devices do not divide among them. Before
/// any directive is applied.
LogicalResult splitFusedProjections(ShardOp directive, ScopeIndex &scopes,
                                    ArrayRef<unsigned> targets,
                                    const MeshLayout &layout, Origins &origins,
                                    FeatureBlocks &blocks);

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_DIRECTIVES_FEATURESHARDING_H
