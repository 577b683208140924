//===- Copies.cpp - What members of a group take from each other ----------===//

#include "runtime/collectives/Copies.h"
#include "dist/Tensor.h"
#include "runtime/collectives/Halo.h"
#include "runtime/collectives/Reduce.h"

#include <algorithm>
#include <cstring>

using namespace dist;

//===----------------------------------------------------------------------===//
// Runs of bytes
//===----------------------------------------------------------------------===//

int64_t Copy::bytes() const {
  int64_t all = run;
  for (const Loop &loop : loops)
    all *= loop.extent;
  return all;
}

Copy Copy::packing() const {
  Copy packed = *this;
  packed.out = 0;
  int64_t step = run;
  for (int i = 2; i >= 0; --i) {
    packed.loops[i].out = step;
    step *= loops[i].extent;
  }
  return packed;
}

Copy Copy::unpacking() const {
  Copy packed = packing(), unpacked = *this;
  unpacked.in = 0;
  for (int i = 0; i < 3; ++i)
    unpacked.loops[i].in = packed.loops[i].out;
  return unpacked;
}

void Copy::apply(const char *from, char *to) const {
  auto [a, b, c] = loops;
  int64_t length = run;
  if (length == 0 || a.extent == 0 || b.extent == 0 || c.extent == 0)
    return;
  auto absorb = [&](Loop &loop) {
    if (loop.extent != 1 && (loop.in != length || loop.out != length))
      return false;
    length *= loop.extent;
    loop = {1, 0, 0};
    return true;
  };
  if (absorb(c) && absorb(b))
    absorb(a);
  from += in;
  to += out;
  if (from == to) // in place
    return;
  for (int64_t i = 0; i < a.extent; ++i)
    for (int64_t j = 0; j < b.extent; ++j)
      for (int64_t k = 0; k < c.extent; ++k)
        std::memcpy(to + i * a.out + j * b.out + k * c.out,
                    from + i * a.in + j * b.in + k * c.in, length);
}

//===----------------------------------------------------------------------===//
// Which runs
//===----------------------------------------------------------------------===//

static Copy copyToAll(const CollectiveCall &call, const Communicator &comm,
                      int64_t from) {
  int64_t rowBytes = call.inner * dtypeBytes(call.dtype);
  Block block = blockAt(comm.sizes, call.whole, from);
  return {0,
          block.start * rowBytes,
          {{{},
            {},
            {call.outer, blockRows(comm.sizes, call.whole) * rowBytes,
             call.whole * rowBytes}}},
          block.valid * rowBytes};
}

/// The block of `to`, of all members.
static Copy copyToOwner(const CollectiveCall &call, const Communicator &comm,
                        int64_t to) {
  int64_t rowBytes = call.inner * dtypeBytes(call.dtype);
  Block block = blockAt(comm.sizes, call.whole, to);
  return {block.start * rowBytes,
          0,
          {{{call.outer, call.whole * rowBytes,
             blockRows(comm.sizes, call.whole) * rowBytes},
            {},
            {}}},
          block.valid * rowBytes};
}

static Copy copyBetween(const CollectiveCall &call, const Communicator &comm,
                        int64_t from, int64_t to) {
  int64_t innerBytes = call.inner * dtypeBytes(call.dtype);
  int64_t splitRows = blockRows(comm.sizes, call.whole);
  int64_t concatRows = blockRows(comm.sizes, call.concatWhole);
  Block split = blockAt(comm.sizes, call.whole, to);
  Block concat = blockAt(comm.sizes, call.concatWhole, from);
  // Extents of [outer, first, middle, second, inner] of operand and result.
  int64_t inFirst = call.splitFirst ? call.whole : concatRows;
  int64_t inSecond = call.splitFirst ? concatRows : call.whole;
  int64_t outFirst = call.splitFirst ? splitRows : call.concatWhole;
  int64_t outSecond = call.splitFirst ? call.concatWhole : splitRows;
  int64_t inPlane = inSecond * innerBytes, outPlane = outSecond * innerBytes;
  int64_t first = call.splitFirst ? split.valid : concat.valid;
  int64_t second = call.splitFirst ? concat.valid : split.valid;
  return {split.start * (call.splitFirst ? call.middle * inPlane : innerBytes),
          concat.start *
              (call.splitFirst ? innerBytes : call.middle * outPlane),
          {{{call.outer, inFirst * call.middle * inPlane,
             outFirst * call.middle * outPlane},
            {first, call.middle * inPlane, call.middle * outPlane},
            {call.middle, inPlane, outPlane}}},
          second * innerBytes};
}

bool dist::addsUp(CollectiveKind kind) {
  return kind == CollectiveKind::ReduceScatter ||
         kind == CollectiveKind::HaloReduce;
}

std::vector<Copy> dist::findCopies(const CollectiveCall &call,
                                   const Communicator &comm, int64_t from,
                                   int64_t to) {
  switch (call.kind) {
  case CollectiveKind::AllGather:
    return {copyToAll(call, comm, from)};
  case CollectiveKind::ReduceScatter:
    return {copyToOwner(call, comm, to)};
  case CollectiveKind::AllToAll:
    return {copyBetween(call, comm, from, to)};
  case CollectiveKind::Broadcast:
  case CollectiveKind::Permute:
    // sourcesOf and targetsOf say between which members.
    return {{0, 0, {}, call.whole * dtypeBytes(call.dtype)}};
  case CollectiveKind::Halo:
  case CollectiveKind::HaloReduce:
    return findHaloCopies(call, comm, from, to);
  case CollectiveKind::AllReduce:
  case CollectiveKind::GatherRows:
  case CollectiveKind::ReduceRows:
    break;
  }
  return {};
}

static std::vector<int64_t> findPartners(const CollectiveCall &call,
                                         const Communicator &comm, int64_t me,
                                         bool isTarget) {
  std::vector<int64_t> partners;
  if (call.kind == CollectiveKind::Permute) {
    for (int64_t i = 0; i < call.numPairs; ++i)
      if (call.pairs[2 * i + isTarget] == me)
        partners.push_back(call.pairs[2 * i + !isTarget]);
    return partners;
  }
  if (call.kind == CollectiveKind::Broadcast) {
    if (isTarget)
      return {call.root};
    if (call.root != me)
      return {};
  }
  int64_t first = addsUp(call.kind) ? 0 : me + 1;
  for (int64_t i = 0; i < comm.size; ++i)
    partners.push_back((first + i) % comm.size);
  return partners;
}

std::vector<int64_t> dist::sourcesOf(const CollectiveCall &call,
                                     const Communicator &comm, int64_t me) {
  return findPartners(call, comm, me, /*isTarget=*/true);
}

std::vector<int64_t> dist::targetsOf(const CollectiveCall &call,
                                     const Communicator &comm, int64_t me) {
  return findPartners(call, comm, me, /*isTarget=*/false);
}

//===----------------------------------------------------------------------===//
// What no copy writes
//===----------------------------------------------------------------------===//

/// Zeroes rows [from, to) of out [outer, rows, inner].
static void zeroRows(const CollectiveCall &call, char *out, int64_t outer,
                     int64_t rows, int64_t inner, int64_t from, int64_t to,
                     OperandMemory &memory) {
  int64_t bytes = inner * dtypeBytes(call.dtype);
  if (from < to)
    memory.fill(call.dtype, 0, {out + from * bytes, rows * bytes}, outer,
                (to - from) * inner);
}

void dist::fillRest(const CollectiveCall &call, const Communicator &comm,
                    int64_t me, char *out, OperandMemory &memory) {
  int64_t rows = blockRows(comm.sizes, call.whole);
  int64_t valid = blockAt(comm.sizes, call.whole, me).valid;
  switch (call.kind) {
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::HaloReduce:
    return zeroRows(call, out, call.outer, rows, call.inner, valid, rows,
                    memory);
  case CollectiveKind::AllToAll:
    // Padding of the split dimension.
    if (call.splitFirst)
      zeroRows(call, out, call.outer, rows,
               call.middle * call.concatWhole * call.inner, valid, rows,
               memory);
    else
      zeroRows(call, out, call.outer * call.concatWhole * call.middle, rows,
               call.inner, valid, rows, memory);
    return;
  case CollectiveKind::Permute:
    if (sourcesOf(call, comm, me).empty())
      memory.fill(call.dtype, 0, {out, 0}, 1, call.whole);
    return;
  case CollectiveKind::Halo:
    return fillHalo(call, comm, me, out, memory);
  default:
    return;
  }
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

void dist::addUp(const CollectiveCall &call, int64_t me,
                 std::vector<Summand> summands, char *out,
                 OperandMemory &memory) {
  int64_t bytes = dtypeBytes(call.dtype);
  // A row of a halo is added to its owner's own.
  if (call.kind == CollectiveKind::HaloReduce) {
    auto own = std::find_if(
        summands.begin(), summands.end(), [&](const Summand &summand) {
          return summand.member == me &&
                 summand.copy.in ==
                     summand.copy.out + call.low * call.inner * bytes;
        });
    if (own != summands.end())
      std::rotate(summands.begin(), own, own + 1);
  }
  // Between two of these the same summands are added.
  std::vector<int64_t> borders;
  for (const Summand &summand : summands) {
    borders.push_back(summand.copy.out);
    borders.push_back(summand.copy.out + summand.copy.run);
  }
  std::sort(borders.begin(), borders.end());
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    int64_t first = borders[i], count = borders[i + 1] - first;
    std::vector<ConstRuns> ins;
    for (const Summand &summand : summands)
      if (summand.copy.out <= first &&
          first < summand.copy.out + summand.copy.run)
        ins.push_back({summand.in + first - summand.copy.out, summand.step});
    if (!ins.empty())
      memory.reduce(call.dtype, call.op, ins,
                    {out + first, summands[0].copy.loops[0].out}, call.outer,
                    count / bytes);
  }
}

Share dist::shareOf(const CollectiveCall &call, int64_t members, int64_t me) {
  int64_t line = 64 / dtypeBytes(call.dtype);
  int64_t share = (call.whole + members - 1) / members;
  share = (share + line - 1) / line * line;
  int64_t start = std::min(call.whole, me * share);
  return {start, std::min(call.whole, start + share) - start};
}
