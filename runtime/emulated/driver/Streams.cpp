//===- Streams.cpp - When what is queued on a device runs -----------------===//

#include "runtime/emulated/driver/Streams.h"

#include <algorithm>
#include <utility>

using namespace dist;
using namespace dist::emulated;
using namespace dist::cuda;

void Scheduler::setOrder(Order order, uint64_t seed) {
  chosen = order;
  random.seed(seed);
}

/// Of so many that may run, in the order in which they were queued.
size_t Scheduler::choose(size_t count) {
  switch (chosen) {
  case Order::Issue:
    return 0;
  case Order::Reverse:
    return count - 1;
  case Order::Seeded:
    return random() % count;
  }
  return 0;
}

void Scheduler::runUntil(const std::function<bool()> &isDone) {
  while (!isDone()) {
    std::vector<CUstream_st *> ready;
    for (CUstream_st *stream : streams)
      if (!stream->queue.empty() && canRun(stream->queue.front()))
        ready.push_back(stream);
    // Each wait is for a record that was queued before it: something can run.
    if (ready.empty())
      return;
    std::sort(ready.begin(), ready.end(), [](auto *a, auto *b) {
      return a->queue.front().number < b->queue.front().number;
    });
    CUstream_st *stream = ready[choose(ready.size())];
    std::function<void()> work = std::move(stream->queue.front().work);
    stream->queue.pop_front();
    if (work)
      work();
  }
}

void Scheduler::runOne() {
  bool isAsked = false;
  runUntil([&] { return std::exchange(isAsked, true); });
}

void Scheduler::runAll() {
  runUntil([] { return false; });
}

void Scheduler::close(CUstream_st *stream) {
  runUntil([&] { return stream->queue.empty(); });
  streams.erase(stream);
}

Result Scheduler::add(CUstream_st *stream, std::function<void()> work) {
  if (Capture *capture = stream->capture.get()) {
    if (capture->isBroken)
      return CaptureInvalidated;
    capture->nodes.push_back({std::move(work), stream->tail});
    stream->tail = {capture->nodes.size() - 1};
    return Success;
  }
  stream->queue.push_back({queued++, std::move(work)});
  return Success;
}

Result Scheduler::record(CUevent_st *event, CUstream_st *stream) {
  event->capture = stream->capture;
  if (stream->capture) {
    event->nodes = stream->tail;
    return stream->capture->isBroken ? CaptureInvalidated : Success;
  }
  uint64_t number = ++event->recorded;
  return add(stream, [event, number] {
    event->come = std::max(event->come, number);
    event->time = std::chrono::steady_clock::now();
  });
}

Result Scheduler::wait(CUstream_st *stream, CUevent_st *event) {
  if (event->capture && event->capture->isOver)
    return CapturedEvent;
  if (event->capture) {
    if (stream->capture && stream->capture != event->capture) {
      stream->capture->isBroken = event->capture->isBroken = true;
      return CaptureIsolation;
    }
    stream->capture = event->capture;
    stream->capture->streams.insert(stream);
    stream->tail.insert(event->nodes.begin(), event->nodes.end());
    return stream->capture->isBroken ? CaptureInvalidated : Success;
  }
  if (stream->capture) {
    // A graph cannot wait for what is outside of it.
    stream->capture->isBroken = true;
    return CaptureIsolation;
  }
  stream->queue.push_back({queued++, {}, event, event->recorded});
  return Success;
}

Result Scheduler::beginCapture(CUstream_st *stream) {
  if (stream->capture)
    return CaptureUnsupported;
  stream->capture = std::make_shared<Capture>();
  stream->capture->origin = stream;
  stream->capture->streams = {stream};
  stream->tail.clear();
  return Success;
}

/// The nodes, and all that come before them.
static std::set<size_t> withAllBefore(const std::vector<Node> &nodes,
                                      const std::set<size_t> &last) {
  std::set<size_t> all = last;
  // A node comes after nodes of smaller numbers only.
  for (auto it = all.rbegin(); it != all.rend(); ++it)
    all.insert(nodes[*it].after.begin(), nodes[*it].after.end());
  return all;
}

Result Scheduler::endCapture(CUstream_st *stream, std::vector<Node> &nodes) {
  std::shared_ptr<Capture> capture = stream->capture;
  if (!capture || capture->origin != stream)
    return CaptureUnmatched;
  std::set<size_t> joined = withAllBefore(capture->nodes, stream->tail);
  bool isJoined = true;
  for (CUstream_st *one : capture->streams) {
    isJoined &= std::includes(joined.begin(), joined.end(), one->tail.begin(),
                              one->tail.end());
    one->capture.reset();
    one->tail.clear();
  }
  capture->isOver = true;
  if (capture->isBroken)
    return CaptureInvalidated;
  if (!isJoined)
    return CaptureUnjoined;
  nodes = std::move(capture->nodes);
  return Success;
}

void Scheduler::runGraph(const std::vector<Node> &nodes) {
  std::vector<size_t> missing(nodes.size()), ready;
  std::vector<std::vector<size_t>> next(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    missing[i] = nodes[i].after.size();
    for (size_t before : nodes[i].after)
      next[before].push_back(i);
    if (!missing[i])
      ready.push_back(i);
  }
  while (!ready.empty()) {
    std::sort(ready.begin(), ready.end());
    size_t place = choose(ready.size()), node = ready[place];
    ready.erase(ready.begin() + place);
    nodes[node].work();
    for (size_t one : next[node])
      if (!--missing[one])
        ready.push_back(one);
  }
}

Result Scheduler::launch(const CUgraphExec_st &graph, CUstream_st *stream) {
  if (stream->capture)
    return CaptureUnsupported;
  return add(stream, [this, nodes = graph.nodes] { runGraph(*nodes); });
}
