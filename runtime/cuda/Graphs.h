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

  /// Whether anything is put off.
  bool isPutOff() const { return mode == Mode::Follow; }
  /// How many graphs have been launched.
  int64_t launched() const { return numLaunched; }

private:
  struct Segment {
    /// That of the segment before, by what it is made of.
    uint64_t before = 0;
    std::vector<Work> works;
    uint64_t content = 0;
    /// Whether it is the same each time, as far as is known.
    bool isSteady = true;
    GraphExec graph = nullptr;
  };
  enum class Mode {
    None,   // no segment has begun
    Record, // it is new: what comes is queued, and noted
    Follow, // it is known: what comes is compared, and put off
    Queue   // what comes is queued
  };

  template <class Hash, class Same, class Make>
  void add(Hash hash, Same isSame, Make make);
  void launchGraph(Segment &known);
  void forget(Segment &known, size_t putOff);

  const Driver &driver;
  const Stream stream;
  const std::function<void(const Work &)> queue;
  /// By `before` and the first of `works`.
  std::unordered_multimap<uint64_t, std::unique_ptr<Segment>> segments;
  Mode mode = Mode::None;
  Segment *segment = nullptr;
  size_t at = 0;
  /// What the last segment was made of.
  uint64_t before = 0;
  size_t numNoted = 0;
  int64_t numLaunched = 0;
};

} // namespace dist::cuda

#endif // DIST_RUNTIME_CUDA_GRAPHS_H
