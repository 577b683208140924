//===- Streams.h - When what is queued on a device runs ---------*- C++ -*-===//
//
// Streams, events and graphs of the emulated driver. Nothing runs when it is
// queued. It runs when somebody waits for it, in an order that the streams and
// events allow and that is chosen: so a wait that a program lacks shows.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_EMULATED_DRIVER_STREAMS_H
#define DIST_RUNTIME_EMULATED_DRIVER_STREAMS_H

#include "runtime/cuda/DriverApi.h"
#include "runtime/emulated/Executor.h"

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <vector>

namespace dist::emulated {

/// A step of a graph, and the steps that are before it.
struct Node {
  std::function<void()> work;
  std::set<size_t> after;
};

/// A capture under way.
struct Capture {
  std::vector<Node> nodes;
  CUstream_st *origin = nullptr;
  /// The streams that take part.
  std::set<CUstream_st *> streams;
  bool isBroken = false, isOver = false;
};

/// Something queued on a stream.
struct Queued {
  /// Which of all that were queued it is.
  uint64_t number = 0;
  std::function<void()> work;
  /// Waits until this event has come so often; null for none.
  CUevent_st *awaited = nullptr;
  uint64_t times = 0;
};

class Scheduler;

} // namespace dist::emulated

struct CUstream_st {
  std::deque<dist::emulated::Queued> queue;
  std::shared_ptr<dist::emulated::Capture> capture;
  /// The nodes of the capture that the next one comes after.
  std::set<size_t> tail;
};

struct CUevent_st {
  bool hasTime = true;
  /// How often it was recorded, and how often the record has run.
  uint64_t recorded = 0, come = 0;
  std::chrono::steady_clock::time_point time;
  /// If it was recorded last in a capture: after which nodes.
  std::shared_ptr<dist::emulated::Capture> capture;
  std::set<size_t> nodes;
};

struct CUgraph_st {
  std::vector<dist::emulated::Node> nodes;
};

struct CUgraphExec_st {
  /// Launches that have not run yet have them, too.
  std::shared_ptr<const std::vector<dist::emulated::Node>> nodes;
};

namespace dist::emulated {

/// Of all streams of a process.
class Scheduler {
public:
  /// Of what may run next: what was queued first, what was queued last, any.
  void setOrder(Order order, uint64_t seed);
  Order order() const { return chosen; }
  /// Another one each time; for launches.
  uint64_t nextSeed() { return random(); }

  void open(CUstream_st *stream) { streams.insert(stream); }
  /// What is queued runs before.
  void close(CUstream_st *stream);
  bool has(CUstream_st *stream) const { return streams.count(stream); }

  /// Queues `work`, or adds it to the stream's capture.
  cuda::Result add(CUstream_st *stream, std::function<void()> work);
  cuda::Result record(CUevent_st *event, CUstream_st *stream);
  cuda::Result wait(CUstream_st *stream, CUevent_st *event);
  cuda::Result beginCapture(CUstream_st *stream);
  /// The nodes, or why there are none.
  cuda::Result endCapture(CUstream_st *stream, std::vector<Node> &nodes);
  cuda::Result launch(const CUgraphExec_st &graph, CUstream_st *stream);

  /// Runs what it takes until `isDone`.
  void runUntil(const std::function<bool()> &isDone);
  void runAll();
  /// Runs one thing: who asks again and again sees an end.
  void runOne();

private:
  bool canRun(const Queued &one) const {
    return !one.awaited || one.awaited->come >= one.times;
  }
  size_t choose(size_t count);
  void runGraph(const std::vector<Node> &nodes);

  Order chosen = Order::Issue;
  std::mt19937_64 random;
  uint64_t queued = 0;
  std::set<CUstream_st *> streams;
};

} // namespace dist::emulated

#endif // DIST_RUNTIME_EMULATED_DRIVER_STREAMS_H
