//===- Graphs.cpp - What every step queues alike, as graphs ---------------===//

#include "runtime/cuda/Graphs.h"

#include <algorithm>
#include <utility>

using namespace dist;
using namespace dist::cuda;

/// Memory: works that are noted, graphs, segments that differ in their values
/// alone (a program may have loops that never queue the same).
static constexpr size_t kMostNoted = 1 << 18, kMostGraphs = 1 << 12;
static constexpr int kMostAlike = 1 << 10;
/// Works of a graph. A longer segment is several, so that the device begins
/// before the host has compared all.
static constexpr size_t kLeast = 4, kMost = 1 << 10;
static constexpr int kMostDiffer = 3;

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0xbf58476d1ce4e5b9ull;
  return hash ^ hash >> 29;
}

/// The tables of loops are the program's constants.
static bool isSame(const ContractCall &a, const ContractCall &b) {
  return a.inDtype == b.inDtype && a.outDtype == b.outDtype &&
         a.flags == b.flags && a.numLoops == b.numLoops && a.loops == b.loops &&
         a.a == b.a && a.b == b.b && a.c == b.c;
}

Graphs::~Graphs() {
  for (auto &[hash, one] : segments)
    if (one->graph)
      driver.cuGraphExecDestroy(one->graph);
}

/// False if the driver has no memory for it.
bool Graphs::makeGraph(Segment &known) {
  if (known.graph)
    return true;
  if (numGraphs == kMostGraphs)
    return false;
  // The driver has no other way to make one of what a library queues.
  Graph graph = nullptr;
  driver.check(driver.cuStreamBeginCapture(stream, CaptureThreadLocal),
               "cuStreamBeginCapture");
  Result made;
  try {
    for (const Work &work : known.works)
      queue(work);
    made = driver.cuStreamEndCapture(stream, &graph);
  } catch (...) {
    driver.cuStreamEndCapture(stream, &graph);
    if (graph)
      driver.cuGraphDestroy(graph);
    throw;
  }
  if (made == Success)
    made = driver.cuGraphInstantiateWithFlags(&known.graph, graph, 0);
  if (graph)
    driver.cuGraphDestroy(graph);
  if (made == OutOfMemory)
    return false;
  driver.check(made, "a graph of kernels");
  ++numGraphs;
  return true;
}

/// It is another one than noted; the first works have been put off.
void Graphs::forget(Segment &known, size_t putOff) {
  ++known.differed;
  known.isStale = true;
  for (size_t i = 0; i < putOff; ++i)
    queue(known.works[i]);
  if (GraphExec graph = std::exchange(known.graph, nullptr)) {
    --numGraphs;
    driver.check(driver.cuGraphExecDestroy(graph), "cuGraphExecDestroy");
  }
  // By the first one it is found.
  numNoted -= known.works.size() - 1;
  known.works.resize(1);
}

void Graphs::note(Work work) {
  segment->works.push_back(std::move(work));
  ++numNoted;
}

/// What the segment that begins with this call is.
template <class Same>
void Graphs::begin(uint64_t kind, uint64_t values, Same isSame) {
  kinds = 0;
  at = 0;
  uint64_t key = mix(mix(before, kind), values);
  auto [first, last] = segments.equal_range(key);
  for (auto it = first; it != last && !segment; ++it)
    if (it->second->before == before && isSame(it->second->works[0]))
      segment = it->second.get();
  if (segment && segment->differed == kMostDiffer) {
    mode = Mode::Queue;
  } else if (segment && segment->isStale) {
    mode = Mode::Record;
    segment->isStale = false;
    segment->works.clear();
    --numNoted;
  } else if (segment) {
    mode = Mode::Follow;
  } else if (numNoted < kMostNoted && alike[mix(before, kind)] < kMostAlike) {
    ++alike[mix(before, kind)];
    mode = Mode::Record;
    segment = segments.emplace(key, std::make_unique<Segment>())->second.get();
    segment->before = before;
  } else {
    mode = Mode::Queue;
  }
}

template <class Same, class Make>
void Graphs::add(uint64_t kind, uint64_t values, Same isSame, Make make) {
  if (at == kMost)
    flush();
  if (mode == Mode::None)
    begin(kind, values, isSame);
  kinds = mix(kinds, kind);
  ++at;
  if (mode == Mode::Follow) {
    if (at <= segment->works.size() && isSame(segment->works[at - 1]))
      return;
    mode = Mode::Queue;
    forget(*segment, at - 1);
  }
  if (mode == Mode::Record)
    note(make());
  queue(mode == Mode::Record ? segment->works.back() : make());
}

void Graphs::launch(int32_t kernel, int32_t count, const uint64_t *values) {
  auto hash = [&] {
    uint64_t sum = 0;
    for (int32_t i = 0; i < count; ++i)
      sum = mix(sum, values[i]);
    return sum;
  };
  add(
      uint64_t(kernel) + 1, mode == Mode::None || at == kMost ? hash() : 0,
      [&](const Work &known) {
        return known.kernel == kernel && known.values.size() == size_t(count) &&
               std::equal(values, values + count, known.values.begin());
      },
      [&] {
        return Work{kernel, {values, values + count}};
      });
}

void Graphs::contract(const ContractCall &call) {
  uint64_t values = mix(mix(reinterpret_cast<uint64_t>(call.a),
                            reinterpret_cast<uint64_t>(call.b)),
                        reinterpret_cast<uint64_t>(call.c));
  add(
      reinterpret_cast<uint64_t>(call.loops), values,
      [&](const Work &known) {
        return known.kernel < 0 && ::isSame(known.product, call);
      },
      [&] {
        return Work{-1, {}, call};
      });
}

void Graphs::flush() {
  Mode ended = std::exchange(mode, Mode::None);
  Segment *known = std::exchange(segment, nullptr);
  size_t calls = std::exchange(at, 0);
  if (ended == Mode::None)
    return;
  before = kinds;
  if (ended == Mode::Record)
    known->kinds = kinds;
  // What is too short is compared again, and queued.
  if (ended != Mode::Follow)
    return;
  if (calls != known->works.size()) {
    forget(*known, calls);
  } else if (calls >= kLeast && makeGraph(*known)) {
    driver.check(driver.cuGraphLaunch(known->graph, stream), "cuGraphLaunch");
    ++numLaunched;
  } else {
    for (const Work &work : known->works)
      queue(work);
  }
}
