//===- Graphs.h - What every step queues alike, as graphs -------*- C++ -*-===//
//
// Kernels and products that a rank queues between two collectives, copies or
// events are a segment. A segment that comes again is given to the driver as a
// graph. From then on a call is only compared with what the segment has, and
// the graph is launched at its end. What differs is queued as it comes.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_CUDA_GRAPHS_H
#define DIST_RUNTIME_CUDA_GRAPHS_H

#include "runtime/cuda/Driver.h"
#include "runtime/rank/Rank.h"

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

namespace dist::cuda {

class Graphs {
public:
  /// A kernel by its number, or a product. The arguments of both are values
  /// that stay, and memory.
  struct Work {
    int32_t kernel = -1; // -1: the product
    std::vector<uint64_t> values;
    ContractCall product = {};
  };

  /// `queue` queues work on `stream`; the same again when it is captured.
  Graphs(const Driver &driver, Stream stream,
         std::function<void(const Work &)> queue)
      : driver(driver), stream(stream), queue(std::move(queue)) {}
  ~Graphs();
  Graphs(const Graphs &) = delete;

  // Queue work, or put it off until the segment ends. Throw Error.
  void launch(int32_t kernel, int32_t count, const uint64_t *values);
  void contract(const ContractCall &call);
  /// The segment ends: all of it is queued. To be called before anything else
  /// is queued on the stream, or waits for it. Throws Error.
  void flush();

  /// How many graphs have been launched.
  int64_t launched() const { return numLaunched; }

private:
  struct Segment {
    /// The kernels and tables of the segment before, without their values.
    uint64_t before = 0;
    std::vector<Work> works;
    /// Those of this one.
    uint64_t kinds = 0;
    /// How often it was another one than noted; from kMostDiffer on it is no
    /// graph.
    int differed = 0;
    /// Whether it is to be noted again; its first work is there.
    bool isStale = false;
    GraphExec graph = nullptr;
  };
  enum class Mode {
    None,   // no segment has begun
    Record, // what comes is queued, and noted
    Follow, // it is known: what comes is compared, and put off
    Queue   // what comes is queued
  };

  template <class Same, class Make>
  void add(uint64_t kind, uint64_t values, Same isSame, Make make);
  template <class Same> void begin(uint64_t kind, uint64_t values, Same isSame);
  void note(Work work);
  bool makeGraph(Segment &known);
  void forget(Segment &known, size_t putOff);

  const Driver &driver;
  const Stream stream;
  const std::function<void(const Work &)> queue;
  /// By `before` and the first of `works`, with its values.
  std::unordered_multimap<uint64_t, std::unique_ptr<Segment>> segments;
  /// How many there are by `before` and the first, without its values.
  std::unordered_map<uint64_t, int> alike;
  Mode mode = Mode::None;
  Segment *segment = nullptr;
  /// Of the segment: its calls so far, without values; how many.
  uint64_t kinds = 0;
  size_t at = 0;
  uint64_t before = 0;
  size_t numNoted = 0, numGraphs = 0;
  int64_t numLaunched = 0;
};

} // namespace dist::cuda

#endif // DIST_RUNTIME_CUDA_GRAPHS_H
