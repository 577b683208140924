//===- RandomDirective.cpp - Streams of random numbers of devices' own ----===//
//
// dist.random_streams: noted on the ops that draw, before placement.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Directive.h"
#include "dialects/dist/IR/Random.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "passes/schedule/directives/Directives.h"
#include "passes/schedule/directives/ScheduleApplication.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
struct RandomStreamsDirective
    : ScheduleDirectiveOpInterface::ExternalModel<RandomStreamsDirective,
                                                  RandomStreamsOp> {
  std::optional<int64_t> getExpected(Operation *op) const {
    return cast<RandomStreamsOp>(op).getExpect();
  }

  FailureOr<unsigned> apply(Operation *op, ScheduleApplication &application,
                            ArrayRef<unsigned> targets) const {
    auto directive = cast<RandomStreamsOp>(op);
    for (unsigned scope : targets) {
      StringRef path = application.getScopes().getPath(scope);
      bool any = false;
      for (Operation *drawing : application.getScopes().getOps(scope)) {
        WalkResult done = drawing->walk([&](RandomWordsOp words) {
          any = true;
          return failed(setStreams(directive, path, words))
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        });
        if (done.wasInterrupted())
          return failure();
      }
      if (!any)
        return emitError(op->getLoc())
               << "module \"" << path << "\" draws no random numbers";
    }
    return targets.size();
  }

private:
  static LogicalResult setStreams(RandomStreamsOp directive, StringRef path,
                                  RandomWordsOp words) {
    if (words.getAxes() && *words.getAxes() != directive.getAxes()) {
      InFlightDiagnostic error = emitError(directive.getLoc())
                                 << "module \"" << path
                                 << "\" draws from streams of a directive "
                                    "before; leave one out";
      if (words.getBy())
        error.attachNote(cast<LocationAttr>(*words.getBy())) << "that one";
      return error;
    }
    if (!words->getParentOfType<linalg::LinalgOp>()) {
      InFlightDiagnostic error = emitError(directive.getLoc())
                                 << "module \"" << path
                                 << "\" draws random numbers outside of the "
                                    "body of a linalg op, which devices do not "
                                    "shard";
      error.attachNote(words.getLoc()) << "drawn here";
      return error;
    }
    words.setAxesAttr(directive.getAxesAttr());
    words.setByAttr(LocationAttr(directive.getLoc()));
    return success();
  }
};
} // namespace

void mlir::dist::attachRandomDirective(MLIRContext &context) {
  RandomStreamsOp::attachInterface<RandomStreamsDirective>(context);
}
