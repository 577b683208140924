//===- LiveRanges.cpp - When buffers are in use ---------------------------===//

#include "lowering/buffers/LiveRanges.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/RegionGraphTraits.h"
#include "llvm/ADT/SCCIterator.h"

using namespace mlir;
using namespace mlir::dist;

int64_t mlir::dist::getSizeInBytes(MemRefType type) {
  return type.getNumElements() * getElementBytes(type.getElementType());
}

bool LiveRanges::Span::include(const Span &other) {
  Span before = *this;
  first = std::min(first, other.first);
  last = std::max(last, other.last);
  earliestArgument = std::min(earliestArgument, other.earliestArgument);
  return first != before.first || last != before.last ||
         earliestArgument != before.earliestArgument;
}

/// Whether a block of the region may run twice.
bool LiveRanges::hasCycle(Region &region) {
  if (region.hasOneBlock())
    return false;
  auto [known, isNew] = cyclic.try_emplace(&region, false);
  if (!isNew)
    return known->second;
  for (auto it = llvm::scc_begin(&region.front()); !it.isAtEnd(); ++it)
    known->second |= it.hasCycle();
  return known->second;
}

LiveRanges::LiveRanges(func::FuncOp function, const BufferAliases &aliases)
    : aliases(aliases) {
  int64_t now = 0;
  function->walk([&](Operation *op, const WalkStage &stage) {
    if (stage.isBeforeAllRegions())
      times[op].first = now++;
    if (stage.isAfterAllRegions())
      times[op].second = now - 1;
  });
  ArrayRef<Value> buffers = aliases.getBuffers();
  for (Value buffer : buffers)
    spans.push_back(ownSpan(buffer));
  // From the last to the first; a second time only for loops.
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned index = buffers.size(); index-- > 0;)
      for (unsigned to : aliases.getHandedOnAs(index))
        changed |= spans[index].include(spans[to]) && to <= index;
  }
}

/// From when to when ops touch the buffer under this name. It is seen from the
/// region that it is defined in, so that a loop in there counts as a whole.
LiveRanges::Span LiveRanges::ownSpan(Value buffer) {
  Span span;
  Region *region = buffer.getParentRegion();
  for (Operation *user : buffer.getUsers()) {
    Operation *outer = user;
    while (outer->getParentRegion() != region)
      outer = outer->getParentOp();
    if (!region->hasOneBlock())
      outer = region->getParentOp();
    auto [first, last] = times.lookup(outer);
    span.first = std::min(span.first, first);
    span.last = std::max(span.last, last);
  }
  // Blocks that cannot run twice hand on nothing to an earlier time.
  auto argument = dyn_cast<BlockArgument>(buffer);
  if (argument && (argument.getOwner()->isEntryBlock() || hasCycle(*region)))
    span.earliestArgument = times.lookup(region->getParentOp()).first;
  return span;
}

FailureOr<LiveRange> LiveRanges::of(memref::AllocOp alloc) const {
  const Span &span = spans[aliases.getIndex(alloc)];
  if (span.earliestArgument < times.lookup(alloc).first) {
    alloc.emitOpError("of ")
        << alloc.getType()
        << " is handed from one iteration of a loop to the next, which must be "
           "computed in place";
    return failure();
  }
  return LiveRange{span.first, span.last, getSizeInBytes(alloc.getType())};
}
