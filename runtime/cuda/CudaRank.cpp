//===- CudaRank.cpp - A rank that computes on a GPU -----------------------===//

#include "runtime/cuda/CudaRank.h"
#include "dist/Tensor.h"
#include "runtime/rank/ContractLoops.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <set>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

using namespace dist;
using namespace dist::cuda;
using namespace std::chrono_literals;

static DevicePtr addressOf(const void *pointer) {
  return reinterpret_cast<DevicePtr>(pointer);
}

CudaRank::CudaRank(const Driver &driver, const dist_rank &host,
                   const Program *program, int64_t placeOnHost,
                   const ExchangeTexts &exchange, bool usesGraphs)
    : rank(host.topology, host.index, *this), driver(driver),
      topology(host.topology), host(host.backend), trace(driver) {
  int count = 0;
  driver.check(driver.cuDeviceGetCount(&count), "the number of GPUs");
  if (count == 0)
    throw Error("the driver knows of no GPU on this machine");
  driver.check(driver.cuDeviceGet(&device, placeOnHost % count), "no GPU");
  driver.check(driver.cuDevicePrimaryCtxRetain(&context, device),
               "no context of the GPU");
  driver.check(driver.cuCtxSetCurrent(context), "no context of the GPU");
  if (program) {
    loadKernels(*program);
    if (dlsym(program->code.get(), "dist_products"))
      startProducts();
    if (usesGraphs)
      graphs = std::make_unique<Graphs>(
          driver, streamOf(0), [this](const Graphs::Work &work) {
            if (work.kernel < 0)
              queueProduct(work.product);
            else
              queueKernel(work.kernel, work.values.size(), work.values.data());
          });
  }
  if (topology.comms.empty())
    return;
  bool isAlone = topology.mesh.size() == 1;
  auto begin = [&] {
    if (!isAlone && !findSharedGpus(exchange))
      return false;
    if (sharesGpu)
      return true;
    collectiveKernels = std::make_unique<CollectiveKernels>(driver);
    return isAlone || connect(exchange);
  };
  if (!withOthers(begin))
    throw Error("another rank has failed");
}

/// What each rank has, of what all have exchanged.
template <class T>
static bool exchangeAll(const CudaRank::ExchangeTexts &exchange, const T &own,
                        std::vector<T> &all) {
  std::string text(reinterpret_cast<const char *>(&own), sizeof own);
  if (!exchange(text))
    return false;
  all.resize(text.size() / sizeof own);
  std::memcpy(static_cast<void *>(all.data()), text.data(),
              all.size() * sizeof own);
  return true;
}

/// NCCL wants a GPU for each rank.
bool CudaRank::findSharedGpus(const ExchangeTexts &exchange) {
  Uuid own{};
  driver.check(driver.cuDeviceGetUuid(&own, device), "the GPU's name");
  std::vector<Uuid> all;
  if (!exchangeAll(exchange, own, all))
    return false;
  // Each process of the emulated driver has a GPU of its own.
  std::set<std::string_view> gpus;
  for (const Uuid &one : all)
    sharesGpu |= !gpus.insert({one.bytes, sizeof one.bytes}).second &&
                 !driver.isEmulated();
  if (sharesGpu && rank.index == 0)
    std::fputs("note: several ranks share a GPU: collectives go through the "
               "host's memory, not by NCCL\n",
               stderr);
  return true;
}

/// All ranks of the run, in one communicator. They have met, and sent each
/// other something, before the first step: so no connection is made beside work
/// that waits for others.
bool CudaRank::connect(const ExchangeTexts &exchange) {
  int64_t ranks = topology.mesh.size();
  library = std::make_unique<NcclLibrary>(driver);
  struct Card {
    NcclId id;
    int version;
  } own{{}, library->version};
  if (rank.index == 0)
    library->check(library->ncclGetUniqueId(&own.id), "ncclGetUniqueId");
  std::vector<Card> all;
  if (!exchangeAll(exchange, own, all))
    return false;
  for (int64_t other = 0; other < ranks; ++other)
    if (all[other].version != all[0].version)
      throw Error(topology.describe(other) + " has NCCL " +
                  NcclLibrary::nameOf(all[other].version) + ", and " +
                  topology.describe(0) + " has " +
                  NcclLibrary::nameOf(all[0].version) + ": all need the same");
  std::string name = topology.describe(rank.index);
  host.waitsElsewhere(name + " waits in ncclCommInitRank");
  nccl = std::make_unique<Nccl>(
      *library, all[0].id, rank.index, ranks,
      [this](int32_t channel) { return streamOf(channel); });
  std::shared_ptr<void> bytes = allocate(2 * ranks);
  char *data = static_cast<char *>(bytes.get());
  std::vector<PointToPoint::Outgoing> sends;
  std::vector<PointToPoint::Incoming> receives;
  PointToPoint::Requests requests;
  for (int64_t other = 0; other < ranks; ++other)
    if (other != rank.index) {
      sends.push_back({other, data + other, 1});
      receives.push_back({other, data + ranks + other, 1});
    }
  host.waitsElsewhere(name + " waits for its first messages");
  nccl->start(0, sends, receives, requests);
  if (!streamSync(0))
    return false;
  host.waitsElsewhere("");
  return host.meet();
}

bool CudaRank::finish() {
  host.addTrace(trace.take());
  if (!host.finish())
    return false;
  if (!nccl)
    return true;
  // Others may still take what this rank has sent.
  if (!host.meet())
    return false;
  host.waitsElsewhere(topology.describe(rank.index) +
                      " waits in ncclCommDestroy");
  bool ok = withOthers([&] {
    nccl->finish();
    return true;
  });
  host.waitsElsewhere("");
  return ok;
}

CudaRank::~CudaRank() {
  // While there is a context to free memory in. Graphs before what they use.
  graphs.reset();
  slots->clear();
  for (auto &exchange : exchanges)
    exchange.reset();
  for (auto &memory : memories)
    memory.reset();
  nccl.reset();
  collectiveKernels.reset();
  products.reset();
  workspace.reset();
  constants.clear();
  for (const Pending &one : pending)
    spare.push_back(one.event);
  spare.insert(spare.end(), events.begin(), events.end());
  for (Event event : spare)
    if (event)
      driver.cuEventDestroy(event);
  for (Stream stream : streams)
    if (stream)
      driver.cuStreamDestroy(stream);
  if (module)
    driver.cuModuleUnload(module);
  driver.cuDevicePrimaryCtxRelease(device);
}

void CudaRank::loadKernels(const Program &program) {
  auto find = [&](const char *name) {
    auto text = static_cast<const char *>(dlsym(program.code.get(), name));
    if (!text)
      throw Error(std::string("the program has no ") + name +
                  ": it is not compiled for --target cuda");
    return text;
  };
  const char *code = find("dist_device_code");
  std::istringstream lines(find("dist_kernels"));
  if (!*code)
    return;
  std::string log(16 << 10, '\0');
  JitOption options[] = {JitErrorLog, JitErrorLogBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  Result result = driver.cuModuleLoadDataEx(&module, code, 2, options, values);
  driver.check(result, "the GPU's driver does not take the kernels" +
                           (log[0] ? ": " + std::string(log.c_str()) : ""));
  Kernel kernel;
  while (lines >> kernel.name >> kernel.blocks >> kernel.threads) {
    driver.check(driver.cuModuleGetFunction(&kernel.function, module,
                                            kernel.name.c_str()),
                 "no kernel " + kernel.name);
    kernels.push_back(kernel);
  }
}

Stream CudaRank::streamOf(int32_t number) {
  Stream &stream = streams[number];
  if (!stream)
    driver.check(driver.cuStreamCreate(&stream, StreamNonBlocking),
                 "no stream of the GPU");
  return stream;
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

void CudaRank::beginTraced(int32_t stream) {
  if (rank.tracing)
    trace.begin(streamOf(stream));
}

void CudaRank::endTraced(TraceEvent what) {
  what.rank = rank.index;
  if (const char *module = std::exchange(marked, nullptr); what.site < 0)
    what.module = module ? module : "";
  Stream stream = streamOf(what.stream);
  trace.end(std::move(what), stream);
}

void CudaRank::queueKernel(int32_t number, int32_t count,
                           const uint64_t *values) {
  const Kernel &kernel = kernels[number];
  std::vector<void *> parameters(count);
  for (int32_t i = 0; i < count; ++i)
    parameters[i] = const_cast<uint64_t *>(values + i);
  driver.check(driver.cuLaunchKernel(kernel.function, kernel.blocks, 1, 1,
                                     kernel.threads, 1, 1, /*sharedBytes=*/0,
                                     streamOf(0), parameters.data(), nullptr),
               "launch of kernel " + std::to_string(number));
}

bool CudaRank::launch(int32_t number, int32_t count, const uint64_t *values) {
  if (number < 0 || size_t(number) >= kernels.size())
    return fail("kernel " + std::to_string(number) + " does not exist");
  if (graphs && !rank.tracing) {
    graphs->launch(number, count, values);
    return true;
  }
  beginTraced(0);
  queueKernel(number, count, values);
  if (rank.tracing)
    endTraced({.name = kernels[number].name});
  return true;
}

const void *CudaRank::constant(const void *data, int64_t bytes) {
  std::shared_ptr<void> &there = constants[{data, bytes}];
  if (there)
    return there.get();
  std::shared_ptr<void> made = allocate(bytes);
  if (!upload(made.get(), data, bytes))
    return nullptr;
  there = std::move(made);
  return there.get();
}

void *CudaRank::Staging::get(Backend &host, int64_t bytes) {
  if (bytes > size) {
    data.reset();
    data = host.allocateForPeers(bytes);
    size = bytes;
  }
  return data.get();
}

namespace {
/// Of a rank that is alone: there are no messages.
struct NoMessages final : PointToPoint {
  void start(int32_t, const std::vector<Outgoing> &,
             const std::vector<Incoming> &, Requests &) override {}
  bool wait(Requests &, const Waiting &) override { return true; }
  void poll(Requests &) override {}
};
} // namespace

Exchange &CudaRank::exchangeOf(int32_t stream) {
  static NoMessages none;
  auto &exchange = exchanges[stream];
  if (!exchange) {
    memories[stream] = std::make_unique<DeviceMemory>(
        driver, *collectiveKernels, streamOf(stream));
    exchange = std::make_unique<Exchange>(
        topology, rank.index, stream,
        nccl ? static_cast<PointToPoint &>(*nccl) : none, *memories[stream]);
  }
  return *exchange;
}

bool CudaRank::collective(const CollectiveCall &call) {
  endSegment(call.stream);
  int64_t sent = 0;
  beginTraced(call.stream);
  bool ok = call.plan || sharesGpu ? byHost(call, sent) : byNccl(call, sent);
  if (ok && rank.tracing)
    endTraced({.name = collectiveName(call.kind),
               .stream = call.stream,
               .site = call.site,
               .bytes = sent});
  return ok;
}

bool CudaRank::byNccl(const CollectiveCall &call, int64_t &sent) {
  return withOthers([&] {
    if (!exchangeOf(call.stream).run(call, sent))
      return false;
    if (nccl)
      addPending(call);
    return true;
  });
}

void CudaRank::addPending(const CollectiveCall &call) {
  settlePending();
  Event event = nullptr;
  if (spare.empty()) {
    driver.check(driver.cuEventCreate(&event, EventDisableTiming),
                 "no event of the GPU");
  } else {
    event = spare.back();
    spare.pop_back();
  }
  driver.check(driver.cuEventRecord(event, streamOf(call.stream)),
               "cuEventRecord");
  Pending &last = pending.emplace_back(call);
  last.event = event;
  // What its pointers name may be gone by then.
  last.pairs.assign(call.pairs, call.pairs + 2 * call.numPairs);
  last.call.pairs = last.pairs.data();
  if (pending.size() == 1)
    host.waitsElsewhere(topology.waitsIn(rank.index, call));
}

void CudaRank::settlePending() {
  size_t before = pending.size();
  while (!pending.empty() &&
         driver.cuEventQuery(pending.front().event) != NotReady) {
    spare.push_back(pending.front().event);
    pending.pop_front();
  }
  if (pending.size() != before)
    host.waitsElsewhere(
        pending.empty() ? ""
                        : topology.waitsIn(rank.index, pending.front().call));
}

bool CudaRank::byHost(const CollectiveCall &call, int64_t &sent) {
  // A copy would wait for the stream without an end.
  if (!streamSync(call.stream))
    return false;
  auto [in, out] = bytesOf(call, topology.comms[call.comm]);
  bool isInPlace = call.in == call.out;
  CollectiveCall here = call;
  here.stream = 0; // is done when it returns
  here.sent = &sent;
  here.in = given.get(host, isInPlace ? std::max(in, out) : in);
  here.out = isInPlace ? const_cast<void *>(here.in) : received.get(host, out);
  if (!copyFrom(const_cast<void *>(here.in), call.in, in, call.stream))
    return false;
  // The host says itself that it waits.
  host.waitsElsewhere("");
  if (!host.collective(here))
    return false;
  if (!pending.empty())
    host.waitsElsewhere(topology.waitsIn(rank.index, pending.front().call));
  return copyTo(call.out, here.out, out, call.stream);
}

void CudaRank::startProducts() {
  products = std::make_unique<Products>(driver);
  workspace = allocate(Products::workspaceBytes);
}

void CudaRank::queueProduct(const ContractCall &call) {
  products->run(call, workspace.get(), streamOf(0));
}

bool CudaRank::contract(const ContractCall &call) {
  if (!products)
    startProducts();
  if (graphs && !rank.tracing) {
    graphs->contract(call);
    return true;
  }
  beginTraced(0);
  queueProduct(call);
  if (rank.tracing)
    endTraced({.name = "contract", .flops = arrangeLoops(call).flops()});
  return true;
}

bool CudaRank::convolve(const ConvolveCall &) {
  return fail("convolutions are kernels on --backend cuda");
}

bool CudaRank::eventRecord(int32_t number, int32_t stream) {
  endSegment(stream);
  Event &event = events[number];
  if (!event)
    driver.check(driver.cuEventCreate(&event, EventDisableTiming),
                 "no event of the GPU");
  driver.check(driver.cuEventRecord(event, streamOf(stream)), "cuEventRecord");
  return true;
}

bool CudaRank::streamWait(int32_t stream, int32_t event) {
  endSegment(stream);
  if (events[event])
    driver.check(driver.cuStreamWaitEvent(streamOf(stream), events[event], 0),
                 "cuStreamWaitEvent");
  return true;
}

bool CudaRank::withOthers(const std::function<bool()> &work) {
  try {
    return work();
  } catch (const Error &) {
    for (int i = 0; i < 100 && library && !host.failed(); ++i)
      std::this_thread::sleep_for(10ms);
    if (host.failed())
      return false;
    throw;
  }
}

bool CudaRank::send(const TaskMessage &message, const void *data) {
  void *here = sent.get(host, message.bytes);
  return download(here, data, message.bytes) && host.send(message, here);
}

std::shared_ptr<void> CudaRank::receive(const TaskMessage &message) {
  std::shared_ptr<void> there = host.receive(message);
  if (!there)
    return nullptr;
  std::vector<std::shared_ptr<void>> &spare = (*slots)[message.bytes];
  std::shared_ptr<void> data;
  if (spare.empty()) {
    data = allocate(message.bytes);
  } else {
    data = std::move(spare.back());
    spare.pop_back();
  }
  if (!upload(data.get(), there.get(), message.bytes))
    return nullptr;
  return {data.get(), [data, bytes = message.bytes, slots = slots](void *) {
            (*slots)[bytes].push_back(data);
          }};
}

bool CudaRank::streamSync(int32_t number) {
  endSegment(number);
  Stream stream = streams[number];
  if (!stream)
    return true;
  return withOthers([&] { return waitFor(stream); });
}

bool CudaRank::waitFor(Stream stream) {
  Result result;
  if (!nccl) {
    result = driver.cuStreamSynchronize(stream);
  } else {
    // What waits for a rank that has failed never ends by itself.
    auto pause = 1us;
    while ((result = driver.cuStreamQuery(stream)) == NotReady) {
      nccl->check();
      if (host.failed())
        return false;
      settlePending();
      // An emulated GPU works while it is asked.
      if (!driver.isEmulated())
        std::this_thread::sleep_for(pause);
      pause = std::min<std::chrono::microseconds>(2 * pause, 500us);
    }
    settlePending();
    nccl->check();
  }
  driver.check(result, "the GPU's work");
  for (auto &memory : memories)
    if (memory && memory->queuedOn() == stream)
      memory->freeReturned();
  return true;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

std::shared_ptr<void> CudaRank::allocate(int64_t bytes) {
  endSegment(0);
  DevicePtr address = 0;
  size_t size = std::max<int64_t>(bytes, 1);
  Result result = driver.cuMemAlloc(&address, size);
  if (result == OutOfMemory) {
    size_t free = 0, total = 0;
    driver.cuMemGetInfo(&free, &total);
    throw Error("the GPU has no " + std::to_string(bytes) +
                " bytes: " + std::to_string(free) + " of " +
                std::to_string(total) + " are free");
  }
  driver.check(result, "memory of the GPU");
  driver.check(driver.cuMemsetD8Async(address, 0, size, streamOf(0)),
               "cuMemsetD8Async");
  streamSync(0);
  return {reinterpret_cast<void *>(address),
          [this](void *memory) { driver.cuMemFree(addressOf(memory)); }};
}

bool CudaRank::copyTo(void *to, const void *from, int64_t bytes,
                      int32_t stream) {
  endSegment(stream);
  if (bytes)
    driver.check(
        driver.cuMemcpyHtoDAsync(addressOf(to), from, bytes, streamOf(stream)),
        "a copy to the GPU");
  return streamSync(stream);
}

bool CudaRank::copyFrom(void *to, const void *from, int64_t bytes,
                        int32_t stream) {
  endSegment(stream);
  if (bytes)
    driver.check(
        driver.cuMemcpyDtoHAsync(to, addressOf(from), bytes, streamOf(stream)),
        "a copy from the GPU");
  return streamSync(stream);
}

bool CudaRank::upload(void *to, const void *from, int64_t bytes) {
  return copyTo(to, from, bytes, 0);
}

bool CudaRank::download(void *to, const void *from, int64_t bytes) {
  return copyFrom(to, from, bytes, 0);
}

bool CudaRank::readStatus(const int64_t *word, int64_t &value) {
  // What has not come yet is asked for again, when all is done.
  value = 0;
  endSegment(0);
  Result state = driver.cuStreamQuery(streamOf(0));
  if (state == NotReady)
    return true;
  driver.check(state, "the GPU's work");
  return download(&value, word, sizeof value);
}
