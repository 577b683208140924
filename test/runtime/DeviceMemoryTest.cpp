//===- DeviceMemoryTest.cpp - A backend whose memory is not the host's ----===//
//
// Its pages cannot be touched but by the program and by the backend's copies,
// as a GPU's: an executor that reads or writes there ends with a signal.
//
//===----------------------------------------------------------------------===//

#include "dist/Executor.h"
#include "runtime/rank/Rank.h"

#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>

using namespace dist;

namespace {

class Device final : public Backend {
public:
  Device() {
    void *found =
        mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory = static_cast<char *>(found);
    EXPECT_NE(found, MAP_FAILED);
  }
  ~Device() override { munmap(memory, size); }

  /// Lets `work` touch the memory.
  template <class Work> bool within(Work work) {
    mprotect(memory, size, PROT_READ | PROT_WRITE);
    work();
    mprotect(memory, size, PROT_NONE);
    return true;
  }
  bool holds(const void *pointer) const {
    return pointer >= memory && pointer < memory + size;
  }

  std::shared_ptr<void> allocate(int64_t bytes) override {
    void *place = memory + used;
    used += (bytes + 63) / 64 * 64 + 64;
    EXPECT_LE(used, size);
    return {place, [](void *) {}};
  }
  bool sharesHostMemory() const override { return false; }
  bool upload(void *to, const void *from, int64_t bytes) override {
    EXPECT_TRUE(holds(to) && !holds(from));
    ++uploads;
    return within([&] { memcpy(to, from, bytes); });
  }
  bool download(void *to, const void *from, int64_t bytes) override {
    EXPECT_TRUE(holds(from) && !holds(to));
    EXPECT_TRUE(synced);
    ++downloads;
    return within([&] { memcpy(to, from, bytes); });
  }
  bool readStatus(const int64_t *word, int64_t &value) override {
    return within([&] { value = *word; });
  }

  bool streamSync(int32_t) override { return synced = true; }
  bool meet() override { return true; }
  bool fail(const std::string &text) override {
    message = text;
    return false;
  }
  bool failed() const override { return !message.empty(); }
  // What the programs here do not do.
  bool collective(const CollectiveCall &) override { return fail("call"); }
  bool contract(const ContractCall &) override { return fail("call"); }
  bool convolve(const ConvolveCall &) override { return fail("call"); }
  bool eventRecord(int32_t, int32_t) override { return fail("call"); }
  bool streamWait(int32_t, int32_t) override { return fail("call"); }

  std::string message;
  int uploads = 0, downloads = 0;
  bool synced = false;

private:
  static constexpr int64_t size = 1 << 20;
  char *memory;
  int64_t used = 0;
};

/// y = 2 x + c, and no x may be negative.
void compute(dist_rank *rank, void *const *args, void *const *results,
             void *arena, int64_t *status) {
  static_cast<Device &>(rank->backend).within([&] {
    auto x = static_cast<const float *>(args[0]);
    auto c = static_cast<const float *>(args[1]);
    auto twice = static_cast<float *>(arena);
    for (int i = 0; i < 3; ++i) {
      if (x[i] < 0 && status[0] == 0) {
        status[1] = i;
        status[0] = 1;
      }
      twice[i] = 2 * x[i];
      static_cast<float *>(results[0])[i] = twice[i] + c[i];
    }
  });
}

TensorDesc describe(const char *name, TensorDesc::Kind kind) {
  TensorDesc desc;
  desc.name = name;
  desc.kind = kind;
  desc.globalShape = desc.localShape = {3};
  desc.dims = {{{3, {}}}};
  return desc;
}

Tensor makeTensor(std::vector<float> values) {
  Tensor tensor = Tensor::zeros(DIST_F32, {3});
  memcpy(tensor.data, values.data(), tensor.bytes());
  return tensor;
}

/// Runs the program; what the rank has done is in `result`.
int32_t run(Device &device, std::vector<float> x, Tensor &y, int &repetitions) {
  Program program;
  program.manifest.arguments = {describe("x", TensorDesc::Input),
                                describe("c", TensorDesc::Input)};
  program.manifest.results = {describe("y", TensorDesc::Output)};
  program.manifest.arenaBytes = 64;
  program.manifest.checks.push_back({"x is at least 0", true});
  program.entry = compute;
  // One of them has to be converted first.
  Tensor wide = Tensor::zeros(DIST_I8, {3});
  memcpy(wide.data, "\1\2\3", 3);
  Inputs inputs{{"x", makeTensor(std::move(x))}, {"c", wide}};
  Arguments arguments(program, inputs);
  Topology topology;
  topology.checks = {{"x is at least 0", true}};
  dist_rank rank(topology, 0, device);
  Executor executor(program, arguments);
  int32_t status = executor.run(rank, /*repeat=*/2, /*trace=*/false);
  y = executor.partOf(0);
  repetitions = executor.times().size();
  return status;
}

TEST(DeviceMemory, ExecutorCopiesArgumentsThereAndResultsBack) {
  Device device;
  Tensor result;
  int repetitions = 0;
  ASSERT_EQ(run(device, {1, 2, 3}, result, repetitions), 0) << device.message;
  EXPECT_EQ(device.uploads, 2);
  EXPECT_EQ(device.downloads, 1);
  EXPECT_EQ(repetitions, 2);
  const float *y = static_cast<const float *>(result.data);
  ASSERT_FALSE(device.holds(y));
  EXPECT_EQ(std::vector<float>(y, y + 3), (std::vector<float>{3, 6, 9}));
}

/// c, in place, = c + x.
void update(dist_rank *rank, void *const *args, void *const *results, void *,
            int64_t *) {
  EXPECT_EQ(args[1], results[0]);
  static_cast<Device &>(rank->backend).within([&] {
    for (int i = 0; i < 3; ++i)
      static_cast<float *>(args[1])[i] +=
          static_cast<const float *>(args[0])[i];
  });
}

TEST(DeviceMemory, UpdatedArgumentsLieThere) {
  Device device;
  Program program;
  program.manifest.arguments = {describe("x", TensorDesc::Input),
                                describe("c", TensorDesc::Input)};
  program.manifest.results = {describe("y", TensorDesc::Output)};
  program.manifest.results[0].updates = 1;
  program.entry = update;
  Inputs inputs{{"x", makeTensor({1, 2, 3})}, {"c", makeTensor({10, 20, 30})}};
  Arguments arguments(program, inputs);
  Topology topology;
  dist_rank rank(topology, 0, device);
  Executor executor(program, arguments);
  ASSERT_EQ(executor.run(rank, /*repeat=*/2, /*trace=*/false), 0)
      << device.message;
  // Both, and the one that is updated before the second repetition.
  EXPECT_EQ(device.uploads, 3);
  EXPECT_EQ(device.downloads, 1);
  const float *y = static_cast<const float *>(executor.partOf(0).data);
  EXPECT_EQ(std::vector<float>(y, y + 3), (std::vector<float>{11, 22, 33}));
}

TEST(DeviceMemory, PartsThatWereSentLieThere) {
  Device device;
  Program program;
  program.manifest.arguments = {describe("x", TensorDesc::Input),
                                describe("c", TensorDesc::Input)};
  program.manifest.results = {describe("y", TensorDesc::Output)};
  program.manifest.results[0].updates = 1;
  program.entry = update;
  Tensor absent = makeTensor({0, 0, 0});
  absent.data = nullptr;
  Inputs inputs{{"x", absent}, {"c", absent}};
  Arguments arguments(program, inputs);
  Topology topology;
  dist_rank rank(topology, 0, device);
  Executor executor(program, arguments);
  executor.give(0, makeTensor({1, 2, 3}));
  executor.give(1, makeTensor({10, 20, 30}));
  ASSERT_EQ(executor.run(rank, /*repeat=*/2, /*trace=*/false), 0)
      << device.message;
  const float *y = static_cast<const float *>(executor.partOf(0).data);
  EXPECT_EQ(std::vector<float>(y, y + 3), (std::vector<float>{11, 22, 33}));
}

TEST(DeviceMemory, ChecksAreReadThere) {
  Device device;
  Tensor result;
  int repetitions = 0;
  EXPECT_NE(run(device, {1, 2, -3}, result, repetitions), 0);
  EXPECT_EQ(device.message, "x is at least 0, not 2");
}

} // namespace
