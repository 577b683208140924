//===- Ranks.h - Runs a lambda on every rank of a small mesh ----*- C++ -*-===//

#ifndef DIST_TEST_RUNTIME_RANKS_H
#define DIST_TEST_RUNTIME_RANKS_H

#include "ForkedMemory.h"
#include "Mailbox.h"
#include "runtime/cuda/CudaRank.h"
#include "runtime/messages/MessagesRun.h"
#include "runtime/processes/ProcessesRun.h"
#include "runtime/threads/ThreadsRun.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

namespace dist::test {

/// A mesh with axes a, b, c, … of the given sizes.
inline Mesh makeMesh(const std::vector<int64_t> &sizes) {
  Mesh mesh;
  for (size_t i = 0; i < sizes.size(); ++i)
    mesh.axes.push_back({std::string(1, static_cast<char>('a' + i)), sizes[i]});
  return mesh;
}

/// The part `size` of an axis, after `pre`.
inline AxisRef part(const Mesh &mesh, int32_t axis, int64_t pre, int64_t size) {
  return {axis, pre, size, mesh.axes[axis].size / (pre * size)};
}

inline Topology makeTopology(const Mesh &mesh,
                             const std::vector<std::vector<AxisRef>> &comms) {
  Topology topology;
  topology.mesh = mesh;
  for (const std::vector<AxisRef> &refs : comms)
    topology.comms.emplace_back(mesh, refs);
  return topology;
}

/// One axis of `ranks` ranks, and communicator 0 over all of them.
inline Topology line(int64_t ranks) {
  Mesh mesh = makeMesh({ranks});
  return makeTopology(mesh, {{mesh.whole(0)}});
}

/// Runs `body` on all ranks of `topology`; returns the failure's message, "" if
/// there is none.
template <class Body>
std::string runThreads(const Topology &topology, Body body) {
  ThreadsRun run(topology);
  bool ok = run.run([&](dist_rank &rank) -> int32_t { return body(&rank); });
  return ok ? "" : run.message();
}

/// The same, for ranks that send messages, by a library that also `reduces`.
template <class Body>
std::string runMessages(const Topology &topology, Body body,
                        bool reduces = false) {
  Mailbox box(reduces ? &topology : nullptr);
  std::deque<Mailbox::Link> links;
  MessagesRun::Links ofRanks;
  for (int64_t rank = 0; rank < topology.mesh.size(); ++rank)
    ofRanks.emplace_back(rank, &links.emplace_back(box, rank));
  MessagesRun run(topology, {}, ofRanks, 1);
  bool ok = run.run([&](dist_rank &rank) -> int32_t { return body(&rank); });
  return ok ? "" : run.message();
}

/// Collectives on a GPU, of operands of the host: these are copied there, and
/// results back. All else is the host's.
class OnDevice final : public Backend {
public:
  OnDevice(const cuda::Driver &driver, dist_rank &rank,
           const CudaRank::ExchangeTexts &exchange)
      : topology(rank.topology), host(rank.backend),
        device(driver, rank, /*program=*/nullptr, rank.index, exchange,
               /*usesGraphs=*/false) {}

  bool collective(const CollectiveCall &call) override {
    auto [in, out] = bytesOf(call, topology.comms[call.comm]);
    bool isInPlace = call.in == call.out;
    std::shared_ptr<void> given =
        device.allocate(isInPlace ? std::max(in, out) : in);
    std::shared_ptr<void> made = isInPlace ? given : device.allocate(out);
    CollectiveCall there = call;
    there.in = given.get();
    there.out = made.get();
    // Parts of a result may be left as they were.
    return device.upload(made.get(), call.out, out) &&
           device.upload(given.get(), call.in, in) &&
           device.collective(there) && device.streamSync(call.stream) &&
           device.download(call.out, made.get(), out);
  }
  bool contract(const ContractCall &call) override {
    return host.contract(call);
  }
  bool convolve(const ConvolveCall &call) override {
    return host.convolve(call);
  }
  bool eventRecord(int32_t event, int32_t stream) override {
    return host.eventRecord(event, stream);
  }
  bool streamWait(int32_t stream, int32_t event) override {
    return host.streamWait(stream, event);
  }
  bool streamSync(int32_t stream) override { return host.streamSync(stream); }
  std::shared_ptr<void> allocate(int64_t bytes) override {
    return host.allocate(bytes);
  }
  bool sharesHostMemory() const override { return true; }
  bool upload(void *to, const void *from, int64_t bytes) override {
    return host.upload(to, from, bytes);
  }
  bool download(void *to, const void *from, int64_t bytes) override {
    return host.download(to, from, bytes);
  }
  bool readStatus(const int64_t *word, int64_t &value) override {
    return host.readStatus(word, value);
  }
  std::pmr::memory_resource *peerMemory() override { return host.peerMemory(); }
  bool meet() override { return host.meet(); }
  bool fail(const std::string &message) override { return host.fail(message); }
  bool failed() const override { return host.failed(); }

private:
  const Topology &topology;
  Backend &host;
  CudaRank device;
};

/// The same, for ranks that are processes, each with an emulated GPU if they
/// are `onDevices`. What a test finds wrong in one of them fails the run.
template <class Body>
std::string runProcesses(const Topology &topology, Body body,
                         int milliseconds = 20000, bool onDevices = false) {
  std::string message;
  withOwnMemory([&] {
    ProcessesRun run(topology, {}, 1 << 22, 1 << 16,
                     std::chrono::milliseconds(milliseconds),
                     std::chrono::milliseconds(milliseconds));
    run.answer = [](int64_t, Message) { return std::nullopt; };
    bool ok = run.run([&](dist_rank &host) {
      std::unique_ptr<OnDevice> device;
      if (onDevices)
        device = std::make_unique<OnDevice>(
            *new cuda::Driver("tools/dist-driver-emulated.so"), host,
            [&](std::string &text) { return run.exchange(host, text); });
      dist_rank withDevice(host.topology, host.index,
                           device ? *device : host.backend);
      dist_rank &rank = device ? withDevice : host;
      int32_t status = 0;
      withForkedMemory([&] { status = body(&rank); });
      if (testing::Test::HasFailure())
        throw Error("its test has failed");
      return status;
    });
    message = ok ? "" : run.message();
  });
  return message;
}

/// What ranks may be.
enum class Way { Threads, Messages, Processes, Devices };

inline std::string nameOf(const testing::TestParamInfo<Way> &info) {
  const char *const names[] = {"Threads", "Messages", "Processes", "Devices"};
  return names[static_cast<int>(info.param)];
}

/// Those of `wanted` that can be: see ForkedMemory.h.
inline std::vector<Way> possible(std::vector<Way> wanted) {
  if (!forkedMemoryHasNew)
    std::erase_if(wanted, [](Way way) {
      return way == Way::Processes || way == Way::Devices;
    });
  return wanted;
}

/// Tests whose ranks are what the parameter says, in `runRanks`.
class OnRanks : public testing::TestWithParam<Way> {
public:
  static inline Way way;

protected:
  void SetUp() override { way = GetParam(); }
};

/// `suite` is made of TEST_P, whose ranks are threads, processes, ….
#define DIST_ON_RANKS(suite, ...)                                              \
  using suite = ::dist::test::OnRanks;                                         \
  INSTANTIATE_TEST_SUITE_P(                                                    \
      , suite, testing::ValuesIn(::dist::test::possible({__VA_ARGS__})),       \
      ::dist::test::nameOf)

template <class Body>
std::string runRanks(const Topology &topology, Body body) {
  switch (OnRanks::way) {
  case Way::Threads:
    return runThreads(topology, body);
  case Way::Messages:
    return runMessages(topology, body);
  case Way::Processes:
    return runProcesses(topology, body);
  case Way::Devices:
    return runProcesses(topology, body, 20000, /*onDevices=*/true);
  }
}

/// Fails the run, as the host side of the runtime does; returns a status.
inline int32_t fail(dist_rank *rank, const char *message) {
  return rank->backend.fail(message) ? 0 : 1;
}

/// Waits for the work of a stream; returns a status.
inline int32_t sync(dist_rank *rank, int32_t stream) {
  return rank->backend.streamSync(stream) ? 0 : 1;
}

/// Whether `message` contains all of `parts`.
inline testing::AssertionResult
mentions(const std::string &message, const std::vector<std::string> &parts) {
  for (const std::string &part : parts)
    if (message.find(part) == std::string::npos)
      return testing::AssertionFailure()
             << "'" << part << "' is not in: " << message;
  return testing::AssertionSuccess();
}

} // namespace dist::test

#endif // DIST_TEST_RUNTIME_RANKS_H
