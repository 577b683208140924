//===- RecognizeWindows.cpp - Attention to keys nearby --------------------===//

#include "dialects/dist/IR/Random.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/attention/AttentionMatch.h"
#include "passes/attention/FormAttention.h"
#include "passes/attention/JoinedColumns.h"
#include "passes/attention/KeyWindow.h"
#include "passes/attention/RowShifts.h"
#include "passes/attention/ScoreRange.h"
#include "passes/schedule/names/ModuleNotes.h"
#include "passes/spmd/prepare/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_RECOGNIZEWINDOWSPASS
#include "passes/spmd/prepare/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

static bool drawsFromStreams(AttentionOp op) {
  return op
      ->walk([](RandomWordsOp words) {
        return words.getAxes() ? WalkResult::interrupt()
                               : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
struct RecognizeWindowsPass
    : mlir::dist::impl::RecognizeWindowsPassBase<RecognizeWindowsPass> {
  using RecognizeWindowsPassBase::RecognizeWindowsPassBase;

  void runOnOperation() override {
    FailureOr<MeshOp> mesh = findProgramMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    if (!*mesh)
      return;
    auto rings = (*mesh)->getAttrOfType<DictionaryAttr>(kRingsAttr);
    NamedAttrList found(rings ? rings : DictionaryAttr::get(&getContext()));
    dropRowShifts(getOperation());
    separateJoinedColumns(getOperation());
    KeyWindows windows;
    formAttentions(
        getOperation(), /*minScores=*/1, WithAdjoints::Yes,
        /*withFactors=*/true, [&](AttentionOp op, AttentionMatch &match) {
          // A schedule says how these get their keys, or which stream each
          // device draws from that drops weights, which ops with parts know.
          if (const NamedAttribute *ring = findModuleNote(op, rings)) {
            NamedAttrList noted(cast<DictionaryAttr>(ring->getValue()));
            SmallVector<int64_t> sizes = op.getDimSizes();
            noted.set("sizes", DenseI64ArrayAttr::get(&getContext(),
                                                      {sizes[op.getQueryDim()],
                                                       sizes[op.getKeyDim()]}));
            found.set(ring->getName(), noted.getDictionary(&getContext()));
            return failure();
          }
          if (drawsFromStreams(op))
            return failure();
          if (auto promised =
                  match.getLastOp()->getAttrOfType<DenseI64ArrayAttr>(
                      kKeyWindowAttr)) {
            op.setWindowAttr(promised);
            return success();
          }
          std::optional<KeyWindow> window = windows.find(op);
          bool isAssumed = false;
          if (!window) {
            window = windows.find(op, kLargestMaskedScore);
            isAssumed = window.has_value();
          }
          if (!window)
            return failure();
          int64_t sides[] = {window->left, window->right};
          if (isAssumed && !assumeMasks) {
            match.getLastOp()->setAttr(
                kLikelyWindowAttr,
                DenseI64ArrayAttr::get(&getContext(), sides));
            return failure();
          }
          op.setWindow(sides);
          return success();
        });
    if (rings)
      (*mesh)->setAttr(kRingsAttr, found.getDictionary(&getContext()));
    getOperation()->walk(
        [](linalg::LinalgOp op) { op->removeDiscardableAttr(kKeyWindowAttr); });
  }
};
} // namespace
