//===- HostStreams.cpp - Streams and events of a rank ---------------------===//
//
// Stream 0 is the rank's own thread; each other is a thread that does its tasks
// in order.
//
//===----------------------------------------------------------------------===//

#include "dist/Signals.h"
#include "runtime/local/HostRank.h"

#include <cstring>
#include <exception>

using namespace dist;

Stream &HostRank::open(int32_t index) {
  std::unique_ptr<Stream> &stream = streams[index];
  if (!stream) {
    stream = std::make_unique<Stream>();
    stream->completed = &run.completedOf(this->index, index);
    if (options.streams.hasThreads())
      stream->thread = StackThread([this, &stream, index] {
        Waiting::takeSlot(this->index * numStreams + index);
        serve(*stream);
      });
  }
  return *stream;
}

void HostRank::submit(int32_t index, std::function<bool()> task) {
  Stream &stream = open(index);
  if (!options.streams.hasThreads()) {
    stream.tasks.push_back(std::move(task));
    stream.submitted.advance();
    if (options.streams.doesAtOnce(numSubmitted++))
      doTasks(stream, stream.submitted.load());
    return;
  }
  {
    std::lock_guard<std::mutex> lock(stream.mutex);
    stream.tasks.push_back(std::move(task));
    if (!stream.busy) {
      stream.busy = true;
      run.waiting->enter();
    }
  }
  stream.submitted.advance();
}

/// After a failure the tasks are counted off undone, so that nobody waits for
/// them.
void HostRank::doTask(Stream &stream, const std::function<bool()> &task) {
  if (!failed()) {
    try {
      task();
    } catch (const std::exception &e) {
      fail(e.what());
    }
  }
  stream.completed->advance();
}

static bool isReached(uint32_t at, uint32_t count) {
  return static_cast<int32_t>(at - count) <= 0;
}

void HostRank::doTasks(Stream &stream, uint32_t at) {
  while (!isReached(at, stream.completed->load())) {
    std::function<bool()> task = std::move(stream.tasks.front());
    stream.tasks.pop_front();
    doTask(stream, task);
  }
}

void HostRank::serve(Stream &stream) {
  describeThread(topology.describe(index));
  takeShortTurns();
  // On its rank's core, which the thread inherits, unless every rank can have
  // a second one.
  if (2 * topology.mesh.size() <= int64_t(run.cpus.size()))
    pinTo(run.cpus[topology.mesh.size() + index]);
  while (true) {
    uint32_t seen = stream.submitted.load();
    std::function<bool()> task;
    {
      std::lock_guard<std::mutex> lock(stream.mutex);
      if (!stream.tasks.empty()) {
        task = std::move(stream.tasks.front());
        stream.tasks.pop_front();
      } else if (stream.closing) {
        return;
      }
    }
    if (!task) {
      Waiting::idle(stream.submitted, seen);
      continue;
    }
    doTask(stream, task);
    std::lock_guard<std::mutex> lock(stream.mutex);
    if (stream.tasks.empty()) {
      stream.busy = false;
      run.waiting->leave();
    }
  }
}

/// Waits until `stream` has completed as much as an event recorded.
bool HostRank::waitFor(int32_t index, uint32_t at) {
  Stream &stream = *streams[index];
  if (!options.streams.hasThreads())
    doTasks(stream, at);
  while (true) {
    uint32_t seen = stream.completed->load();
    if (isReached(at, seen))
      return land(stream, at);
    if (!run.waiting->wait(*stream.completed, seen, [this, index] {
          return topology.describe(this->index) + " waits for stream " +
                 std::to_string(index);
        }))
      return false;
  }
}

/// Collectives that have been waited for are not in flight any more.
bool HostRank::land(Stream &stream, uint32_t at) {
  while (!stream.flights.empty() && isReached(stream.flights.front().at, at)) {
    std::string wrong = stream.flights.front().check();
    stream.flights.pop_front();
    if (!wrong.empty() && !failed())
      return fail(wrong);
  }
  return !failed();
}

bool HostRank::eventRecord(int32_t event, int32_t stream) {
  // Stream 0 has always done all that was issued.
  uint32_t at =
      stream && streams[stream] ? streams[stream]->submitted.load() : 0;
  events[event] = {streams[stream] ? stream : 0, at};
  return true;
}

bool HostRank::streamWait(int32_t stream, int32_t event) {
  endKernel();
  Event source = events[event];
  if (source.stream == 0 || source.stream == stream)
    return true;
  if (stream == 0)
    return waitFor(source.stream, source.at);
  submit(stream, [this, stream, source] {
    bool isThere =
        isReached(source.at, streams[source.stream]->completed->load());
    bool ok = waitFor(source.stream, source.at);
    if (!isThere)
      work[stream].readyAt = nowNanos();
    return ok;
  });
  return true;
}

bool HostRank::streamSync(int32_t stream) {
  endKernel();
  if (stream == 0 || !streams[stream])
    return true;
  return waitFor(stream, streams[stream]->submitted.load());
}

void HostRank::closeStreams() {
  for (int32_t i = 1; i < numStreams; ++i) {
    if (!streams[i])
      continue;
    streamSync(i);
    {
      std::lock_guard<std::mutex> lock(streams[i]->mutex);
      streams[i]->closing = true;
    }
    streams[i]->submitted.advance();
    if (streams[i]->thread.joinable())
      streams[i]->thread.join();
  }
}
