//===- FeatureSharding.h - column, row and heads ----------------*- C++ -*-===//
//
// The directives that shard contractions with parameters by their features.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_DIRECTIVES_FEATURESHARDING_H
#define DIST_PASSES_SCHEDULE_DIRECTIVES_FEATURESHARDING_H

#include "dialects/dist/IR/Schedule.h"
#include "passes/schedule/directives/ScheduleApplication.h"

namespace mlir::dist {

class FeatureBlocks;

/// `column` and `row`, for the contractions in modules. Returns the number of
/// contractions, or fails after an error at the directive.
FailureOr<unsigned> shardFeatures(ShardOp directive,
                                  ScheduleApplication &application,
                                  ArrayRef<unsigned> scopes);

/// `heads`, for the attention in modules. Returns the number of contractions,
/// or fails after an error at the directive.
FailureOr<unsigned> shardHeads(ShardOp directive,
                               ScheduleApplication &application,
                               ArrayRef<unsigned> scopes);

/// `experts`, for the weights of experts in modules. Returns the number of
/// weights, or fails after an error at the directive.
FailureOr<unsigned> shardExperts(ShardOp directive,
                                 ScheduleApplication &application,
                                 ArrayRef<unsigned> scopes);

/// The placement of a tensor of an op with `rule` in which `factor` is sharded
/// like `sharding`, and all else is open. Null if the factors of a dimension
/// are not divided evenly.
ShardingAttr placeFactor(const MeshLayout &layout, const ShardingRule &rule,
                         const TensorRule &tensor, unsigned factor,
                         DimShardingAttr sharding);

/// Shards `factor` of `op`, a factor of the parameter that it reads as `read`.
/// Places the parameter accordingly, through the ops on the way to it.
LogicalResult placeParameterOf(ShardOp directive,
                               ScheduleApplication &application, Operation *op,
                               const ShardingRule &rule, OpOperand *read,
                               unsigned factor, DimShardingAttr sharding);

/// Splits the projections that the directive shards block by block: those whose
/// heads the devices do not divide. To be called before any directive is
/// applied.
LogicalResult splitFusedProjections(ShardOp directive, ScopeIndex &scopes,
                                    ArrayRef<unsigned> targets,
                                    const MeshLayout &layout, Origins &origins,
                                    FeatureBlocks &blocks);

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_DIRECTIVES_FEATURESHARDING_H
