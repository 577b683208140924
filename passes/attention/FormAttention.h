//===- FormAttention.h - Softmax between contractions -----------*- C++ -*-===//
//
// Recognises attention by what is computed, whatever the ops are called that an
// export wrote it with, and makes dist.attention of it.
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

/// Whether attention is formed whose weights are read to compute gradients, or
/// only where a loop goes back through another.
enum class WithAdjoints { No, Yes, OnlyAcrossLoops };

/// Makes dist.attention of every attention with at least `minScores` scores
/// that `accept` agrees to, and returns how many there were. `accept` may give
/// the op attributes, and is told what it was made of. `adjoints`: also of
/// those whose weights are read by their adjoint, which becomes
/// dist.attention_adjoint, or only of those in loops. `withFactors`: also of
/// those whose weights are dropped, or multiplied by a number.
/// Where a loop goes back through another, their turns are one block then:
/// `beforeParting` may change what its adjoints read, for a turn keeps that.
int64_t formAttentions(ModuleOp module, int64_t minScores,
                       WithAdjoints adjoints, bool withFactors,
                       AcceptAttention accept,
                       function_ref<void(Block &)> beforeParting = nullptr);

} // namespace mlir::dist

#endif // DIST_PASSES_ATTENTION_FORMATTENTION_H
