//===- Graphs.cpp - What every step queues alike, as graphs ---------------===//

#include "runtime/cuda/Graphs.h"

#include <algorithm>
#include <utility>

using namespace dist;
using namespace dist::cuda;

/// Work that is noted: a program may have loops that never queue the same.
static constexpr size_t kMostNoted = 1 << 18;
/// What a graph is worth while.
static constexpr size_t kLeast = 2;

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0xbf58476d1ce4e5b9ull;
  return hash ^ hash >> 29;
}

static uint64_t hashOf(int32_t kernel, int32_t count, const uint64_t *values) {
  uint64_t hash = mix(0x9e3779b97f4a7c15ull, kernel);
  for (int32_t i = 0; i < count; ++i)
    hash = mix(hash, values[i]);
  return hash;
}

static uint64_t hashOf(const ContractCall &call) {
  uint64_t values[] = {reinterpret_cast<uint64_t>(call.loops),
                       reinterpret_cast<uint64_t>(call.a),
                       reinterpret_cast<uint64_t>(call.b),
                       reinterpret_cast<uint64_t>(call.c)};
  return hashOf(-1, 4, values);
}

static uint64_t hashOf(const Graphs::Work &work) {
  return work.kernel < 0
             ? hashOf(work.product)
             : hashOf(work.kernel, work.values.size(), work.values.data());
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

void Graphs::launchGraph(Segment &known) {
  if (!known.graph) {
    // The driver has no other way to make one of what a library queues.
    Graph graph = nullptr;
    driver.check(driver.cuStreamBeginCapture(stream, CaptureThreadLocal),
                 "cuStreamBeginCapture");
    try {
      for (const Work &work : known.works)
        queue(work);
    } catch (...) {
      driver.cuStreamEndCapture(stream, &graph);
      throw;
    }
    driver.check(driver.cuStreamEndCapture(stream, &graph),
                 "cuStreamEndCapture");
    Result made = driver.cuGraphInstantiateWithFlags(&known.graph, graph, 0);
    driver.cuGraphDestroy(graph);
    driver.check(made, "cuGraphInstantiateWithFlags");
  }
  driver.check(driver.cuGraphLaunch(known.graph, stream), "cuGraphLaunch");
  ++numLaunched;
}

/// It is not the same each time; the first works have been put off.
void Graphs::forget(Segment &known, size_t putOff) {
  known.isSteady = false;
  for (size_t i = 0; i < putOff; ++i)
    queue(known.works[i]);
  if (GraphExec graph = std::exchange(known.graph, nullptr))
    driver.check(driver.cuGraphExecDestroy(graph), "cuGraphExecDestroy");
  // By the first one it is found.
  numNoted -= known.works.size() - 1;
  known.works.resize(1);
}

template <class Hash, class Same, class Make>
void Graphs::add(Hash hash, Same isSame, Make make) {
  if (mode == Mode::None) {
    uint64_t key = mix(before, hash());
    auto [first, last] = segments.equal_range(key);
    for (auto it = first; it != last && !segment; ++it)
      if (it->second->before == before && isSame(it->second->works[0]))
        segment = it->second.get();
    mode = segment && segment->isSteady ? Mode::Follow : Mode::Queue;
    at = 0;
    if (!segment && numNoted < kMostNoted) {
      segment =
          segments.emplace(key, std::make_unique<Segment>())->second.get();
      segment->before = before;
      mode = Mode::Record;
    }
  }
  if (mode == Mode::Follow) {
    if (at < segment->works.size() && isSame(segment->works[at])) {
      ++at;
      return;
    }
    mode = Mode::Queue;
    forget(*segment, at);
  }
  if (mode == Mode::Record) {
    segment->works.push_back(make());
    ++numNoted;
    queue(segment->works.back());
  } else {
    queue(make());
  }
}

void Graphs::launch(int32_t kernel, int32_t count, const uint64_t *values) {
  add([&] { return hashOf(kernel, count, values); },
      [&](const Work &known) {
        return known.kernel == kernel && known.values.size() == size_t(count) &&
               std::equal(values, values + count, known.values.begin());
      },
      [&] {
        return Work{kernel, {values, values + count}};
      });
}

void Graphs::contract(const ContractCall &call) {
  add([&] { return hashOf(call); },
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
  if (ended == Mode::None)
    return;
  if (ended == Mode::Record) {
    for (const Work &work : known->works)
      known->content = mix(known->content, hashOf(work));
    known->isSteady = known->works.size() >= kLeast;
  }
  before = known ? known->content : 0;
  if (ended != Mode::Follow)
    return;
  if (at == known->works.size())
    launchGraph(*known);
  else
    forget(*known, at);
}
