//===- Transfer.cpp - Collectives in shared memory ------------------------===//

#include "runtime/collectives/Transfer.h"
#include "dist/Tensor.h"
#include "runtime/collectives/Copies.h"
#include "runtime/collectives/Reduce.h"
#include "runtime/collectives/Rows.h"

using namespace dist;

/// Every member reduces an equal share of the elements and writes it to all.
static void allReduce(const CollectiveCall &call, const GroupBuffers &buffers,
                      int64_t me) {
  Share share = shareOf(call, buffers.ins.size(), me);
  int64_t start = share.start * dtypeBytes(call.dtype);
  std::vector<const char *> ins = buffers.ins;
  std::vector<char *> outs = buffers.outs;
  for (size_t i = 0; i < ins.size(); ++i) {
    ins[i] += start;
    outs[i] += start;
  }
  reduceBuffers(call.dtype, call.op, ins, outs, share.count);
}

void dist::transfer(const CollectiveCall &call, const Communicator &comm,
                    const GroupBuffers &buffers, int64_t me) {
  if (call.kind == CollectiveKind::AllReduce)
    return allReduce(call, buffers, me);
  if (call.kind == CollectiveKind::GatherRows)
    return gatherRows(call, comm, buffers, me);
  if (call.kind == CollectiveKind::ReduceRows)
    return reduceRows(call, comm, buffers, me);
  char *out = buffers.outs[me];
  std::vector<Summand> summands;
  for (int64_t from : sourcesOf(call, comm, me))
    for (const Copy &copy : findCopies(call, comm, from, me)) {
      const char *in = buffers.ins[from];
      if (addsUp(call.kind))
        summands.push_back({from, copy, in + copy.in, copy.loops[0].in});
      else
        copy.apply(in, out);
    }
  if (!summands.empty())
    addUp(call, me, std::move(summands), out, hostMemory());
  fillRest(call, comm, me, out, hostMemory());
}

int64_t dist::bytesSent(const CollectiveCall &call, const Topology &topology,
                        const GroupBuffers &buffers, int64_t me) {
  return call.plan ? rowBytesSent(call, buffers, me) : topology.bytesSent(call);
}
