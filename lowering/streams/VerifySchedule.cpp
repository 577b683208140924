//===- VerifySchedule.cpp - What is in flight is left alone ---------------===//
//
// One walk over each block, with the collectives that are in flight. Verifiers
// of the ops have seen that each start has one wait after it in its block, so
// nothing is in flight where a block ends. One program has one order of calls;
// it is also their order on each communicator if that has one stream.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/Utils/Streams.h"
#include "lowering/rt/Rt.h"
#include "lowering/streams/ByteRanges.h"
#include "lowering/streams/Passes.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTVERIFYSCHEDULE
#include "lowering/streams/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;
using namespace mlir::dist;

namespace {

/// A collective, of level 4 or 5.
struct Call {
  /// Axes, or the number of the communicator.
  Attribute comm;
  int32_t stream = 0;
};

struct Flight {
  Operation *start;
  /// The op that ends it: its wait, or the first user of its result.
  Operation *end;
  Attribute comm;
  SmallVector<ByteRange, 2> operand, result;
};

class ScheduleVerifier {
public:
  LogicalResult verify(Block &block);

private:
  LogicalResult verifyCalls(Operation *op);
  LogicalResult verifyAccesses(Operation *op);
  LogicalResult fail(Operation *op, const Twine &what, Operation *start);

  SmallVector<Flight> flights;
  /// For each communicator, the first collective that runs on a stream.
  DenseMap<Attribute, Operation *> streams;
};

} // namespace

static std::optional<Call> getCall(Operation *op) {
  if (ArrayAttr axes = getCommAxes(op))
    return Call{axes, getStream(op)};
  if (auto collective = dyn_cast<rt::CollectiveOpInterface>(op))
    return Call{
        Builder(op->getContext()).getI32IntegerAttr(collective.getComm()),
        collective.getToken() ? int32_t(collective.getStream()) : 0};
  return std::nullopt;
}

LogicalResult ScheduleVerifier::fail(Operation *op, const Twine &what,
                                     Operation *start) {
  InFlightDiagnostic error = op->emitOpError(what);
  error.attachNote(start->getLoc()) << "of the collective that starts here";
  return error;
}

LogicalResult ScheduleVerifier::verifyCalls(Operation *op) {
  WalkResult result = op->walk([&](Operation *inner) -> WalkResult {
    std::optional<Call> call = getCall(inner);
    if (!call)
      return WalkResult::advance();
    if (call->stream != 0) {
      Operation *&first = streams.try_emplace(call->comm, inner).first->second;
      if (getCall(first)->stream != call->stream)
        return fail(inner,
                    "is on stream " + Twine(call->stream) +
                        ", but a communicator has one stream, that",
                    first);
      return WalkResult::advance();
    }
    for (const Flight &flight : flights)
      if (flight.comm == call->comm)
        return fail(inner,
                    "is done where it stands, while its communicator is in use "
                    "on the stream",
                    flight.start);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult ScheduleVerifier::verifyAccesses(Operation *op) {
  if (flights.empty())
    return success();
  LogicalResult result = success();
  visitAccesses(op, [&](Value buffer, bool writes) {
    if (failed(result))
      return;
    SmallVector<ByteRange, 2> places =
        buffer ? getByteRanges(buffer) : SmallVector<ByteRange, 2>{ByteRange()};
    auto touches = [&](ArrayRef<ByteRange> others) {
      return llvm::any_of(places, [&](const ByteRange &place) {
        return llvm::any_of(others, [&](const ByteRange &other) {
          return mayOverlap(place, other);
        });
      });
    };
    for (const Flight &flight : flights) {
      if (writes && touches(flight.operand))
        result = fail(op, "may write the operand in flight", flight.start);
      else if (touches(flight.result))
        result = fail(op,
                      writes ? "may write the result in flight"
                             : "may read the result in flight",
                      flight.start);
      if (failed(result))
        return;
    }
  });
  return result;
}

LogicalResult ScheduleVerifier::verify(Block &block) {
  for (Operation &op : block) {
    llvm::erase_if(flights,
                   [&](const Flight &flight) { return flight.end == &op; });
    if (failed(verifyCalls(&op)) || failed(verifyAccesses(&op)))
      return failure();
    if (auto collective = dyn_cast<rt::CollectiveOpInterface>(op)) {
      Value token = collective.getToken();
      if (!token)
        continue;
      Flight flight{&op, *token.user_begin(), getCall(&op)->comm, {}, {}};
      // For tensors, bufferization ensures that.
      if (isa<MemRefType>(collective.getReceived().getType())) {
        flight.operand = getByteRanges(collective.getSent());
        flight.result = getByteRanges(collective.getReceived());
      }
      flights.push_back(std::move(flight));
    } else if (isa<dist::CollectiveOpInterface>(op) && getStream(&op) != 0) {
      if (Operation *end = findFirstUser(op.getResult(0)))
        flights.push_back({&op, end, getCall(&op)->comm, {}, {}});
    }
  }
  return success();
}

namespace {
struct VerifySchedule : dist::impl::DistVerifyScheduleBase<VerifySchedule> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    // Blocks that have a collective, each once.
    llvm::SetVector<Block *> blocks;
    getOperation().walk([&](Operation *op) {
      if (getCall(op))
        blocks.insert(op->getBlock());
    });
    for (Block *block : blocks)
      if (failed(ScheduleVerifier().verify(*block)))
        return signalPassFailure();
  }
};
} // namespace
