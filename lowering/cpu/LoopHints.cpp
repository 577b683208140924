//===- LoopHints.cpp - Hints for LLVM on a kernel's loops -----------------===//

#include "lowering/cpu/LoopHints.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::dist;

/// How many turns of a loop LLVM may make a row of.
static constexpr int64_t kLongestRow = 128;

static LLVM::LoopAnnotationAttr
getAnnotation(MLIRContext *context, LLVM::LoopVectorizeAttr vectorize,
              LLVM::LoopInterleaveAttr interleave, LLVM::LoopUnrollAttr unroll,
              BoolAttr isVectorized = {}) {
  return LLVM::LoopAnnotationAttr::get(
      context, /*disableNonforced=*/{}, vectorize, interleave, unroll,
      /*unrollAndJam=*/{}, /*licm=*/{}, /*distribute=*/{}, /*pipeline=*/{},
      /*peeled=*/{}, /*unswitch=*/{}, /*mustProgress=*/{}, isVectorized,
      /*startLoc=*/{}, /*endLoc=*/{}, /*parallelAccesses=*/{});
}

static LLVM::LoopUnrollAttr getUnroll(MLIRContext *context, bool isFull) {
  auto yes = BoolAttr::get(context, true);
  return LLVM::LoopUnrollAttr::get(
      context, /*disable=*/isFull ? BoolAttr() : yes, /*count=*/{},
      /*runtimeDisable=*/{}, /*full=*/isFull ? yes : BoolAttr(),
      /*followupUnrolled=*/{}, /*followupRemainder=*/{}, /*followupAll=*/{});
}

void mlir::dist::setUnroll(scf::ForOp loop, bool isFull) {
  MLIRContext *context = loop.getContext();
  loop->setAttr(kLoopAnnotationAttr,
                getAnnotation(context, {}, {}, getUnroll(context, isFull)));
}

void mlir::dist::vectorizeFirst(scf::ForOp loop, int64_t vectors) {
  MLIRContext *context = loop.getContext();
  auto vectorize = LLVM::LoopVectorizeAttr::get(
      context, /*disable=*/{}, /*predicateEnable=*/{}, /*scalableEnable=*/{},
      /*width=*/{}, /*followupVectorized=*/
      getAnnotation(context, {}, {}, {},
                    /*isVectorized=*/BoolAttr::get(context, true)),
      /*followupEpilogue=*/{}, /*followupAll=*/{});
  LLVM::LoopInterleaveAttr interleave;
  if (vectors > 0)
    interleave = LLVM::LoopInterleaveAttr::get(
        context, Builder(context).getI32IntegerAttr(vectors));
  loop->setAttr(kLoopAnnotationAttr,
                getAnnotation(context, vectorize, interleave,
                              getUnroll(context, /*isFull=*/false)));
}

/// Of loops around others, copies would be most of the code and of the time to
/// compile it.
void mlir::dist::annotate(scf::ForOp loop, int64_t count, bool isInnermost) {
  if (count > kVectorLanes && (count <= kLongestRow || !isInnermost))
    vectorizeFirst(loop);
}
