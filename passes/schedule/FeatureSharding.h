//===- FeatureSharding.h - column, row and heads ----------------*- C++ -*-===//
//
// The directives that shard contractions with parameters by their features.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_SCHEDULE_FEATURESHARDING_H
#define DIST_PASSES_SCHEDULE_FEATURESHARDING_H

#include "passes/schedule/ScheduleApplication.h"

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

/// Takes the projections apart that the directive shards block by block. Before
/// any directive is applied.
LogicalResult splitFusedProjections(ShardOp directive, ScopeIndex &scopes,
                                    ArrayRef<unsigned> targets,
                                    Origins &origins, FeatureBlocks &blocks);

} // namespace mlir::dist

#endif // DIST_PASSES_SCHEDULE_FEATURESHARDING_H
