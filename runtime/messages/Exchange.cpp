//===- Exchange.cpp - Collectives by messages -----------------------------===//

#include "runtime/messages/Exchange.h"
#include "dist/Tensor.h"
#include "runtime/collectives/Copies.h"
#include "runtime/collectives/Reduce.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

using namespace dist;

/// An all_reduce of at most so many bytes is done in one exchange of all.
static constexpr int64_t kSmall = 4096;

/// What a member says before its data.
struct Exchange::Hello {
  uint64_t print;
  /// How many rows of the receiver its plan names.
  int64_t rows;
  /// For messages; without what lies behind pointers.
  CollectiveCall call;
};

Exchange::Exchange(const Topology &topology, int64_t rank, int32_t stream,
                   PointToPoint &link, const Waiting &waiting)
    : topology(topology), rank(rank), stream(stream), link(link),
      memory(hostMemory()), waiting(&waiting) {}

Exchange::Exchange(const Topology &topology, int64_t rank, int32_t stream,
                   PointToPoint &link, OperandMemory &memory)
    : topology(topology), rank(rank), stream(stream), link(link),
      memory(memory) {}

Exchange::~Exchange() = default;

//===----------------------------------------------------------------------===//
// Messages of one call
//===----------------------------------------------------------------------===//

void Exchange::send(int64_t place, const void *data, int64_t bytes) {
  if (bytes > 0)
    sends.push_back({(*members)[place], data, bytes});
}

void Exchange::receive(int64_t place, void *data, int64_t bytes) {
  if (bytes > 0)
    receives.push_back({(*members)[place], data, bytes});
}

void Exchange::begin() {
  link.start(stream, sends, receives, requests);
  sends.clear();
  receives.clear();
}

/// Says hello to all others; their data follow.
void Exchange::greet() {
  if (!waiting)
    return;
  hellos.resize(comm->size);
  said.resize(comm->size);
  for (int64_t i = 0; i < comm->size; ++i) {
    if (i == me)
      continue;
    Hello &hello = said[i];
    std::memset(static_cast<void *>(&hello), 0, sizeof hello); // its gaps
    hello.print = fingerprint(*call);
    hello.rows = call->plan ? call->plan->namedOf(i) : 0;
    hello.call = *call;
    hello.call.in = hello.call.out = nullptr;
    hello.call.plan = nullptr;
    hello.call.sent = nullptr;
    hello.call.pairs = nullptr;
    hello.call.numPairs = 0;
    send(i, &hello, sizeof hello);
    receive(i, &hellos[i], sizeof hello);
  }
  link.start(stream, sends, receives, greetings);
  sends.clear();
  receives.clear();
}

/// Waits for the others' hellos; throws Error if one calls something else.
bool Exchange::hear() {
  if (!waiting)
    return true;
  if (!link.wait(greetings, *waiting))
    return false;
  uint64_t print = fingerprint(*call);
  for (int64_t i = 0; i < comm->size; ++i) {
    if (i == me || hellos[i].print == print)
      continue;
    // By rank, so that all say the same.
    int64_t first = std::min(i, me), second = std::max(i, me);
    auto says = [&](int64_t place) {
      return "\n  " + topology.describe((*members)[place]) + " calls " +
             toString(place == me ? *call : hellos[i].call, topology.sites);
    };
    throw Error("ranks of one group call different collectives:" + says(first) +
                says(second));
  }
  return true;
}

bool Exchange::finish() {
  // On a device, what comes next is queued behind.
  return !waiting || link.wait(requests, *waiting);
}

//===----------------------------------------------------------------------===//
// Copies, and their sums
//===----------------------------------------------------------------------===//

namespace {
/// What goes from one member to another in one message.
struct Parcel {
  int64_t place;
  std::vector<Copy> copies;
  int64_t bytes = 0;
  /// Where it lies, or will, one run after the other.
  char *data = nullptr;
};

} // namespace

static bool isOneRun(const Copy &copy, int64_t Copy::Loop::*step) {
  Copy packed = copy.packing();
  for (int i = 0; i < 3; ++i)
    if (copy.loops[i].extent != 1 && copy.loops[i].*step != packed.loops[i].out)
      return false;
  return true;
}

/// Gives each parcel its place: in `operand` where that has it as one run,
/// unless it is null; else in memory of its own, whose size is returned.
static int64_t place(std::vector<Parcel> &parcels, char *operand,
                     int64_t Copy::*offset, int64_t Copy::Loop::*step) {
  int64_t bytes = 0;
  for (Parcel &parcel : parcels) {
    parcel.data = nullptr;
    if (operand && parcel.copies.size() == 1 &&
        isOneRun(parcel.copies[0], step))
      parcel.data = operand + parcel.copies[0].*offset;
    else
      bytes += parcel.bytes;
  }
  return bytes;
}

static void placeRest(std::vector<Parcel> &parcels, char *memory) {
  for (Parcel &parcel : parcels)
    if (!parcel.data)
      parcel.data = std::exchange(memory, memory + parcel.bytes);
}

static void add(std::vector<Parcel> &parcels, int64_t place,
                std::vector<Copy> copies) {
  Parcel parcel{place, std::move(copies)};
  for (const Copy &copy : parcel.copies)
    parcel.bytes += copy.bytes();
  if (parcel.bytes > 0)
    parcels.push_back(std::move(parcel));
}

bool Exchange::copyOrAddUp() {
  const char *in = static_cast<const char *>(call->in);
  char *out = static_cast<char *>(call->out);
  bool isSum = addsUp(call->kind);
  std::vector<Parcel> given, taken;
  for (int64_t to : targetsOf(*call, *comm, me))
    if (to != me)
      add(given, to, findCopies(*call, *comm, me, to));
  for (int64_t from : sourcesOf(*call, *comm, me))
    add(taken, from, findCopies(*call, *comm, from, me));

  // What is sent is only read.
  int64_t bytes =
      place(given, const_cast<char *>(in), &Copy::in, &Copy::Loop::in);
  char *packed = outgoing.get(memory, bytes), *at = packed;
  for (Parcel &parcel : given) {
    if (!parcel.data) {
      parcel.data = at;
      for (const Copy &copy : parcel.copies) {
        memory.copy(copy.packing(), in, at);
        at += copy.bytes();
      }
    }
    send(parcel.place, parcel.data, parcel.bytes);
  }
  bytes = place(taken, isSum ? nullptr : out, &Copy::out, &Copy::Loop::out);
  placeRest(taken, incoming.get(memory, bytes));
  for (const Parcel &parcel : taken)
    if (parcel.place != me)
      receive(parcel.place, parcel.data, parcel.bytes);
  begin();
  if (!hear() || !finish())
    return false;

  std::vector<Summand> summands;
  for (const Parcel &parcel : taken) {
    const char *data = parcel.data;
    for (const Copy &copy : parcel.copies) {
      bool isOwn = parcel.place == me;
      if (isSum)
        summands.push_back({parcel.place, copy, isOwn ? in + copy.in : data,
                            isOwn ? copy.loops[0].in : copy.run});
      else if (isOwn)
        memory.copy(copy, in, out);
      else if (data != out + copy.out)
        memory.copy(copy.unpacking(), data, out);
      data += copy.bytes();
    }
  }
  if (!summands.empty())
    addUp(*call, me, std::move(summands), out, memory);
  fillRest(*call, *comm, me, out, memory);
  return true;
}

//===----------------------------------------------------------------------===//
// All-reduce
//===----------------------------------------------------------------------===//

/// Each sends all to all.
bool Exchange::reduceSmall() {
  int64_t bytes = call->whole * dtypeBytes(call->dtype);
  char *theirs = incoming.get(memory, comm->size * bytes);
  std::vector<ConstRuns> ins(comm->size,
                             {static_cast<const char *>(call->in), 0});
  for (int64_t i = 0; i < comm->size; ++i) {
    if (i == me)
      continue;
    ins[i].data = theirs + i * bytes;
    send(i, call->in, bytes);
    receive(i, theirs + i * bytes, bytes);
  }
  begin();
  if (!hear() || !finish())
    return false;
  memory.reduce(call->dtype, call->op, ins, {static_cast<char *>(call->out), 0},
                1, call->whole);
  return true;
}

/// Each reduces a share of the elements, and sends it to all.
bool Exchange::reduceShares() {
  int64_t bytes = dtypeBytes(call->dtype);
  const char *in = static_cast<const char *>(call->in);
  char *out = static_cast<char *>(call->out);
  auto [start, count] = shareOf(*call, comm->size, me);
  char *theirs = incoming.get(memory, comm->size * count * bytes);
  std::vector<ConstRuns> ins(comm->size, {in + start * bytes, 0});
  for (int64_t i = 0; i < comm->size; ++i) {
    if (i == me)
      continue;
    Share share = shareOf(*call, comm->size, i);
    send(i, in + share.start * bytes, share.count * bytes);
    ins[i].data = theirs + i * count * bytes;
    receive(i, theirs + i * count * bytes, count * bytes);
  }
  begin();
  if (!hear() || !finish())
    return false;
  memory.reduce(call->dtype, call->op, ins, {out + start * bytes, 0}, 1, count);
  for (int64_t i = 0; i < comm->size; ++i) {
    if (i == me)
      continue;
    Share share = shareOf(*call, comm->size, i);
    send(i, out + start * bytes, count * bytes);
    receive(i, out + share.start * bytes, share.count * bytes);
  }
  begin();
  return finish();
}

//===----------------------------------------------------------------------===//
// Reductions by the library
//===----------------------------------------------------------------------===//

/// Whether the library does it. Of a reduce_scatter it counts in 32 bits.
bool Exchange::isLibrarys() const {
  if (call->kind == CollectiveKind::ReduceScatter) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    if (call->outer * call->whole * call->inner > kMost)
      return false;
  } else if (call->kind != CollectiveKind::AllReduce) {
    return false;
  }
  return link.canReduce(call->comm, call->dtype, call->op);
}

bool Exchange::reduceByLibrary() {
  PointToPoint::Reduction sum{call->comm, call->dtype, call->op,
                              call->in,   call->out,   call->whole};
  if (call->kind == CollectiveKind::AllReduce) {
    // It is not told of another call by others.
    if (!hear())
      return false;
    link.startReduction(sum, requests);
    return finish();
  }
  // All blocks, one after the other.
  const char *in = static_cast<const char *>(call->in);
  char *out = static_cast<char *>(call->out);
  int64_t bytes = dtypeBytes(call->dtype);
  std::vector<Parcel> blocks, own;
  for (int64_t to = 0; to < comm->size; ++to)
    add(blocks, to, findCopies(*call, *comm, me, to));
  add(own, me, findCopies(*call, *comm, me, me));
  counts.assign(comm->size, 0);
  sum.count = 0;
  bool isPacked =
      place(blocks, const_cast<char *>(in), &Copy::in, &Copy::Loop::in) != 0;
  for (const Parcel &block : blocks) {
    isPacked |= block.data != in + sum.count * bytes;
    counts[block.place] = block.bytes / bytes;
    sum.count += counts[block.place];
  }
  if (isPacked) {
    char *at = outgoing.get(memory, sum.count * bytes);
    sum.in = at;
    for (const Parcel &block : blocks)
      for (const Copy &copy : block.copies) {
        memory.copy(copy.packing(), in, at);
        at += copy.bytes();
      }
  }
  placeRest(
      own, incoming.get(memory, place(own, out, &Copy::out, &Copy::Loop::out)));
  if (!own.empty())
    sum.out = own.front().data;
  sum.counts = counts.data();
  if (!hear())
    return false;
  link.startReduction(sum, requests);
  if (!finish())
    return false;
  for (const Parcel &block : own) {
    const char *data = block.data;
    for (const Copy &copy : block.copies) {
      if (data != out + copy.out)
        memory.copy(copy.unpacking(), data, out);
      data += copy.bytes();
    }
  }
  fillRest(*call, *comm, me, out, memory);
  return true;
}

//===----------------------------------------------------------------------===//
// Rows that indices name
//===----------------------------------------------------------------------===//

/// Tells each owner which of its rows are named.
bool Exchange::exchangeRows() {
  const RowPlan &plan = *call->plan;
  int64_t rows = blockRows(comm->sizes, call->whole);
  if (!hear())
    return false;
  asked.resize(comm->size);
  for (int64_t i = 0; i < comm->size; ++i) {
    asked[i].clear();
    if (i == me)
      continue;
    if (hellos[i].rows < 0 || hellos[i].rows > rows)
      throw Error(topology.describe((*members)[i]) + " names " +
                  std::to_string(hellos[i].rows) + " of " +
                  std::to_string(rows) + " rows");
    asked[i].resize(hellos[i].rows);
    send(i, plan.named.data() + plan.first[i], 8 * plan.namedOf(i));
    receive(i, asked[i].data(), 8 * asked[i].size());
  }
  begin();
  if (!finish())
    return false;
  for (int64_t i = 0; i < comm->size; ++i)
    for (int64_t row : asked[i])
      if (row < 0 || row >= rows)
        throw Error(topology.describe((*members)[i]) + " names row " +
                    std::to_string(row) + " of " + std::to_string(rows));
  return true;
}

bool Exchange::gatherRows() {
  if (!exchangeRows())
    return false;
  const RowPlan &plan = *call->plan;
  int64_t bytes = call->inner * dtypeBytes(call->dtype);
  int64_t rows = blockRows(comm->sizes, call->whole);
  const char *in = static_cast<const char *>(call->in);
  char *out = static_cast<char *>(call->out);
  int64_t line = call->outer * bytes, count = 0;
  for (const std::vector<int64_t> &list : asked)
    count += list.size();
  auto take = [&](int64_t row, char *to) {
    for (int64_t o = 0; o < call->outer; ++o)
      std::memcpy(to + o * bytes, in + (o * rows + row) * bytes, bytes);
  };
  char *at = outgoing.get(memory, count * line);
  char *ours = incoming.get(memory, plan.named.size() * line);
  for (int64_t i = 0; i < comm->size; ++i) {
    send(i, at, asked[i].size() * line);
    for (int64_t row : asked[i])
      take(row, std::exchange(at, at + line));
    if (i != me)
      receive(i, ours + plan.first[i] * line, plan.namedOf(i) * line);
  }
  begin();
  for (int64_t k = plan.first[me]; k < plan.first[me + 1]; ++k)
    take(plan.named[k], ours + k * line);
  if (!finish())
    return false;
  for (size_t k = 0; k < plan.named.size(); ++k)
    for (int64_t i = plan.starts[k]; i < plan.starts[k + 1]; ++i)
      std::memcpy(out + plan.users[i] * line, ours + k * line, line);
  return true;
}

bool Exchange::reduceRows() {
  if (!exchangeRows())
    return false;
  const RowPlan &plan = *call->plan;
  int64_t bytes = call->inner * dtypeBytes(call->dtype);
  int64_t rows = blockRows(comm->sizes, call->whole);
  const char *in = static_cast<const char *>(call->in);
  char *out = static_cast<char *>(call->out);
  int64_t line = call->outer * bytes, count = 0;
  for (const std::vector<int64_t> &list : asked)
    count += list.size();
  char *sums = outgoing.get(memory, plan.named.size() * line);
  char *theirs = incoming.get(memory, count * line);
  std::vector<const char *> parts;
  std::vector<char *> result(1);
  for (size_t k = 0; k < plan.named.size(); ++k) {
    parts.clear();
    for (int64_t i = plan.starts[k]; i < plan.starts[k + 1]; ++i)
      parts.push_back(in + plan.users[i] * line);
    result[0] = sums + k * line;
    reduceBuffers(call->dtype, DIST_SUM, parts, result,
                  call->outer * call->inner);
  }
  // The rows of this rank that each member has a sum for, and these.
  std::vector<const int64_t *> named(comm->size), ends(comm->size);
  std::vector<const char *> lines(comm->size);
  for (int64_t i = 0; i < comm->size; ++i) {
    if (i == me) {
      named[i] = plan.named.data() + plan.first[i];
      ends[i] = named[i] + plan.namedOf(i);
      lines[i] = sums + plan.first[i] * line;
      continue;
    }
    send(i, sums + plan.first[i] * line, plan.namedOf(i) * line);
    receive(i, theirs, asked[i].size() * line);
    named[i] = asked[i].data();
    ends[i] = named[i] + asked[i].size();
    lines[i] = std::exchange(theirs, theirs + asked[i].size() * line);
  }
  begin();
  if (!finish())
    return false;
  std::memset(out, 0, rows * line);
  for (int64_t row = 0; row < rows; ++row) {
    parts.clear();
    for (int64_t i = 0; i < comm->size; ++i)
      if (named[i] != ends[i] && *named[i] == row) {
        ++named[i];
        parts.push_back(std::exchange(lines[i], lines[i] + line));
      }
    if (parts.empty())
      continue;
    for (int64_t o = 0; o < call->outer; ++o) {
      result[0] = out + (o * rows + row) * bytes;
      reduceBuffers(call->dtype, DIST_SUM, parts, result, call->inner);
      for (const char *&part : parts)
        part += bytes;
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

int64_t Exchange::bytesSent() const {
  if (!call->plan)
    return topology.bytesSent(*call);
  int64_t rows = 0;
  for (int64_t i = 0; i < comm->size; ++i)
    if (i != me)
      rows += call->kind == CollectiveKind::GatherRows
                  ? int64_t(asked[i].size())
                  : call->plan->namedOf(i);
  return rows * call->outer * call->inner * dtypeBytes(call->dtype);
}

bool Exchange::run(const CollectiveCall &given, int64_t &sent) {
  call = &given;
  comm = &topology.comms[call->comm];
  members = &comm->members[comm->group[rank]];
  me = comm->place[rank];
  greet();
  bool isDone;
  switch (call->kind) {
  case CollectiveKind::AllReduce:
    isDone = isLibrarys() ? reduceByLibrary()
             : call->whole * dtypeBytes(call->dtype) <= kSmall ? reduceSmall()
                                                               : reduceShares();
    break;
  case CollectiveKind::ReduceScatter:
    isDone = isLibrarys() ? reduceByLibrary() : copyOrAddUp();
    break;
  case CollectiveKind::GatherRows:
    isDone = gatherRows();
    break;
  case CollectiveKind::ReduceRows:
    isDone = reduceRows();
    break;
  default:
    isDone = copyOrAddUp();
  }
  if (isDone)
    sent = bytesSent();
  return isDone;
}

bool Exchange::meet() {
  // Hensgen, Finkel and Manber (1988): after round k each has heard from 2^k
  // others, directly or not.
  int64_t ranks = topology.mesh.size();
  char out = 0, in = 0;
  for (int64_t distance = 1; distance < ranks; distance *= 2) {
    link.start(stream, {{(rank + distance) % ranks, &out, 1}},
               {{(rank + ranks - distance) % ranks, &in, 1}}, requests);
    if (!finish())
      return false;
  }
  return true;
}
