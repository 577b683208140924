//===- Transfer.cpp - Collectives in shared memory ------------------------===//

#include "runtime/collectives/Transfer.h"
#include "dist/Tensor.h"
#include "runtime/collectives/Halo.h"
#include "runtime/collectives/Reduce.h"
#include "runtime/collectives/Rows.h"

#include <algorithm>
#include <cstring>

using namespace dist;

namespace {

/// A loop over equally spaced runs of bytes.
struct Step {
  int64_t extent, in, out;
};

} // namespace

/// Copies `bytes` at every point of up to three loops, outermost first.
static void copyRuns(const char *in, char *out, Step a, Step b, Step c,
                     int64_t bytes) {
  if (bytes == 0)
    return;
  auto absorb = [&](Step &loop) {
    if (loop.extent != 1 && (loop.in != bytes || loop.out != bytes))
      return false;
    bytes *= loop.extent;
    loop = {1, 0, 0};
    return true;
  };
  if (a.extent == 0 || b.extent == 0 || c.extent == 0)
    return;
  if (absorb(c) && absorb(b))
    absorb(a);
  for (int64_t i = 0; i < a.extent; ++i)
    for (int64_t j = 0; j < b.extent; ++j)
      for (int64_t k = 0; k < c.extent; ++k)
        std::memcpy(out + i * a.out + j * b.out + k * c.out,
                    in + i * a.in + j * b.in + k * c.in, bytes);
}

/// Zeroes rows [from, to) of out [outer, rows, rowBytes].
static void zeroRows(char *out, int64_t outer, int64_t rows, int64_t rowBytes,
                     int64_t from, int64_t to) {
  if (from < to)
    for (int64_t i = 0; i < outer; ++i)
      std::memset(out + (i * rows + from) * rowBytes, 0,
                  (to - from) * rowBytes);
}

/// Every member reduces an equal share of the elements, on cache lines of its
/// own, and writes it to all.
static void allReduce(const CollectiveCall &call, const GroupBuffers &buffers,
                      int64_t me) {
  int64_t members = buffers.ins.size(), bytes = dtypeBytes(call.dtype);
  int64_t line = 64 / bytes;
  int64_t share = (call.whole + members - 1) / members;
  share = (share + line - 1) / line * line;
  int64_t start = std::min(call.whole, me * share),
          end = std::min(call.whole, start + share);
  std::vector<const char *> ins = buffers.ins;
  std::vector<char *> outs = buffers.outs;
  for (int64_t i = 0; i < members; ++i) {
    ins[i] += start * bytes;
    outs[i] += start * bytes;
  }
  reduceBuffers(call.dtype, call.op, ins, outs, end - start);
}

static void reduceScatter(const CollectiveCall &call, const Communicator &comm,
                          const GroupBuffers &buffers, int64_t me) {
  int64_t rowBytes = call.inner * dtypeBytes(call.dtype);
  int64_t rows = blockRows(comm.sizes, call.whole);
  Block block = blockAt(comm.sizes, call.whole, me);
  std::vector<const char *> ins(buffers.ins.size());
  std::vector<char *> outs(1);
  for (int64_t o = 0; o < call.outer; ++o) {
    for (size_t i = 0; i < ins.size(); ++i)
      ins[i] = buffers.ins[i] + (o * call.whole + block.start) * rowBytes;
    outs[0] = buffers.outs[me] + o * rows * rowBytes;
    reduceBuffers(call.dtype, call.op, ins, outs, block.valid * call.inner);
  }
  zeroRows(buffers.outs[me], call.outer, rows, rowBytes, block.valid, rows);
}

static void allGather(const CollectiveCall &call, const Communicator &comm,
                      const GroupBuffers &buffers, int64_t me) {
  int64_t rowBytes = call.inner * dtypeBytes(call.dtype);
  int64_t rows = blockRows(comm.sizes, call.whole);
  for (int64_t i = 0; i < comm.size; ++i) {
    // Start with the next member, so that not all read the same one.
    int64_t from = (me + 1 + i) % comm.size;
    Block block = blockAt(comm.sizes, call.whole, from);
    copyRuns(buffers.ins[from], buffers.outs[me] + block.start * rowBytes,
             {1, 0, 0}, {1, 0, 0},
             {call.outer, rows * rowBytes, call.whole * rowBytes},
             block.valid * rowBytes);
  }
}

static void allToAll(const CollectiveCall &call, const Communicator &comm,
                     const GroupBuffers &buffers, int64_t me) {
  int64_t innerBytes = call.inner * dtypeBytes(call.dtype);
  int64_t splitRows = blockRows(comm.sizes, call.whole);
  int64_t concatRows = blockRows(comm.sizes, call.concatWhole);
  Block mine = blockAt(comm.sizes, call.whole, me);
  // Extents of [outer, first, middle, second, inner] of operand and result.
  int64_t inFirst = call.splitFirst ? call.whole : concatRows;
  int64_t inSecond = call.splitFirst ? concatRows : call.whole;
  int64_t outFirst = call.splitFirst ? splitRows : call.concatWhole;
  int64_t outSecond = call.splitFirst ? call.concatWhole : splitRows;
  int64_t inPlane = inSecond * innerBytes, outPlane = outSecond * innerBytes;
  // Padding of the split dimension is zero.
  if (call.splitFirst)
    zeroRows(buffers.outs[me], call.outer, splitRows, call.middle * outPlane,
             mine.valid, splitRows);
  else
    zeroRows(buffers.outs[me], call.outer * outFirst * call.middle, splitRows,
             innerBytes, mine.valid, splitRows);

  for (int64_t i = 0; i < comm.size; ++i) {
    int64_t from = (me + 1 + i) % comm.size;
    Block theirs = blockAt(comm.sizes, call.concatWhole, from);
    int64_t first = call.splitFirst ? mine.valid : theirs.valid;
    int64_t second = call.splitFirst ? theirs.valid : mine.valid;
    const char *in =
        buffers.ins[from] +
        mine.start * (call.splitFirst ? call.middle * inPlane : innerBytes);
    char *out =
        buffers.outs[me] +
        theirs.start * (call.splitFirst ? innerBytes : call.middle * outPlane);
    copyRuns(in, out,
             {call.outer, inFirst * call.middle * inPlane,
              outFirst * call.middle * outPlane},
             {first, call.middle * inPlane, call.middle * outPlane},
             {call.middle, inPlane, outPlane}, second * innerBytes);
  }
}

static void permute(const CollectiveCall &call, const GroupBuffers &buffers,
                    int64_t me) {
  int64_t bytes = call.whole * dtypeBytes(call.dtype);
  for (int64_t i = 0; i < call.numPairs; ++i) {
    if (call.pairs[2 * i + 1] == me) {
      std::memcpy(buffers.outs[me], buffers.ins[call.pairs[2 * i]], bytes);
      return;
    }
  }
  std::memset(buffers.outs[me], 0, bytes);
}

void dist::transfer(const CollectiveCall &call, const Communicator &comm,
                    const GroupBuffers &buffers, int64_t me) {
  switch (call.kind) {
  case CollectiveKind::AllReduce:
    return allReduce(call, buffers, me);
  case CollectiveKind::ReduceScatter:
    return reduceScatter(call, comm, buffers, me);
  case CollectiveKind::AllGather:
    return allGather(call, comm, buffers, me);
  case CollectiveKind::AllToAll:
    return allToAll(call, comm, buffers, me);
  case CollectiveKind::Broadcast: {
    // Others read the root's operand; the root may have it in place.
    const char *in = buffers.ins[call.root];
    if (in != buffers.outs[me])
      std::memcpy(buffers.outs[me], in, call.whole * dtypeBytes(call.dtype));
    return;
  }
  case CollectiveKind::Permute:
    return permute(call, buffers, me);
  case CollectiveKind::Halo:
    return haloExchange(call, comm, buffers, me);
  case CollectiveKind::HaloReduce:
    return haloReduce(call, comm, buffers, me);
  case CollectiveKind::GatherRows:
    return gatherRows(call, comm, buffers, me);
  case CollectiveKind::ReduceRows:
    return reduceRows(call, comm, buffers, me);
  }
}

int64_t dist::bytesSent(const CollectiveCall &call, const Topology &topology,
                        const GroupBuffers &buffers, int64_t me) {
  return call.plan ? rowBytesSent(call, buffers, me) : topology.bytesSent(call);
}
