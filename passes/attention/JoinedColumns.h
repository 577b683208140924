//===- JoinedColumns.h - A column behind the scores, apart ------*- C++ -*-===//
//
// Attention with a sink puts a learned column behind the scores, takes the
// softmax of both, and drops the column (OpenAI, "gpt-oss-120b & gpt-oss-20b
// Model Card", 2025). What is computed of both is computed of each here, and
// then put together: the scores are then those of an attention with one more
// term in its denominator.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_PASSES_ATTENTION_JOINEDCOLUMNS_H
#define DIST_PASSES_ATTENTION_JOINEDCOLUMNS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist {

/// Takes a column apart from what it is joined with, wherever all that is
/// computed of the two together is computed element by element, and ends in
/// slices of one of them and in reductions over them. Gradients of slices, in
/// which the other part is zero, are taken apart in the same way.
void separateJoinedColumns(ModuleOp module);

} // namespace mlir::dist

#endif // DIST_PASSES_ATTENTION_JOINEDCOLUMNS_H
