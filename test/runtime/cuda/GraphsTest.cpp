//===- GraphsTest.cpp - Graphs do what their calls would ------------------===//
//
// A kernel whose order matters, on the emulated driver: x becomes 3 x + y.
//
//===----------------------------------------------------------------------===//

#include "dist/Tensor.h"
#include "runtime/cuda/Graphs.h"

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <random>

using namespace dist;
using namespace dist::cuda;

static const char code[] = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry step(.param .u64 px, .param .u64 py)
{
.reg .b64 %x, %y, %z;
ld.param.u64 %x, [px];
ld.param.u64 %y, [py];
ld.global.u64 %z, [%x];
mad.lo.s64 %z, %z, 3, %y;
st.global.u64 [%x], %z;
ret;
}
)";

namespace {

class GraphsOfSteps : public testing::Test {
protected:
  GraphsOfSteps() : driver("tools/dist-driver-emulated.so") {
    driver.check(driver.cuDevicePrimaryCtxRetain(&context, 0), "context");
    driver.check(driver.cuCtxSetCurrent(context), "context");
    driver.check(driver.cuStreamCreate(&stream, 0), "stream");
    driver.check(driver.cuModuleLoadDataEx(&module, code, 0, nullptr, nullptr),
                 "module");
    driver.check(driver.cuModuleGetFunction(&function, module, "step"),
                 "kernel");
    driver.check(driver.cuMemAlloc(&memory, 8), "memory");
    driver.check(driver.cuMemsetD8Async(memory, 0, 8, stream), "memset");
    graphs = std::make_unique<Graphs>(
        driver, stream, [this](const Graphs::Work &work) {
          std::vector<void *> parameters;
          for (const uint64_t &value : work.values)
            parameters.push_back(const_cast<uint64_t *>(&value));
          ++queued;
          driver.check(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0,
                                             stream, parameters.data(),
                                             nullptr),
                       "launch");
        });
  }
  ~GraphsOfSteps() override {
    graphs.reset();
    driver.cuMemFree(memory);
    driver.cuStreamDestroy(stream);
    driver.cuModuleUnload(module);
    driver.cuDevicePrimaryCtxRelease(0);
  }

  /// A segment of calls with these values.
  void run(const std::vector<uint64_t> &segment) {
    for (uint64_t y : segment) {
      uint64_t values[] = {memory, y};
      graphs->launch(0, 2, values);
      expected = 3 * expected + y;
    }
    graphs->flush();
  }
  uint64_t read() {
    uint64_t value = 0;
    driver.check(driver.cuMemcpyDtoHAsync(&value, memory, 8, stream), "copy");
    driver.check(driver.cuStreamSynchronize(stream), "wait");
    return value;
  }

  Driver driver;
  Context context = nullptr;
  Stream stream = nullptr;
  Module module = nullptr;
  Function function = nullptr;
  DevicePtr memory = 0;
  std::unique_ptr<Graphs> graphs;
  uint64_t expected = 0;
  int queued = 0;
};

} // namespace

TEST_F(GraphsOfSteps, AreLaunchedFromTheSecondTimeOn) {
  for (int step = 0; step < 5; ++step) {
    run({1, 2, 3, 4});
    run({1, 2, 4, 5, 6});
    run({7});
    run({});
    EXPECT_EQ(read(), expected);
  }
  // The first segment has another one before it in the first step. {7} is too
  // short for a graph.
  EXPECT_EQ(graphs->launched(), 3 + 4);
  EXPECT_EQ(queued, (2 + 1) * 4 + (1 + 1) * 5 + 5);
}

TEST_F(GraphsOfSteps, ThatDifferAreQueuedFromThereOn) {
  const std::vector<std::vector<uint64_t>> others = {
      {1, 2, 9, 4}, {1, 2, 3}, {1}, {1, 2, 3, 4, 5}, {9, 2, 3, 4}, {}};
  for (const std::vector<uint64_t> &other : others) {
    for (int step = 0; step < 3; ++step)
      run({1, 2, 3, 4});
    run(other);
    EXPECT_EQ(read(), expected);
    for (int step = 0; step < 3; ++step)
      run({1, 2, 3, 4});
    EXPECT_EQ(read(), expected);
  }
  EXPECT_GT(graphs->launched(), 0);
}

TEST_F(GraphsOfSteps, ThatDifferOnceAreGraphsAgain) {
  for (int step = 0; step < 3; ++step)
    run({1, 2, 3, 4});
  int64_t before = graphs->launched();
  run({1, 2, 5, 4});
  EXPECT_EQ(graphs->launched(), before);
  for (int step = 0; step < 4; ++step)
    run({1, 2, 3, 4});
  EXPECT_GT(graphs->launched(), before);
  EXPECT_EQ(read(), expected);
}

// What differs each time is no graph, and what comes behind it is.
TEST_F(GraphsOfSteps, ComeBehindWhatAlwaysDiffers) {
  for (uint64_t step = 0; step < 2000; ++step) {
    run({100 + step, 1, 2, 3});
    run({4, 5, 6, 7});
  }
  EXPECT_EQ(read(), expected);
  EXPECT_EQ(graphs->launched(), 1999);
}

TEST_F(GraphsOfSteps, AreSeveralOfALongSegment) {
  std::vector<uint64_t> segment;
  for (uint64_t i = 0; i < 3000; ++i)
    segment.push_back(i % 7);
  for (int step = 0; step < 4; ++step)
    run(segment);
  EXPECT_EQ(read(), expected);
  EXPECT_GE(graphs->launched(), 2 * 3);
}

TEST_F(GraphsOfSteps, AreNoneWithoutMemory) {
  auto fail = reinterpret_cast<int (*)(const char *, const char *)>(
      dlsym(driver.library(), "distEmulatedSet"));
  ASSERT_TRUE(fail && fail("fail", "cuGraphInstantiateWithFlags:1:2"));
  for (int step = 0; step < 4; ++step)
    run({1, 2, 3, 4});
  EXPECT_EQ(read(), expected);
  ASSERT_TRUE(fail("fail", "cuGraphInstantiateWithFlags:1:719"));
  EXPECT_THROW(
      {
        for (int step = 0; step < 3; ++step)
          run({5, 6, 7, 8});
      },
      Error);
}

TEST_F(GraphsOfSteps, OfAnyCallsComputeTheSame) {
  std::mt19937 random(5);
  auto below = [&](int limit) { return int(random() % limit); };
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::vector<uint64_t>> step(1 + below(5));
    for (std::vector<uint64_t> &segment : step)
      for (int i = below(9); i > 0; --i)
        segment.push_back(below(3));
    for (int i = 0; i < 6; ++i) {
      for (const std::vector<uint64_t> &segment : step) {
        std::vector<uint64_t> now = segment;
        if (below(40) == 0 && !now.empty())
          now[below(now.size())] = below(3);
        if (below(40) == 0 && !now.empty())
          now.resize(below(now.size()));
        if (below(40) == 0)
          now.push_back(below(3));
        run(now);
      }
      ASSERT_EQ(read(), expected) << "trial " << trial << ", step " << i;
    }
  }
  EXPECT_GT(graphs->launched(), 50);
}
