//===- Rank.h - What every backend's rank has in common ---------*- C++ -*-===//
//
// The C interface (Interface.cpp) checks the arguments of a call, packs those
// of a collective, a contraction or a convolution into a structure and hands it
// to the rank's backend.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_RANK_RANK_H
#define DIST_RUNTIME_RANK_RANK_H

#include "dist/Mesh.h"
#include "dist/runtime.h"
#include "runtime/rank/RowPlan.h"

#include <array>
#include <csetjmp>
#include <memory>
#include <memory_resource>
#include <string>
#include <vector>

namespace dist {

constexpr int32_t numStreams = 16;
constexpr int32_t numEvents = 4096;
constexpr int32_t numRowPlans = 256;

enum class CollectiveKind : int32_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Broadcast,
  Permute,
  Halo,
  HaloReduce,
  GatherRows,
  ReduceRows
};

/// "all_reduce", ...
const char *collectiveName(CollectiveKind kind);

/// A call of a collective; the fields are runtime.h's parameters.
struct CollectiveCall {
  CollectiveKind kind;
  int32_t comm;
  int32_t stream;
  int32_t site;
  dist_dtype dtype = DIST_F32;
  dist_op op = DIST_SUM;
  int64_t outer = 1;
  /// The dimension that is cut, whole; all_to_all's split dimension; count for
  /// those that have no dimension.
  int64_t whole = 0;
  int64_t inner = 1;
  // all_to_all
  bool splitFirst = false;
  int64_t middle = 1;
  int64_t concatWhole = 1;
  // halo_exchange, halo_reduce
  int64_t low = 0, high = 0;
  int32_t boundary = DIST_BOUNDARY_ZERO;
  int64_t fill = 0;
  /// broadcast's root.
  int64_t root = 0;
  // collective_permute
  int64_t numPairs = 0;
  const int64_t *pairs = nullptr;
  /// gather_rows, reduce_rows; each member has its own.
  const RowPlan *plan = nullptr;
  /// If not null: becomes the bytes that this rank sends, as the manifest
  /// counts them.
  int64_t *sent = nullptr;

  const void *in = nullptr;
  void *out = nullptr;
};

/// The manifest's entry of the calls of one site.
struct Site {
  std::string scope;
  /// By each rank, in one call.
  int64_t bytesSent = 0;
};

/// What must be equal on all members of a group, for messages:
/// "all_reduce sum of f32 count=12 (site 3: h.0.attn.c_proj)".
std::string toString(const CollectiveCall &call,
                     const std::vector<Site> &sites);

/// Bytes of a rank's operand and of its result (runtime.h).
std::pair<int64_t, int64_t> bytesOf(const CollectiveCall &call,
                                    const Communicator &comm);

/// Hash over what must be equal on all members of a group.
uint64_t fingerprint(const CollectiveCall &call);

/// A contraction; the fields are runtime.h's parameters.
struct ContractCall {
  /// As given; a backend refuses what is no dist_dtype that it knows.
  int32_t inDtype;
  int32_t outDtype;
  int32_t flags;
  int32_t numLoops;
  const int64_t *loops;
  const void *a;
  const void *b;
  void *c;
};

/// A convolution; the fields are runtime.h's parameters.
struct ConvolveCall {
  int32_t dtype;
  int32_t flags;
  int32_t numWindows;
  const int64_t *table;
  const void *image;
  const void *kernel;
  const void *bias;
  void *out;
  float low, high;
};

/// What a program asks of its data: that an index is in range, say.
struct Check {
  std::string message;
  /// Whether the value that was judged belongs to the message.
  bool hasValue;
};

/// A program's description of its ranks and communicators.
struct Topology {
  Mesh mesh;
  std::vector<Communicator> comms;
  std::vector<Site> sites;
  std::vector<Check> checks;
  /// The axis along which tasks of a pipeline send messages; -1: none do.
  int32_t messageAxis = -1;

  /// The ranks that differ from this one along that axis alone, in order.
  std::vector<int64_t> findPeers(int64_t rank) const;
  /// The bytes that a call sends; 0 without a site.
  int64_t bytesSent(const CollectiveCall &call) const {
    size_t site = call.site;
    return call.site >= 0 && site < sites.size() ? sites[site].bytesSent : 0;
  }

  /// "rank 5 (dp=1, tp=1)".
  std::string describe(int64_t rank) const;
  /// "rank 1 (tp=1) waits in all_reduce …".
  std::string waitsIn(int64_t rank, const CollectiveCall &call) const;
};

/// What a rank did, for a trace: nanoseconds of the steady clock.
struct TraceEvent {
  std::string name;
  int64_t rank = 0;
  int32_t stream = 0;
  int32_t site = -1; // -1: none
  int64_t startNanos = 0, endNanos = 0;
  int64_t bytes = 0; // sent by this rank; 0 for contractions
  double flops = 0;  // 0 for collectives
  /// The purpose of a call without a site.
  std::string module = {};
  /// Of a pipeline: "forward", "backward", "weight" or "other" for a task,
  /// "send", or "waiting" for a message; else "".
  std::string task = {};
  /// Of a message: the other rank, and what is sent (TaskMessage).
  int64_t peer = -1, tag = 0;
};

/// A value that goes from one rank to another, between tasks of a pipeline.
struct TaskMessage {
  /// The other rank, and the axis along which the two differ.
  int64_t peer;
  int32_t axis;
  /// What is sent: equal at both ends.
  int64_t tag;
  int64_t bytes;
};

/// The machine on which one rank works. Each function returns whether it
/// succeeded; after false the run has failed.
class Backend {
public:
  virtual ~Backend() = default;

  // Work: issued on a stream, done in its order.
  virtual bool collective(const CollectiveCall &call) = 0;
  /// On stream 0.
  virtual bool contract(const ContractCall &call) = 0;
  virtual bool convolve(const ConvolveCall &call) = 0;
  /// On stream 0; kernels are the device's alone (runtime.h).
  virtual bool launch(int32_t kernel, int32_t count, const uint64_t *values) {
    return fail("a kernel's launch, and this backend has no device");
  }
  /// Where the backend computes with a constant of the program, which is at
  /// `data`; null after a failure.
  virtual const void *constant(const void *data, int64_t bytes) { return data; }
  /// What stream 0 does next is for this module; in traced runs alone.
  virtual void mark(const char *module) {}

  // Messages between tasks: those from one rank to another come in the order
  // in which they are sent.
  /// Returns when `data` may be written again.
  virtual bool send(const TaskMessage &message, const void *data) {
    return fail("this backend runs no pipelines yet");
  }
  /// The next message from a rank; null after a failure.
  virtual std::shared_ptr<void> receive(const TaskMessage &message) {
    fail("this backend runs no pipelines yet");
    return nullptr;
  }

  // Streams.
  virtual bool eventRecord(int32_t event, int32_t stream) = 0;
  virtual bool streamWait(int32_t stream, int32_t event) = 0;
  /// Blocks the host until all work of `stream` is done.
  virtual bool streamSync(int32_t stream) = 0;

  // Memory.
  /// Memory that the backend computes on, zeroed, aligned as dist_main demands.
  virtual std::shared_ptr<void> allocate(int64_t bytes) = 0;
  /// Memory for what other ranks read besides operands (RowPlan.h).
  virtual std::pmr::memory_resource *peerMemory() {
    return std::pmr::get_default_resource();
  }
  /// A part of that. It takes no memory until it is written to.
  std::shared_ptr<void> allocateForPeers(int64_t bytes);
  /// Whether that is the host's memory, so that data can be used in place; if
  /// not, all goes through the three functions below.
  virtual bool sharesHostMemory() const = 0;
  /// The program alone reads this memory, which never changes, or it `isMapped`
  /// from a file, and there again when it is read. So a backend may give back
  /// to the system what it has packed of it; without a file if nothing else of
  /// the program reads it (DIST_CONTRACT_ONLY_A).
  virtual void lend(const void *data, int64_t bytes, bool isMapped) {}
  /// Copies from the host's memory to the backend's, and back. Both return when
  /// it is done; `download` sees the work of streams that have been synced.
  virtual bool upload(void *to, const void *from, int64_t bytes) = 0;
  virtual bool download(void *to, const void *from, int64_t bytes) = 0;
  /// Sets `value` to status word `word` (runtime.h) of a program: at least what
  /// the work before the last streamSync left there. A backend whose work runs
  /// behind the host's need not wait for it: all streams are synced before the
  /// word is asked for the last time.
  virtual bool readStatus(const int64_t *word, int64_t &value) = 0;

  // The run.
  /// Waits until all ranks of the run are here.
  virtual bool meet() = 0;
  /// Ends the run on all ranks; returns false.
  virtual bool fail(const std::string &message) = 0;
  /// Whether the run has failed, here or on another rank.
  virtual bool failed() const = 0;
  /// The rank's thread waits for others by other ways than this backend's, or
  /// no longer does (""); each call is progress. A line, which names the rank.
  virtual void waitsElsewhere(const std::string &line) {}
  /// What a rank has done that computes elsewhere, but meets others here.
  virtual void addTrace(std::vector<TraceEvent> events) {}
  /// After the last work of a run that went well: no rank asks another one for
  /// more.
  virtual bool finish() { return true; }
};

} // namespace dist

/// What the C interface's opaque handle stands for.
struct dist_rank {
  dist_rank(const dist::Topology &topology, int64_t index,
            dist::Backend &backend)
      : topology(topology), index(index), backend(backend) {}

  /// Calls dist_main and waits for all streams; a failing call below it comes
  /// back here, and so does a check that did not hold. `status` as dist_main
  /// takes it. Returns 0, or non-zero if the run has failed.
  int32_t callMain(dist_main_fn entry, void *const *args, void *const *results,
                   void *arena, int64_t *status);

  /// Fails the run if a check of the program has not held, as far as the
  /// backend knows yet (readStatus); returns whether all have.
  bool check();

  const dist::Topology &topology;
  const int64_t index;
  dist::Backend &backend;
  /// Whether what the rank does is to be recorded.
  bool tracing = false;
  /// The task of a pipeline that it does, for messages: "B of stage 1,
  /// microbatch 4: ", or "".
  std::string doing;
  /// Where a failing call goes while dist_main runs, else null.
  jmp_buf *leave = nullptr;
  /// The status words of the program while dist_main runs, else null.
  const int64_t *status = nullptr;
  /// For rows that indices name; null if there is no plan.
  std::array<std::shared_ptr<dist::RowPlan>, dist::numRowPlans> rowPlans;
};

#endif // DIST_RUNTIME_RANK_RANK_H
