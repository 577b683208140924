//===- CudaRank.h - A rank that computes on a GPU ---------------*- C++ -*-===//
//
// Computes on a device, and meets other ranks as a rank of the host does:
// operands of collectives go by the host's memory. So sums have the bits of
// `--backend threads`.
//

#ifndef DIST_RUNTIME_CUDA_CUDARANK_H
#define DIST_RUNTIME_CUDA_CUDARANK_H

#include "dist/Program.h"
#include "runtime/cuda/Products.h"
#include "runtime/rank/Rank.h"

#include <array>
#include <map>
#include <vector>

namespace dist {

class CudaRank final : public Backend {
public:
  /// Loads the program's kernels to a device, whose numbers follow ranks'; the
  /// first follows the last. To be used by the thread that makes it. `host`
  /// meets the others. Throws Error.
  CudaRank(const cuda::Driver &driver, const dist_rank &host,
           const Program &program);
  ~CudaRank() override;

  bool collective(const CollectiveCall &call) override;
  bool contract(const ContractCall &call) override;
  bool convolve(const ConvolveCall &call) override;
  bool launch(int32_t kernel, int32_t count, const uint64_t *values) override;
  const void *constant(const void *data, int64_t bytes) override;

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
  bool fail(const std::string &message) override { return host.fail(message); }
  bool failed() const override { return host.failed(); }

private:
  struct Kernel {
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

  void loadKernels(const Program &program);
  cuda::Stream streamOf(int32_t number);

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
  Staging given, received;
  /// Made when it is first needed, with memory that it works in.
  std::unique_ptr<Products> products;
  std::shared_ptr<void> workspace;
  /// By their address on the host, and bytes.
  std::map<std::pair<const void *, int64_t>, std::shared_ptr<void>> constants;
};

} // namespace dist

#endif // DIST_RUNTIME_CUDA_CUDARANK_H
