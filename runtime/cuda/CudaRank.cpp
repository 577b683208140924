//===- CudaRank.cpp - A rank that computes on a GPU -----------------------===//

#include "runtime/cuda/CudaRank.h"
#include "dist/Tensor.h"

#include <algorithm>
#include <dlfcn.h>
#include <sstream>

using namespace dist;
using namespace dist::cuda;

static DevicePtr addressOf(const void *pointer) {
  return reinterpret_cast<DevicePtr>(pointer);
}

CudaRank::CudaRank(const Driver &driver, const dist_rank &host,
                   const Program &program)
    : driver(driver), topology(host.topology), host(host.backend) {
  int count = 0;
  driver.check(driver.cuDeviceGetCount(&count), "the number of GPUs");
  if (count == 0)
    throw Error("the driver knows of no GPU on this machine");
  driver.check(driver.cuDeviceGet(&device, host.index % count), "no GPU");
  driver.check(driver.cuDevicePrimaryCtxRetain(&context, device),
               "no context of the GPU");
  driver.check(driver.cuCtxSetCurrent(context), "no context of the GPU");
  loadKernels(program);
}

CudaRank::~CudaRank() {
  // While there is a context to free memory in.
  products.reset();
  workspace.reset();
  constants.clear();
  for (Event event : events)
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
  std::string name;
  Kernel kernel;
  while (lines >> name >> kernel.blocks >> kernel.threads) {
    driver.check(
        driver.cuModuleGetFunction(&kernel.function, module, name.c_str()),
        "no kernel " + name);
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

bool CudaRank::launch(int32_t number, int32_t count, const uint64_t *values) {
  if (number < 0 || size_t(number) >= kernels.size())
    return fail("kernel " + std::to_string(number) + " does not exist");
  const Kernel &kernel = kernels[number];
  std::vector<void *> parameters(count);
  for (int32_t i = 0; i < count; ++i)
    parameters[i] = const_cast<uint64_t *>(values + i);
  driver.check(driver.cuLaunchKernel(kernel.function, kernel.blocks, 1, 1,
                                     kernel.threads, 1, 1, /*sharedBytes=*/0,
                                     streamOf(0), parameters.data(), nullptr),
               "launch of kernel " + std::to_string(number));
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

bool CudaRank::collective(const CollectiveCall &call) {
  auto [in, out] = bytesOf(call, topology.comms[call.comm]);
  bool isInPlace = call.in == call.out;
  CollectiveCall here = call;
  here.stream = 0; // is done when it returns
  here.in = given.get(host, isInPlace ? std::max(in, out) : in);
  here.out = isInPlace ? const_cast<void *>(here.in) : received.get(host, out);
  return copyFrom(const_cast<void *>(here.in), call.in, in, call.stream) &&
         host.collective(here) && copyTo(call.out, here.out, out, call.stream);
}

bool CudaRank::contract(const ContractCall &call) {
  if (!products) {
    products = std::make_unique<Products>(driver);
    workspace = allocate(Products::workspaceBytes);
  }
  products->run(call, workspace.get(), streamOf(0));
  return true;
}

bool CudaRank::convolve(const ConvolveCall &) {
  return fail("convolutions are kernels on --backend cuda");
}

bool CudaRank::eventRecord(int32_t number, int32_t stream) {
  Event &event = events[number];
  if (!event)
    driver.check(driver.cuEventCreate(&event, EventDisableTiming),
                 "no event of the GPU");
  driver.check(driver.cuEventRecord(event, streamOf(stream)), "cuEventRecord");
  return true;
}

bool CudaRank::streamWait(int32_t stream, int32_t event) {
  if (events[event])
    driver.check(driver.cuStreamWaitEvent(streamOf(stream), events[event], 0),
                 "cuStreamWaitEvent");
  return true;
}

bool CudaRank::streamSync(int32_t number) {
  if (Stream stream = streams[number])
    driver.check(driver.cuStreamSynchronize(stream), "the GPU's work");
  return true;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

std::shared_ptr<void> CudaRank::allocate(int64_t bytes) {
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
  if (bytes)
    driver.check(
        driver.cuMemcpyHtoDAsync(addressOf(to), from, bytes, streamOf(stream)),
        "a copy to the GPU");
  return streamSync(stream);
}

bool CudaRank::copyFrom(void *to, const void *from, int64_t bytes,
                        int32_t stream) {
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
  return download(&value, word, sizeof value);
}
