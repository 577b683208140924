//===- FormAttention.cpp - Attention that is worth tiles ------------------===//
//
// --dist-form-attention: attentions with many scores become dist.attention.
//
//===----------------------------------------------------------------------===//

#include "passes/attention/FormAttention.h"
#include "lowering/buffers/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTFORMATTENTION
#include "lowering/buffers/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
struct FormAttention : dist::impl::DistFormAttentionBase<FormAttention> {
  using Base = dist::impl::DistFormAttentionBase<FormAttention>;
  using Base::Base;

  void runOnOperation() override {
    int64_t formed =
        formAttentions(getOperation(), minScores, /*withAdjoints=*/true,
                       [](AttentionOp op, AttentionMatch &) {
                         return success(op.getScoreType().isF32());
                       });
    getOperation()->setAttr(kAttentionsAttr,
                            Builder(&getContext()).getI64IntegerAttr(formed));
  }
};
} // namespace
