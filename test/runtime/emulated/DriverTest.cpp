//===- DriverTest.cpp - The emulated driver, call by call -----------------===//

#include "runtime/cuda/DriverApi.h"
#include "runtime/emulated/driver/Driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <vector>

using namespace dist::cuda;

namespace {

/// A function of the library, which is loaded as a program would.
template <class T> T *find(const char *name) {
  static void *library =
      dlopen("tools/dist-driver-emulated.so", RTLD_NOW | RTLD_LOCAL);
  void *function = library ? dlsym(library, name) : nullptr;
  if (!function)
    ADD_FAILURE() << dlerror();
  return reinterpret_cast<T *>(function);
}

auto *const getProcAddress =
    find<std::remove_pointer_t<GetProcAddress>>("cuGetProcAddress_v2");
auto *const setOption = find<decltype(distEmulatedSet)>("distEmulatedSet");
auto *const getReports =
    find<decltype(distEmulatedReports)>("distEmulatedReports");
auto *const getCounts =
    find<decltype(distEmulatedCounts)>("distEmulatedCounts");

/// y[i] = 2 x[i] + 1 for i < n.
const char *const kScale = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 px, .param .u64 py, .param .u32 pn)
{
  .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<4>;
  ld.param.u64 %rd1, [px];
  ld.param.u64 %rd2, [py];
  ld.param.u32 %r1, [pn];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 bra $end;
  mul.wide.s32 %rd3, %r5, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4];
  fma.rn.f32 %f2, %f1, 0f40000000, 0f3F800000;
  st.global.f32 [%rd5], %f2;
$end:
  ret;
}
)";

constexpr unsigned kCount = 1000;
constexpr size_t kBytes = kCount * sizeof(float);

#define CHECK_OK(call) ASSERT_EQ(call, Success)

class Driver : public testing::Test {
protected:
  void SetUp() override {
#define FIND(name, parameters)                                                 \
  CHECK_OK(getProcAddress(#name, reinterpret_cast<void **>(&cu.name),     \
                               kApiVersion, 0, nullptr));
    DIST_CUDA_FUNCTIONS(FIND)
#undef FIND
    ASSERT_TRUE(setOption("order", "issue"));
    ASSERT_TRUE(setOption("memory", "100000000"));
    CHECK_OK(cu.cuInit(0));
    CHECK_OK(cu.cuDevicePrimaryCtxRetain(&context, 0));
    CHECK_OK(cu.cuCtxSetCurrent(context));
    CHECK_OK(cu.cuModuleLoadDataEx(&module, kScale, 0, nullptr, nullptr));
    CHECK_OK(cu.cuModuleGetFunction(&scale, module, "scale"));
    for (Stream &stream : streams)
      CHECK_OK(cu.cuStreamCreate(&stream, StreamNonBlocking));
    for (DevicePtr &one : buffers)
      CHECK_OK(cu.cuMemAlloc(&one, kBytes));
    CHECK_OK(cu.cuMemHostAlloc(reinterpret_cast<void **>(&host), kBytes, 0));
    takeReports();
  }

  /// The next test finds a fresh device.
  void TearDown() override {
    cu.cuMemFreeHost(host);
    for (Stream stream : streams)
      cu.cuStreamDestroy(stream);
    EXPECT_EQ(cu.cuDevicePrimaryCtxRelease(0), Success);
  }

  std::string takeReports() {
    std::string text(getReports(nullptr, 0), '\0');
    getReports(text.data(), text.size());
    text.pop_back();
    return text;
  }

  Result launch(Stream stream, DevicePtr from, DevicePtr to,
                unsigned count = kCount) {
    void *parameters[] = {&from, &to, &count};
    return cu.cuLaunchKernel(scale, (count + 127) / 128, 1, 1, 128, 1, 1, 0,
                             stream, parameters, nullptr);
  }

  DriverFunctions cu;
  Context context = nullptr;
  Module module = nullptr;
  Function scale = nullptr;
  Stream streams[2] = {};
  DevicePtr buffers[3] = {};
  float *host = nullptr;
};

TEST_F(Driver, RunsAKernel) {
  std::fill_n(host, kCount, 3.0f);
  CHECK_OK(cu.cuMemcpyHtoDAsync(buffers[0], host, kBytes, streams[0]));
  CHECK_OK(launch(streams[0], buffers[0], buffers[1]));
  CHECK_OK(cu.cuMemcpyDtoHAsync(host, buffers[1], kBytes, streams[0]));
  // Nothing has run yet.
  EXPECT_EQ(host[0], 3.0f);
  EXPECT_EQ(cu.cuStreamQuery(streams[0]), NotReady);
  CHECK_OK(cu.cuStreamSynchronize(streams[0]));
  EXPECT_EQ(cu.cuStreamQuery(streams[0]), Success);
  EXPECT_EQ(std::count(host, host + kCount, 7.0f), kCount);
  uint64_t counts[7];
  getCounts(counts);
  EXPECT_GE(counts[0], 1u);
  EXPECT_EQ(takeReports(), "");
}

/// Memory of the host that is not pinned is read before the call returns, and
/// written before it does.
TEST_F(Driver, PlainMemoryIsCopiedAtOnce) {
  std::vector<float> plain(kCount, 1), back(kCount);
  CHECK_OK(cu.cuMemcpyHtoDAsync(buffers[0], plain.data(), kBytes, streams[0]));
  plain.assign(kCount, 100);
  CHECK_OK(launch(streams[0], buffers[0], buffers[1]));
  CHECK_OK(cu.cuMemcpyDtoHAsync(back.data(), buffers[1], kBytes, streams[0]));
  EXPECT_EQ(back, std::vector<float>(kCount, 3));
  // Pinned memory is read when the copy runs.
  std::fill_n(host, kCount, 1.0f);
  CHECK_OK(cu.cuMemcpyHtoDAsync(buffers[0], host, kBytes, streams[0]));
  std::fill_n(host, kCount, 5.0f);
  CHECK_OK(cu.cuMemcpyDtoHAsync(back.data(), buffers[0], kBytes, streams[0]));
  EXPECT_EQ(back[0], 5);
}

/// One stream writes what another one reads, with a wait and without.
TEST_F(Driver, AWaitThatLacksShowsInSomeOrder) {
  auto run = [&](const std::string &order, bool waits) {
    EXPECT_TRUE(setOption("order", order.c_str()));
    Event written = nullptr;
    EXPECT_EQ(cu.cuEventCreate(&written, EventDisableTiming), Success);
    EXPECT_EQ(cu.cuMemsetD32Async(buffers[0], 0, kCount, streams[0]), Success);
    EXPECT_EQ(cu.cuMemsetD32Async(buffers[1], 0, kCount, streams[0]), Success);
    EXPECT_EQ(cu.cuStreamSynchronize(streams[0]), Success);
    EXPECT_EQ(launch(streams[0], buffers[0], buffers[1]), Success);
    EXPECT_EQ(cu.cuEventRecord(written, streams[0]), Success);
    if (waits)
      EXPECT_EQ(cu.cuStreamWaitEvent(streams[1], written, 0), Success);
    EXPECT_EQ(launch(streams[1], buffers[1], buffers[2]), Success);
    EXPECT_EQ(cu.cuMemcpyDtoHAsync(host, buffers[2], kBytes, streams[1]),
              Success);
    EXPECT_EQ(cu.cuStreamSynchronize(streams[1]), Success);
    EXPECT_EQ(cu.cuEventDestroy(written), Success);
    return host[kCount - 1];
  };
  bool isSeen = false;
  for (const char *order : {"issue", "reverse", "1", "2", "3", "4", "5", "6"}) {
    EXPECT_EQ(run(order, true), 3) << order;
    isSeen |= run(order, false) != 3;
  }
  EXPECT_TRUE(isSeen);
  EXPECT_EQ(run("issue", false), 3);
  EXPECT_EQ(run("reverse", false), 1);
}

TEST_F(Driver, EventsHaveTimes) {
  Event events[2];
  for (Event &event : events)
    CHECK_OK(cu.cuEventCreate(&event, 0));
  float time = -1;
  EXPECT_EQ(cu.cuEventElapsedTime(&time, events[0], events[1]), InvalidHandle);
  CHECK_OK(cu.cuEventRecord(events[0], streams[0]));
  CHECK_OK(cu.cuMemsetD8Async(buffers[0], 1, kBytes, streams[0]));
  CHECK_OK(cu.cuEventRecord(events[1], streams[0]));
  EXPECT_EQ(cu.cuEventElapsedTime(&time, events[0], events[1]), NotReady);
  CHECK_OK(cu.cuEventSynchronize(events[1]));
  CHECK_OK(cu.cuEventElapsedTime(&time, events[0], events[1]));
  EXPECT_GE(time, 0);
  for (Event event : events)
    CHECK_OK(cu.cuEventDestroy(event));
}

/// Two streams in one capture, which runs each time that it is launched.
TEST_F(Driver, GraphsRunAgain) {
  Event fork, join;
  CHECK_OK(cu.cuEventCreate(&fork, EventDisableTiming));
  CHECK_OK(cu.cuEventCreate(&join, EventDisableTiming));
  CHECK_OK(cu.cuStreamBeginCapture(streams[0], CaptureThreadLocal));
  CHECK_OK(launch(streams[0], buffers[0], buffers[1]));
  CHECK_OK(cu.cuEventRecord(fork, streams[0]));
  CHECK_OK(cu.cuStreamWaitEvent(streams[1], fork, 0));
  CHECK_OK(launch(streams[1], buffers[1], buffers[2]));
  CHECK_OK(cu.cuEventRecord(join, streams[1]));
  CHECK_OK(cu.cuStreamWaitEvent(streams[0], join, 0));
  CHECK_OK(cu.cuMemcpyDtoHAsync(host, buffers[2], kBytes, streams[0]));
  CaptureStatus status;
  CHECK_OK(cu.cuStreamIsCapturing(streams[1], &status));
  EXPECT_EQ(status, CaptureActive);
  Graph graph;
  GraphExec exec;
  CHECK_OK(cu.cuStreamEndCapture(streams[0], &graph));
  CHECK_OK(cu.cuStreamIsCapturing(streams[1], &status));
  EXPECT_EQ(status, CaptureNone);
  CHECK_OK(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK_OK(cu.cuGraphDestroy(graph));
  for (const char *order : {"issue", "reverse", "7"})
    for (float value : {0.0f, 1.0f}) {
      ASSERT_TRUE(setOption("order", order));
      unsigned bits;
      std::memcpy(&bits, &value, sizeof bits);
      CHECK_OK(cu.cuMemsetD32Async(buffers[0], bits, kCount, streams[0]));
      CHECK_OK(cu.cuGraphLaunch(exec, streams[0]));
      CHECK_OK(cu.cuStreamSynchronize(streams[0]));
      EXPECT_EQ(host[0], 4 * value + 3) << order;
    }
  EXPECT_EQ(cu.cuEventQuery(join), CapturedEvent);
  EXPECT_EQ(cu.cuStreamWaitEvent(streams[0], join, 0), CapturedEvent);
  CHECK_OK(cu.cuGraphExecDestroy(exec));
  CHECK_OK(cu.cuEventDestroy(fork));
  CHECK_OK(cu.cuEventDestroy(join));
}

TEST_F(Driver, CapturesThatAreWrong) {
  Event event;
  CHECK_OK(cu.cuEventCreate(&event, EventDisableTiming));
  Graph graph;
  EXPECT_EQ(cu.cuStreamEndCapture(streams[0], &graph), CaptureUnmatched);
  // Work that does not come back to where the capture began.
  CHECK_OK(cu.cuStreamBeginCapture(streams[0], CaptureThreadLocal));
  CHECK_OK(launch(streams[0], buffers[0], buffers[1]));
  CHECK_OK(cu.cuEventRecord(event, streams[0]));
  CHECK_OK(cu.cuStreamWaitEvent(streams[1], event, 0));
  CHECK_OK(launch(streams[1], buffers[0], buffers[2]));
  EXPECT_EQ(cu.cuStreamEndCapture(streams[1], &graph), CaptureUnmatched);
  EXPECT_EQ(cu.cuStreamEndCapture(streams[0], &graph), CaptureUnjoined);
  // A wait for what is outside.
  CHECK_OK(cu.cuEventRecord(event, streams[1]));
  CHECK_OK(cu.cuStreamBeginCapture(streams[0], CaptureThreadLocal));
  EXPECT_EQ(cu.cuStreamWaitEvent(streams[0], event, 0), CaptureIsolation);
  EXPECT_EQ(launch(streams[0], buffers[0], buffers[1]), CaptureInvalidated);
  EXPECT_EQ(cu.cuStreamEndCapture(streams[0], &graph), CaptureInvalidated);
  // A wait of the host.
  CHECK_OK(cu.cuStreamBeginCapture(streams[0], CaptureThreadLocal));
  EXPECT_EQ(cu.cuStreamSynchronize(streams[0]), CaptureUnsupported);
  EXPECT_EQ(cu.cuStreamEndCapture(streams[0], &graph), CaptureInvalidated);
  CHECK_OK(cu.cuEventDestroy(event));
}

TEST_F(Driver, WhatKernelsDoWrongEndsAll) {
  CHECK_OK(cu.cuMemsetD8Async(buffers[0], 0, kBytes, streams[0]));
  CHECK_OK(launch(streams[0], buffers[0], buffers[1], 2 * kCount));
  EXPECT_EQ(cu.cuStreamSynchronize(streams[0]), IllegalAddress);
  std::string reports = takeReports();
  EXPECT_NE(reports.find("kernel scale: line 19: out of bounds"),
            std::string::npos)
      << reports;
  EXPECT_EQ(cu.cuMemsetD8Async(buffers[0], 0, kBytes, streams[0]),
            IllegalAddress);
}

TEST_F(Driver, WhatNobodyHasWrittenIsReported) {
  CHECK_OK(cu.cuMemsetD8Async(buffers[0], 0, 40, streams[0]));
  std::vector<float> back(kCount);
  EXPECT_EQ(cu.cuMemcpyDtoHAsync(back.data(), buffers[0], kBytes, streams[0]),
            LaunchFailed);
  EXPECT_EQ(takeReports(), "a copy to the host reads 3960 of 4000 bytes that "
                           "nobody has written, the first at +40\n");
}

TEST_F(Driver, CallsThatAreWrong) {
  EXPECT_EQ(launch(nullptr, buffers[0], buffers[1]), InvalidHandle);
  unsigned count = 1;
  void *parameters[] = {&buffers[0], &buffers[1], &count};
  auto shape = [&](unsigned grid, unsigned block, unsigned shared) {
    return cu.cuLaunchKernel(scale, grid, 1, 1, block, 1, 1, shared, streams[0],
                             parameters, nullptr);
  };
  EXPECT_EQ(shape(0, 1, 0), InvalidValue);
  EXPECT_EQ(shape(1, 1025, 0), InvalidValue);
  EXPECT_EQ(shape(1, 1, 50'000), InvalidValue);
  EXPECT_EQ(cu.cuFuncSetAttribute(scale, FunctionMaxDynamicSharedBytes,
                                  233'000),
            InvalidValue);
  CHECK_OK(cu.cuFuncSetAttribute(scale, FunctionMaxDynamicSharedBytes, 50'000));
  CHECK_OK(cu.cuMemsetD8Async(buffers[0], 0, kBytes, streams[0]));
  CHECK_OK(shape(1, 1, 50'000));
  EXPECT_EQ(cu.cuMemcpyDtoDAsync(buffers[0], buffers[1] + 8, kBytes,
                                 streams[0]),
            InvalidValue);
  EXPECT_EQ(cu.cuMemFree(buffers[0] + 4), InvalidValue);
  Device device;
  EXPECT_EQ(cu.cuDeviceGet(&device, 1), InvalidDevice);
  size_t free, total;
  CHECK_OK(cu.cuMemGetInfo(&free, &total));
  EXPECT_EQ(total, 100'000'000u);
  EXPECT_EQ(free, total - 3 * kBytes);
  DevicePtr large;
  EXPECT_EQ(cu.cuMemAlloc(&large, free + 1), OutOfMemory);
  CHECK_OK(cu.cuMemAlloc(&large, free));
  CHECK_OK(cu.cuMemFree(large));
  void *function;
  ProcAddressStatus status;
  EXPECT_EQ(getProcAddress("cuNothing", &function, kApiVersion, 0,
                                &status),
            NotFound);
  EXPECT_EQ(status, ProcNotFound);
}

TEST_F(Driver, ModulesThatAreWrong) {
  char log[200];
  JitOption options[] = {JitErrorLog, JitErrorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  auto load = [&](std::string from, std::string to) {
    std::string ptx = kScale;
    log[0] = 0;
    Module one;
    ptx.replace(ptx.find(from), from.size(), to);
    return cu.cuModuleLoadDataEx(&one, ptx.c_str(), 2, options, values);
  };
  EXPECT_EQ(load("7.0", "9.1"), UnsupportedPtxVersion);
  EXPECT_STREQ(log, "PTX 9.1 is too new");
  EXPECT_EQ(load("sm_80", "sm_100"), NoBinaryForGpu);
  EXPECT_STREQ(log, "the device has no sm_100");
  EXPECT_EQ(load("mad.lo", "mad.low"), InvalidPtx);
  EXPECT_NE(std::string(log).find("ptx:13: "), std::string::npos) << log;
  EXPECT_EQ(load(".version", ".Version"), InvalidImage);
  Function function;
  EXPECT_EQ(cu.cuModuleGetFunction(&function, module, "other"), NotFound);
}

TEST_F(Driver, CallsCanBeMadeToFail) {
  ASSERT_TRUE(setOption("fail", "cuMemAlloc:2:2"));
  DevicePtr one, two;
  EXPECT_EQ(cu.cuMemAlloc(&one, 8), Success);
  EXPECT_EQ(cu.cuMemAlloc(&two, 8), OutOfMemory);
  EXPECT_EQ(cu.cuMemAlloc(&two, 8), Success);
  for (const char *bad : {"", "cuInit", "cuInit:0:1", "cuInit:1:0", "a:b:c"})
    EXPECT_FALSE(setOption("fail", bad)) << bad;
  EXPECT_FALSE(setOption("order", "backwards"));
  EXPECT_FALSE(setOption("capability", "9"));
  EXPECT_FALSE(setOption("colour", "blue"));
}

} // namespace
