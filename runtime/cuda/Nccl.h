//===- Nccl.h - Messages between GPUs ---------------------------*- C++ -*-===//
//
// NCCL moves bytes: sends and receives in groups. What is added up is added up
// by kernels of ours (DeviceMemory.h), since NCCL's reductions have an order of
// their own, lose NaN in maxima, and lack types.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_CUDA_NCCL_H
#define DIST_RUNTIME_CUDA_NCCL_H

#include "runtime/cuda/Driver.h"
#include "runtime/cuda/NcclApi.h"
#include "runtime/messages/PointToPoint.h"

#include <functional>
#include <string>

namespace dist::cuda {

/// The library. It stays loaded until the process ends.
class NcclLibrary : public NcclFunctions {
public:
  /// Of the emulated driver its stand-in. Throws Error.
  explicit NcclLibrary(const Driver &driver);

  /// As NCCL has it; and "2.28.3".
  int version = 0;
  static std::string nameOf(int version);

  /// Throws Error if a call has failed: `doing`, and the library's own words.
  void check(NcclResult result, const std::string &doing) const;
};

/// All ranks of a run, in one communicator. A channel is a stream.
class Nccl final : public PointToPoint {
public:
  /// Returns when all ranks have come; rank 0 has made the id. Throws Error.
  Nccl(const NcclLibrary &library, const NcclId &id, int64_t rank,
       int64_t ranks, std::function<Stream(int32_t channel)> streamOf);
  ~Nccl() override;

  /// Queues them on the channel's stream, together.
  void start(int32_t channel, const std::vector<Outgoing> &sends,
             const std::vector<Incoming> &receives,
             Requests &requests) override;
  /// Nothing: what comes next is queued behind.
  bool wait(Requests &, const Waiting &) override { return true; }
  void poll(Requests &requests) override { requests.clear(); }

  /// Throws Error if something has failed meanwhile.
  void check() const;

  /// Ends the communicator of all ranks, which all call. Throws Error.
  void finish();

private:
  const NcclLibrary &library;
  std::function<Stream(int32_t)> streamOf;
  NcclComm comm = nullptr;
};

} // namespace dist::cuda

#endif // DIST_RUNTIME_CUDA_NCCL_H
