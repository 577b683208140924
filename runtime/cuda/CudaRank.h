//===- CudaRank.h - A rank that computes on a GPU ---------------*- C++ -*-===//
//
// Computes on a device. Collectives are messages between devices (Nccl.h) and
// kernels, queued on their streams: the host waits for none. Sums have the bits
// of `--backend threads`. Rows that indices name still go by the host's memory,
// and so does all where several ranks share a GPU.
//

#ifndef DIST_RUNTIME_CUDA_CUDARANK_H
#define DIST_RUNTIME_CUDA_CUDARANK_H

#include "dist/Program.h"
#include "runtime/cuda/DeviceMemory.h"
#include "runtime/cuda/DeviceTrace.h"
#include "runtime/cuda/Graphs.h"
#include "runtime/cuda/Nccl.h"
#include "runtime/cuda/Products.h"
#include "runtime/messages/Exchange.h"
#include "runtime/rank/Rank.h"

#include <array>
#include <deque>
#include <map>
#include <vector>

namespace dist {

class CudaRank final : public Backend {
public:
  /// Gives all ranks what each has, texts of one length; then `text` is all of
  /// them, by rank. False if the run has failed.
  using ExchangeTexts = std::function<bool(std::string &text)>;

  /// Loads the program's kernels, if any, to the device whose number is the
  /// rank's place among those of its machine; the first follows the last. To be
  /// used by the thread that makes it. `host` meets the others. What each step
  /// queues alike is a graph if it `usesGraphs` (Graphs.h). Throws Error.
  CudaRank(const cuda::Driver &driver, const dist_rank &host,
           const Program *program, int64_t placeOnHost,
           const ExchangeTexts &exchange, bool usesGraphs);
  ~CudaRank() override;

  /// What the program is run on.
  dist_rank rank;

  bool collective(const CollectiveCall &call) override;
  bool contract(const ContractCall &call) override;
  bool convolve(const ConvolveCall &call) override;
  bool launch(int32_t kernel, int32_t count, const uint64_t *values) override;
  const void *constant(const void *data, int64_t bytes) override;
  void mark(const char *module) override { marked = module; }

  /// By the host's memory.
  bool send(const TaskMessage &message, const void *data) override;
  std::shared_ptr<void> receive(const TaskMessage &message) override;

  bool eventRecord(int32_t event, int32_t stream) override;
  bool streamWait(int32_t stream, int32_t event) override;
  bool streamSync(int32_t stream) override;

  std::shared_ptr<void> allocate(int64_t bytes) override;
  bool sharesHostMemory() const override { return false; }
  bool upload(void *to, const void *from, int64_t bytes) override;
  bool download(void *to, const void *from, int64_t bytes) override;
  bool readStatus(const int64_t *word, int64_t &value) override;
  std::pmr::memory_resource *peerMemory() override { return host.peerMemory(); }

  bool meet() override { return host.meet(); }
  bool fail(const std::string &message) override {
    return host.fail(rank.doing + message);
  }
  bool failed() const override { return host.failed(); }
  bool finish() override;
  void waitsElsewhere(const std::string &line) override {
    host.waitsElsewhere(line);
  }
  void addTrace(std::vector<TraceEvent> events) override {
    host.addTrace(std::move(events));
  }

private:
  struct Kernel {
    std::string name; // in the PTX
    cuda::Function function;
    unsigned blocks, threads;
  };

  /// Memory of the host that other ranks read.
  class Staging {
  public:
    void *get(Backend &host, int64_t bytes);

  private:
    std::shared_ptr<void> data;
    int64_t size = 0;
  };

  /// A collective that may be under way, and the event behind it.
  struct Pending {
    CollectiveCall call;
    std::vector<int64_t> pairs; // of a permutation
    cuda::Event event;
  };

  void loadKernels(const Program &program);
  void startProducts();
  void queueKernel(int32_t number, int32_t count, const uint64_t *values);
  void queueProduct(const ContractCall &call);
  /// Something else is queued on a stream, or waited for.
  void endSegment(int32_t stream) {
    if (stream == 0 && graphs)
      graphs->flush();
  }
  bool findSharedGpus(const ExchangeTexts &exchange);
  bool connect(const ExchangeTexts &exchange);
  Exchange &exchangeOf(int32_t stream);
  bool byNccl(const CollectiveCall &call, int64_t &sent);
  bool byHost(const CollectiveCall &call, int64_t &sent);
  void addPending(const CollectiveCall &call);
  /// Forgets the first ones that are done, and says what the next one is.
  void settlePending();
  /// Does something that others' failure makes fail. False if another rank has
  /// failed, for the news of which it waits a second. Throws Error for what is
  /// this rank's own.
  bool withOthers(const std::function<bool()> &work);
  cuda::Stream streamOf(int32_t number);
  /// Throws Error, also where another rank has failed.
  bool waitFor(cuda::Stream stream);
  /// Before and after work of a stream is queued, in a traced run.
  void beginTraced(int32_t stream);
  void endTraced(TraceEvent what);

  bool copyFrom(void *to, const void *from, int64_t bytes, int32_t stream);
  bool copyTo(void *to, const void *from, int64_t bytes, int32_t stream);

  const cuda::Driver &driver;
  const Topology &topology;
  Backend &host;
  cuda::Device device = 0;
  cuda::Context context = nullptr;
  cuda::Module module = nullptr;
  std::vector<Kernel> kernels;
  std::array<cuda::Stream, numStreams> streams{};
  std::array<cuda::Event, numEvents> events{};
  Staging given, received, sent;
  /// Memory for messages of tasks, by bytes.
  std::shared_ptr<std::map<int64_t, std::vector<std::shared_ptr<void>>>> slots =
      std::make_shared<std::map<int64_t, std::vector<std::shared_ptr<void>>>>();
  /// In the order in which they were issued, in which they are done.
  std::deque<Pending> pending;
  /// Events for further ones.
  std::vector<cuda::Event> spare;
  bool sharesGpu = false;
  cuda::DeviceTrace trace;
  /// For what comes next.
  const char *marked = nullptr;
  std::unique_ptr<cuda::CollectiveKernels> collectiveKernels;
  std::unique_ptr<cuda::NcclLibrary> library;
  /// Of all ranks, if there are several.
  std::unique_ptr<cuda::Nccl> nccl;
  /// By stream, as they are needed.
  std::array<std::unique_ptr<cuda::DeviceMemory>, numStreams> memories;
  std::array<std::unique_ptr<Exchange>, numStreams> exchanges;
  /// Of stream 0.
  std::unique_ptr<cuda::Graphs> graphs;
  /// Made when it is first needed, with memory that it works in.
  std::unique_ptr<Products> products;
  std::shared_ptr<void> workspace;
  /// By their address on the host, and bytes.
  std::map<std::pair<const void *, int64_t>, std::shared_ptr<void>> constants;
};

} // namespace dist

#endif // DIST_RUNTIME_CUDA_CUDARANK_H
