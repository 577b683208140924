//===- FormAttention.h - Softmax between contractions -----------*- C++ -*-===//
//
// Recognizes attention from its computation, whatever ops an export uses, and
// replaces it by dist.attention.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_ATTENTION_FORMATTENTION_H
#define DIST_PASSES_ATTENTION_FORMATTENTION_H

#include "dialects/dist/IR/Attention.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {

class AttentionMatch;
using AcceptAttention =
    function_ref<LogicalResult(AttentionOp, AttentionMatch &)>;

/// Whether attention is formed if gradients read its weights: never, always, or
/// only if the adjoint is in another loop.
enum class WithAdjoints { No, Yes, OnlyAcrossLoops };

/// Replaces every attention with at least `minScores` scores that `accept`
/// accepts by dist.attention, and returns their number. `accept` may set
/// attributes of the op, and gets what it was formed from. `adjoints`: also if
/// their adjoint reads the weights; it becomes dist.attention_adjoint. Or only
/// for those in loops. `withFactors`: also if weights are dropped, or
/// multiplied by a number. If the adjoint is in another loop, the iterations of
/// both are one block meanwhile. `beforeParting` may change what adjoints read,
/// since each iteration keeps that.
int64_t formAttentions(ModuleOp module, int64_t minScores,
                       WithAdjoints adjoints, bool withFactors,
                       AcceptAttention accept,
                       function_ref<void(Block &)> beforeParting = nullptr);

} // namespace mlir::dist

#endif // DIST_PASSES_ATTENTION_FORMATTENTION_H
