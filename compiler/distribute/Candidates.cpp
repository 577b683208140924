//===- Candidates.cpp - What passes compare that keep the better ----------===//

#include "compiler/distribute/Candidates.h"
#include "dialects/dist/Utils/Streams.h"
#include "lowering/buffers/Passes.h"
#include "lowering/pipeline/Pipeline.h"
#include "lowering/rt/Passes.h"
#include "lowering/targets/Targets.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::dist;

bool mlir::dist::hasStreams(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        return op->hasAttr(kStreamAttr) ? WalkResult::interrupt()
                                        : WalkResult::advance();
      })
      .wasInterrupted();
}

FailureOr<int64_t> mlir::dist::planArena(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  ScopedDiagnosticHandler quiet(module.getContext(),
                                [](Diagnostic &) { return success(); });
  // A pass manager of its own: what is dumped and timed is the program's way,
  // not that of copies.
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  passes.addPass(createDistJoinParameters());
  buildLowerPipeline(passes, *getTargets().front(), LowerOptions());
  if (failed(passes.run(*copy)))
    return failure();
  auto bytes = (*copy)->getAttrOfType<IntegerAttr>(kArenaBytesAttr);
  return bytes ? bytes.getInt() : 0;
}

bool mlir::dist::fitsMemory(ModuleOp module, FailureOr<int64_t> before,
                            double allowed, bool report, const Twine &what) {
  FailureOr<int64_t> now = failure();
  if (succeeded(before))
    now = planArena(module);
  if (failed(now))
    return true;
  bool fits = *now <= allowed * *before;
  if (report)
    module.emitRemark()
        << what << " has an arena of " << *now << " bytes, " << *before
        << " without" << (fits ? "" : ", which is more than allowed")
        << llvm::formatv(" (--overlap-memory {0})", allowed).str();
  return fits;
}

void mlir::dist::swapModules(ModuleOp a, ModuleOp b) {
  Region body;
  body.takeBody(a.getBodyRegion());
  a.getBodyRegion().takeBody(b.getBodyRegion());
  b.getBodyRegion().takeBody(body);
  DictionaryAttr attrs = a->getDiscardableAttrDictionary();
  a->setDiscardableAttrs(b->getDiscardableAttrDictionary());
  b->setDiscardableAttrs(attrs);
}
