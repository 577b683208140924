//===- Interface.cpp - The C interface, in front of every backend ---------===//
//
// Looks at arguments, packs them and calls the backend. A failing call leaves
// dist_main by longjmp from `finish`, so nothing with a destructor may live in
// an extern "C" function when it calls finish.
//
//===----------------------------------------------------------------------===//

#include "dist/Tensor.h"
#include "runtime/rank/Rank.h"

#include <algorithm>
#include <exception>

using namespace dist;

/// Returns the status, or does not return below dist_main.
static int32_t finish(dist_rank *rank, bool ok) {
  if (ok)
    return 0;
  if (rank->leave)
    longjmp(*rank->leave, 1);
  return 1;
}

/// Runs `body`; an exception becomes the run's failure.
template <class Body> static bool guarded(dist_rank *rank, Body &&body) {
  if (rank->backend.failed())
    return false;
  try {
    return body();
  } catch (const std::exception &e) {
    return rank->backend.fail(e.what());
  }
}

static bool checkComm(dist_rank *rank, int32_t comm) {
  size_t count = rank->topology.comms.size();
  if (comm >= 0 && static_cast<size_t>(comm) < count)
    return true;
  return rank->backend.fail("communicator " + std::to_string(comm) +
                            " does not exist: the program has " +
                            std::to_string(count));
}

static bool checkStream(dist_rank *rank, int32_t stream) {
  if (stream >= 0 && stream < numStreams)
    return true;
  return rank->backend.fail("stream " + std::to_string(stream) +
                            " does not exist: streams are 0 to " +
                            std::to_string(numStreams - 1));
}

static bool checkEvent(dist_rank *rank, int32_t event) {
  if (event >= 0 && event < numEvents)
    return true;
  return rank->backend.fail("event " + std::to_string(event) +
                            " does not exist: events are 0 to " +
                            std::to_string(numEvents - 1));
}

static bool checkPlace(dist_rank *rank, const CollectiveCall &call,
                       const char *what, int64_t place) {
  int64_t size = rank->topology.comms[call.comm].size;
  if (place >= 0 && place < size)
    return true;
  return rank->backend.fail(std::string(collectiveName(call.kind)) + ": " +
                            what + " " + std::to_string(place) +
                            " is not in a group of " + std::to_string(size));
}

static bool checkPairs(dist_rank *rank, const CollectiveCall &call) {
  int64_t size = rank->topology.comms[call.comm].size;
  std::vector<bool> isSource(size), isTarget(size);
  for (int64_t i = 0; i < call.numPairs; ++i) {
    int64_t source = call.pairs[2 * i], target = call.pairs[2 * i + 1];
    if (!checkPlace(rank, call, "source", source) ||
        !checkPlace(rank, call, "target", target))
      return false;
    if (isSource[source] || isTarget[target])
      return rank->backend.fail(
          "collective_permute: " +
          std::string(isSource[source] ? "source " : "target ") +
          std::to_string(isSource[source] ? source : target) +
          " occurs twice in the pairs");
    isSource[source] = isTarget[target] = true;
  }
  return true;
}

static bool checkHalo(dist_rank *rank, const CollectiveCall &call) {
  std::string name = collectiveName(call.kind);
  if (call.boundary < DIST_BOUNDARY_ZERO ||
      call.boundary > DIST_BOUNDARY_PERIODIC)
    return rank->backend.fail(name + ": boundary " +
                              std::to_string(call.boundary) +
                              " does not exist");
  if (call.boundary == DIST_BOUNDARY_PERIODIC && call.whole == 0 &&
      call.low + call.high != 0)
    return rank->backend.fail(name + ": periodic over 0 rows");
  return true;
}

static std::shared_ptr<RowPlan> *findRowPlan(dist_rank *rank, int32_t plan) {
  if (plan >= 0 && plan < numRowPlans)
    return &rank->rowPlans[plan];
  rank->backend.fail("plan " + std::to_string(plan) +
                     " of rows does not exist: plans are 0 to " +
                     std::to_string(numRowPlans - 1));
  return nullptr;
}

/// Gives the call its plan.
static bool takeRowPlan(dist_rank *rank, CollectiveCall &call, int32_t number) {
  std::string name = collectiveName(call.kind);
  std::shared_ptr<RowPlan> *plan = findRowPlan(rank, number);
  if (!plan)
    return false;
  if (!*plan || (*plan)->comm != call.comm || (*plan)->whole != call.whole)
    return rank->backend.fail(
        name + ": there is no plan " + std::to_string(number) + " for " +
        std::to_string(call.whole) + " rows over communicator " +
        std::to_string(call.comm));
  call.plan = plan->get();
  if (call.plan->wrong < 0)
    return true;
  int64_t place = call.plan->wrong;
  return rank->backend.fail(toString(call, rank->topology.sites) + ": index " +
                            std::to_string(place) + " must be in [0, " +
                            std::to_string(call.whole) + "), not " +
                            std::to_string(call.plan->indices[place]));
}

/// `dtype` and `op` are what the caller gave, not yet known to be enumerators.
static bool issue(dist_rank *rank, CollectiveCall &call, int32_t dtype,
                  int32_t op) {
  // What a failed check has made wrong must not reach other ranks, as far as it
  // is known yet.
  if (!rank->check() || !checkComm(rank, call.comm) ||
      !checkStream(rank, call.stream))
    return false;
  if (dtype < DIST_F64 || dtype > DIST_U64)
    return rank->backend.fail(std::string(collectiveName(call.kind)) +
                              ": dtype " + std::to_string(dtype) +
                              " does not exist");
  if (op < DIST_SUM || op > DIST_OR)
    return rank->backend.fail(std::string(collectiveName(call.kind)) +
                              ": reduction " + std::to_string(op) +
                              " does not exist");
  call.dtype = static_cast<dist_dtype>(dtype);
  call.op = static_cast<dist_op>(op);
  for (int64_t extent : {call.outer, call.whole, call.inner, call.middle,
                         call.concatWhole, call.low, call.high})
    if (extent < 0)
      return rank->backend.fail(std::string(collectiveName(call.kind)) +
                                ": negative size " + std::to_string(extent));
  switch (call.kind) {
  case CollectiveKind::AllReduce:
  case CollectiveKind::ReduceScatter:
    if ((call.op == DIST_AND || call.op == DIST_OR) && isFloat(call.dtype))
      return rank->backend.fail(std::string(collectiveName(call.kind)) +
                                ": and, or are not defined on " +
                                dtypeName(call.dtype));
    break;
  case CollectiveKind::Broadcast:
    if (!checkPlace(rank, call, "root", call.root))
      return false;
    break;
  case CollectiveKind::Permute:
    if (!checkPairs(rank, call))
      return false;
    break;
  case CollectiveKind::Halo:
  case CollectiveKind::HaloReduce:
    if (!checkHalo(rank, call))
      return false;
    break;
  default:
    break;
  }
  return rank->backend.collective(call);
}

static CollectiveCall makeCall(CollectiveKind kind, int32_t comm,
                               int32_t stream, int32_t site, const void *in,
                               void *out) {
  CollectiveCall call{kind, comm, stream, site};
  call.in = in;
  call.out = out;
  return call;
}

static int32_t run(dist_rank *rank, CollectiveCall call, int32_t dtype,
                   int32_t op = DIST_SUM) {
  bool ok = guarded(rank, [&] { return issue(rank, call, dtype, op); });
  return finish(rank, ok);
}

static CollectiveCall makeRowsCall(CollectiveKind kind, int32_t comm,
                                   int32_t stream, int32_t site, int64_t outer,
                                   int64_t whole, int64_t inner, const void *in,
                                   void *out) {
  CollectiveCall call = makeCall(kind, comm, stream, site, in, out);
  call.outer = outer;
  call.whole = whole;
  call.inner = inner;
  return call;
}

static int32_t runRows(dist_rank *rank, CollectiveCall call, int32_t dtype,
                       int32_t plan) {
  bool ok = guarded(rank, [&] {
    if (dtype >= DIST_F64 && dtype <= DIST_U64) // for messages
      call.dtype = static_cast<dist_dtype>(dtype);
    return takeRowPlan(rank, call, plan) && issue(rank, call, dtype, DIST_SUM);
  });
  return finish(rank, ok);
}

extern "C" {

int64_t dist_comm_index(dist_rank *rank, int32_t comm) {
  bool ok = guarded(rank, [&] { return checkComm(rank, comm); });
  return finish(rank, ok) ? -1 : rank->topology.comms[comm].place[rank->index];
}

int32_t dist_check(dist_rank *rank) {
  bool ok = guarded(rank, [&] { return rank->check(); });
  return finish(rank, ok);
}

int32_t dist_event_record(dist_rank *rank, int32_t event, int32_t stream) {
  bool ok = guarded(rank, [&] {
    return checkEvent(rank, event) && checkStream(rank, stream) &&
           rank->backend.eventRecord(event, stream);
  });
  return finish(rank, ok);
}

int32_t dist_stream_wait(dist_rank *rank, int32_t stream, int32_t event) {
  bool ok = guarded(rank, [&] {
    return checkEvent(rank, event) && checkStream(rank, stream) &&
           rank->backend.streamWait(stream, event);
  });
  return finish(rank, ok);
}

int32_t dist_all_reduce(dist_rank *rank, int32_t comm, int32_t stream,
                        int32_t site, int32_t dtype, int32_t op, int64_t count,
                        const void *in, void *out) {
  CollectiveCall call =
      makeCall(CollectiveKind::AllReduce, comm, stream, site, in, out);
  call.whole = count;
  return run(rank, call, dtype, op);
}

int32_t dist_all_gather(dist_rank *rank, int32_t comm, int32_t stream,
                        int32_t site, int32_t dtype, int64_t outer,
                        int64_t whole, int64_t inner, const void *in,
                        void *out) {
  CollectiveCall call =
      makeCall(CollectiveKind::AllGather, comm, stream, site, in, out);
  call.outer = outer;
  call.whole = whole;
  call.inner = inner;
  return run(rank, call, dtype);
}

int32_t dist_reduce_scatter(dist_rank *rank, int32_t comm, int32_t stream,
                            int32_t site, int32_t dtype, int32_t op,
                            int64_t outer, int64_t whole, int64_t inner,
                            const void *in, void *out) {
  CollectiveCall call =
      makeCall(CollectiveKind::ReduceScatter, comm, stream, site, in, out);
  call.outer = outer;
  call.whole = whole;
  call.inner = inner;
  return run(rank, call, dtype, op);
}

int32_t dist_all_to_all(dist_rank *rank, int32_t comm, int32_t stream,
                        int32_t site, int32_t dtype, int32_t split_first,
                        int64_t outer, int64_t split_whole, int64_t middle,
                        int64_t concat_whole, int64_t inner, const void *in,
                        void *out) {
  CollectiveCall call =
      makeCall(CollectiveKind::AllToAll, comm, stream, site, in, out);
  call.splitFirst = split_first != 0;
  call.outer = outer;
  call.whole = split_whole;
  call.middle = middle;
  call.concatWhole = concat_whole;
  call.inner = inner;
  return run(rank, call, dtype);
}

int32_t dist_broadcast(dist_rank *rank, int32_t comm, int32_t stream,
                       int32_t site, int32_t dtype, int64_t root, int64_t count,
                       const void *in, void *out) {
  CollectiveCall call =
      makeCall(CollectiveKind::Broadcast, comm, stream, site, in, out);
  call.root = root;
  call.whole = count;
  return run(rank, call, dtype);
}

int32_t dist_collective_permute(dist_rank *rank, int32_t comm, int32_t stream,
                                int32_t site, int32_t dtype, int64_t num_pairs,
                                const int64_t *pairs, int64_t count,
                                const void *in, void *out) {
  CollectiveCall call =
      makeCall(CollectiveKind::Permute, comm, stream, site, in, out);
  call.numPairs = num_pairs;
  call.pairs = pairs;
  call.whole = count;
  return run(rank, call, dtype);
}

int32_t dist_halo_exchange(dist_rank *rank, int32_t comm, int32_t stream,
                           int32_t site, int32_t dtype, int64_t outer,
                           int64_t whole, int64_t inner, int64_t low,
                           int64_t high, int32_t boundary, int64_t fill,
                           const void *in, void *out) {
  CollectiveCall call =
      makeCall(CollectiveKind::Halo, comm, stream, site, in, out);
  call.outer = outer;
  call.whole = whole;
  call.inner = inner;
  call.low = low;
  call.high = high;
  call.boundary = boundary;
  call.fill = fill;
  return run(rank, call, dtype);
}

int32_t dist_halo_reduce(dist_rank *rank, int32_t comm, int32_t stream,
                         int32_t site, int32_t dtype, int64_t outer,
                         int64_t whole, int64_t inner, int64_t low,
                         int64_t high, int32_t periodic, const void *in,
                         void *out) {
  CollectiveCall call =
      makeCall(CollectiveKind::HaloReduce, comm, stream, site, in, out);
  call.outer = outer;
  call.whole = whole;
  call.inner = inner;
  call.low = low;
  call.high = high;
  call.boundary = periodic ? DIST_BOUNDARY_PERIODIC : DIST_BOUNDARY_NONE;
  return run(rank, call, dtype);
}

int32_t dist_plan_rows(dist_rank *rank, int32_t comm, int32_t site,
                       int32_t plan, int64_t whole, int64_t count,
                       const int64_t *indices) {
  bool ok = guarded(rank, [&] {
    if (!rank->check() || !checkComm(rank, comm))
      return false;
    std::shared_ptr<RowPlan> *known = findRowPlan(rank, plan);
    if (!known)
      return false;
    if (whole < 0 || count < 0)
      return rank->backend.fail("plan_rows: negative size " +
                                std::to_string(std::min(whole, count)));
    std::vector<int64_t> here;
    if (!rank->backend.sharesHostMemory()) {
      here.resize(count);
      if (!rank->backend.streamSync(0) || !rank->check() ||
          !rank->backend.download(here.data(), indices, 8 * count))
        return false;
      indices = here.data();
    }
    if (!*known || !(*known)->isFor(comm, whole, count, indices))
      *known = std::allocate_shared<RowPlan>(
          std::pmr::polymorphic_allocator<>(rank->backend.peerMemory()), comm,
          rank->topology.comms[comm], whole, count, indices);
    return true;
  });
  return finish(rank, ok);
}

int32_t dist_gather_rows(dist_rank *rank, int32_t comm, int32_t stream,
                         int32_t site, int32_t dtype, int32_t plan,
                         int64_t outer, int64_t whole, int64_t inner,
                         const void *in, void *out) {
  return runRows(rank,
                 makeRowsCall(CollectiveKind::GatherRows, comm, stream, site,
                              outer, whole, inner, in, out),
                 dtype, plan);
}

int32_t dist_reduce_rows(dist_rank *rank, int32_t comm, int32_t stream,
                         int32_t site, int32_t dtype, int32_t plan,
                         int64_t outer, int64_t whole, int64_t inner,
                         const void *in, void *out) {
  return runRows(rank,
                 makeRowsCall(CollectiveKind::ReduceRows, comm, stream, site,
                              outer, whole, inner, in, out),
                 dtype, plan);
}

int32_t dist_contract(dist_rank *rank, int32_t in_dtype, int32_t out_dtype,
                      int32_t flags, int32_t num_loops, const int64_t *loops,
                      const void *a, const void *b, void *c) {
  bool ok = guarded(rank, [&] {
    return rank->backend.contract(
        {in_dtype, out_dtype, flags, num_loops, loops, a, b, c});
  });
  return finish(rank, ok);
}

int32_t dist_convolve(dist_rank *rank, int32_t dtype, int32_t flags,
                      int32_t num_windows, const int64_t *table,
                      const void *image, const void *kernel, const void *bias,
                      void *out, float low, float high) {
  bool ok = guarded(rank, [&] {
    return rank->backend.convolve({dtype, flags, num_windows, table, image,
                                   kernel, bias, out, low, high});
  });
  return finish(rank, ok);
}

int32_t dist_read(dist_rank *rank, const void *from, int64_t bytes, void *to) {
  bool ok = guarded(rank, [&] {
    // What the host decides by it must not be garbage: ranks would go different
    // ways.
    return rank->backend.streamSync(0) && rank->check() &&
           rank->backend.download(to, from, bytes);
  });
  return finish(rank, ok);
}

int32_t dist_write(dist_rank *rank, void *to, int64_t bytes, const void *from) {
  bool ok = guarded(rank, [&] {
    return rank->backend.streamSync(0) && rank->backend.upload(to, from, bytes);
  });
  return finish(rank, ok);
}

const void *dist_constant(dist_rank *rank, const void *from, int64_t bytes) {
  const void *there = nullptr;
  bool ok = guarded(rank, [&] {
    there = rank->backend.constant(from, bytes);
    return there != nullptr;
  });
  finish(rank, ok);
  return there;
}

int32_t dist_launch(dist_rank *rank, int32_t kernel, int32_t count,
                    const uint64_t *values) {
  bool ok = guarded(
      rank, [&] { return rank->backend.launch(kernel, count, values); });
  return finish(rank, ok);
}

void dist_mark(dist_rank *rank, const char *module) {
  if (rank->tracing)
    rank->backend.mark(module);
}
} // extern "C"
