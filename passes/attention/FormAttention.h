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

/// Whether attention is formed whose weights are read to compute gradients.
enum class WithAdjoints { No, Yes };

/// Makes dist.attention of every attention with at least `minScores` scores
/// that `accept` agrees to, and returns how many there were. `accept` may give
/// the op attributes, and is told what it was made of. `adjoints`: also of
/// those whose weights are read by their adjoint, which becomes
/// dist.attention_adjoint. `withFactors`: also of those whose weights are
/// dropped, or multiplied by a number.
int64_t formAttentions(ModuleOp module, int64_t minScores,
                       WithAdjoints adjoints, bool withFactors,
                       AcceptAttention accept);

/// Erases what nobody needs any more of what these ops are made of; what that
/// was.
DenseSet<Operation *> eraseDead(ArrayRef<Operation *> ops);

} // namespace mlir::dist

#endif // DIST_PASSES_ATTENTION_FORMATTENTION_H
