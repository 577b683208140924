//===- Nccl.cpp - Messages between GPUs -----------------------------------===//

#include "runtime/cuda/Nccl.h"
#include "dist/Tensor.h"
#include "runtime/cuda/Library.h"

#include <cstdlib>
#include <dlfcn.h>
#include <utility>

using namespace dist;
using namespace dist::cuda;

/// The first one with sends and receives.
static constexpr int kOldest = 2700;

/// Before 2.9 a version is 2700, then 22600.
std::string NcclLibrary::nameOf(int version) {
  int unit = version < 10000 ? 1000 : 10000;
  return std::to_string(version / unit) + "." +
         std::to_string(version % unit / 100) + "." +
         std::to_string(version % 100);
}

NcclLibrary::NcclLibrary(const Driver &driver) {
  if (const char *blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
      blocking && std::string(blocking) == "1" && !driver.isEmulated())
    throw Error("CUDA_LAUNCH_BLOCKING=1: NCCL hangs with it; unset it");
  void *library =
      driver.isEmulated()
          ? driver.library()
          : loadLibrary({{"libnccl.so.2"},
                         {"nccl"},
                         "NCCL (NVIDIA's toolkit; pip install nvidia-nccl-cu13 "
                         "or nvidia-nccl-cu12)"});
#define DIST_NCCL_FIND(name, result, parameters)                               \
  name = reinterpret_cast<decltype(name)>(dlsym(library, #name));              \
  if (!name)                                                                   \
    throw Error("NCCL has no " #name);
  DIST_NCCL_FUNCTIONS(DIST_NCCL_FIND)
#undef DIST_NCCL_FIND
  check(ncclGetVersion(&version), "the version");
  if (version < kOldest)
    throw Error("NCCL is version " + nameOf(version) +
                ": 2.7 or a later one is needed");
}

void NcclLibrary::check(NcclResult result, const std::string &doing) const {
  if (result == NcclSuccess)
    return;
  const char *more = ncclGetLastError(nullptr);
  throw Error("NCCL: " + doing + ": " + ncclGetErrorString(result) +
              (more && *more ? std::string(": ") + more : ""));
}

Nccl::Nccl(const NcclLibrary &library, const NcclId &id, int64_t rank,
           int64_t ranks, std::function<Stream(int32_t)> streamOf)
    : library(library), streamOf(std::move(streamOf)) {
  library.check(library.ncclCommInitRank(&comm, ranks, id, rank),
                "no communicator of the ranks");
}

Nccl::~Nccl() {
  // Others may be gone: to destroy it would wait for them.
  if (comm)
    library.ncclCommAbort(comm);
}

void Nccl::finish() {
  library.check(library.ncclCommDestroy(std::exchange(comm, nullptr)),
                "ncclCommDestroy");
}

void Nccl::start(int32_t channel, const std::vector<Outgoing> &sends,
                 const std::vector<Incoming> &receives, Requests &) {
  if (sends.empty() && receives.empty())
    return;
  Stream stream = streamOf(channel);
  library.check(library.ncclGroupStart(), "ncclGroupStart");
  for (const Outgoing &one : sends)
    library.check(
        library.ncclSend(one.data, one.bytes, NcclInt8, one.rank, comm, stream),
        "ncclSend");
  for (const Incoming &one : receives)
    library.check(
        library.ncclRecv(one.data, one.bytes, NcclInt8, one.rank, comm, stream),
        "ncclRecv");
  library.check(library.ncclGroupEnd(), "ncclGroupEnd");
}

void Nccl::check() const {
  NcclResult error = NcclSuccess;
  library.check(library.ncclCommGetAsyncError(comm, &error),
                "ncclCommGetAsyncError");
  if (error != NcclInProgress)
    library.check(error, "a message between GPUs");
}
