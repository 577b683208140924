//===- SelectEntry.cpp - Only the entry function stays public -------------===//

#include "dialects/dist/Utils/Program.h"
#include "passes/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_SELECTENTRYPASS
#include "passes/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {
struct SelectEntryPass
    : mlir::dist::impl::SelectEntryPassBase<SelectEntryPass> {
  using SelectEntryPassBase::SelectEntryPassBase;

  void runOnOperation() override {
    FailureOr<FunctionOpInterface> entry = findEntryFunction(getOperation());
    if (failed(entry))
      return signalPassFailure();
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      if (function != *entry)
        function.setPrivate();
    entry->setPublic();
  }
};
} // namespace
