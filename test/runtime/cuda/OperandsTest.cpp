//===- OperandsTest.cpp - Collectives' kernels beside the host's loops ----===//
//
// Random copies, sums and fills have the host's bits on the emulated driver,
// and touch nothing else.
//
//===----------------------------------------------------------------------===//

#include "dist/Tensor.h"
#include "runtime/collectives/Copies.h"
#include "runtime/cuda/DeviceMemory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

using namespace dist;
using namespace dist::cuda;

namespace {

const dist_dtype kTypes[] = {DIST_F64, DIST_F32, DIST_F16, DIST_BF16, DIST_I64,
                             DIST_I32, DIST_I16, DIST_I8,  DIST_U64,  DIST_U32,
                             DIST_U16, DIST_U8,  DIST_I1};

/// The same bytes on the host and on the device.
struct Both {
  std::vector<char> host;
  std::shared_ptr<char> device;
};

class Operands : public testing::Test {
protected:
  Operands() : driver("tools/dist-driver-emulated.so") {
    driver.check(driver.cuDevicePrimaryCtxRetain(&context, 0), "context");
    driver.check(driver.cuCtxSetCurrent(context), "context");
    driver.check(driver.cuStreamCreate(&stream, 0), "stream");
    kernels = std::make_unique<CollectiveKernels>(driver);
    memory = std::make_unique<DeviceMemory>(driver, *kernels, stream);
  }
  ~Operands() override {
    memory.reset();
    kernels.reset();
    driver.cuStreamDestroy(stream);
    driver.cuDevicePrimaryCtxRelease(0);
  }

  int64_t below(int64_t limit) { return int64_t(random() % limit); }

  Both make(int64_t bytes) {
    Both both{std::vector<char>(bytes), memory->allocate(bytes)};
    for (char &byte : both.host)
      byte = char(random());
    upload(both);
    return both;
  }
  /// Numbers of the type; among them NaN, zeros and ties.
  Both makeNumbers(dist_dtype dtype, int64_t count) {
    Both both = make(count * dtypeBytes(dtype));
    for (int64_t i = 0; i < count; ++i) {
      double value = below(12) == 0   ? std::nan("")
                     : below(6) == 0  ? 0.0
                     : below(12) == 0 ? -0.0
                                      : double(below(2000) - 1000) / 64;
      char *to = both.host.data() + i * dtypeBytes(dtype);
      if (dtype == DIST_I1)
        *to = below(2);
      else if (dtype == DIST_F64 || dtype == DIST_F32 || dtype == DIST_F16 ||
               dtype == DIST_BF16)
        convert(DIST_F64, &value, dtype, to, 1);
    }
    upload(both);
    return both;
  }
  void upload(Both &both) {
    driver.check(
        driver.cuMemcpyHtoDAsync(reinterpret_cast<DevicePtr>(both.device.get()),
                                 both.host.data(), both.host.size(), stream),
        "upload");
  }
  /// NaN is NaN: chips write others than the host does.
  static void normalise(dist_dtype dtype, std::vector<char> &data) {
    int64_t bytes = dtypeBytes(dtype), count = data.size() / bytes;
    for (int64_t i = 0; i < count; ++i) {
      double value;
      convert(dtype, data.data() + i * bytes, DIST_F64, &value, 1);
      if (value != value)
        std::memset(data.data() + i * bytes, 0x7f, bytes);
    }
  }
  void expectEqual(Both both, const std::string &what,
                   dist_dtype dtype = DIST_U8) {
    std::vector<char> made(both.host.size());
    driver.check(
        driver.cuMemcpyDtoHAsync(made.data(),
                                 reinterpret_cast<DevicePtr>(both.device.get()),
                                 made.size(), stream),
        "download");
    driver.check(driver.cuStreamSynchronize(stream), what);
    normalise(dtype, made);
    normalise(dtype, both.host);
    EXPECT_TRUE(made == both.host) << what;
  }

  Driver driver;
  Context context = nullptr;
  Stream stream = nullptr;
  std::unique_ptr<CollectiveKernels> kernels;
  std::unique_ptr<DeviceMemory> memory;
  std::mt19937_64 random{1};
};

TEST_F(Operands, Copies) {
  for (int round = 0; round < 100; ++round) {
    int64_t unit = int64_t(1) << below(5);
    Copy copy;
    copy.run = unit * (1 + below(below(2) ? 40 : 3));
    int64_t in = copy.run, out = copy.run;
    for (int i = 3; i-- > 0;) {
      copy.loops[i] = {1 + below(4), in + unit * below(3),
                       out + unit * below(3)};
      in = copy.loops[i].in * copy.loops[i].extent;
      out = copy.loops[i].out * copy.loops[i].extent;
    }
    copy.in = unit * below(3);
    copy.out = unit * below(3);
    Both from = make(copy.in + in), to = make(copy.out + out);
    hostMemory().copy(copy, from.host.data(), to.host.data());
    memory->copy(copy, from.device.get(), to.device.get());
    expectEqual(to, "copy " + std::to_string(round));
  }
}

TEST_F(Operands, Sums) {
  for (dist_dtype dtype : kTypes)
    for (dist_op op :
         {DIST_SUM, DIST_PROD, DIST_MAX, DIST_MIN, DIST_AND, DIST_OR}) {
      bool isFloat = dtype == DIST_F64 || dtype == DIST_F32 ||
                     dtype == DIST_F16 || dtype == DIST_BF16;
      if (isFloat && (op == DIST_AND || op == DIST_OR))
        continue;
      // One launch, or several; as many elements as a block, or more.
      for (int64_t terms : {1, 2, 3, 16, 17, 40}) {
        int64_t runs = 1 + below(3), count = 1 + below(below(3) ? 30 : 400);
        int64_t bytes = dtypeBytes(dtype);
        std::vector<Both> operands;
        std::vector<ConstRuns> hosts, devices;
        for (int64_t i = 0; i < terms; ++i) {
          int64_t step = count + below(3), first = below(3);
          operands.push_back(makeNumbers(dtype, first + runs * step));
          hosts.push_back(
              {operands.back().host.data() + first * bytes, step * bytes});
          devices.push_back(
              {operands.back().device.get() + first * bytes, step * bytes});
        }
        int64_t step = count + below(3);
        Both to = makeNumbers(dtype, runs * step);
        hostMemory().reduce(dtype, op, hosts, {to.host.data(), step * bytes},
                            runs, count);
        memory->reduce(dtype, op, devices, {to.device.get(), step * bytes},
                       runs, count);
        expectEqual(to,
                    std::string(dtypeName(dtype)) + ", op " +
                        std::to_string(op) + ", " + std::to_string(terms) +
                        " terms",
                    dtype);
        // In place.
        Both &own = operands[below(terms)];
        size_t place = &own - operands.data();
        hostMemory().reduce(
            dtype, op, hosts,
            {const_cast<char *>(hosts[place].data), hosts[place].step}, runs,
            count);
        memory->reduce(
            dtype, op, devices,
            {const_cast<char *>(devices[place].data), devices[place].step},
            runs, count);
        expectEqual(own, "in place", dtype);
      }
    }
}

TEST_F(Operands, Fills) {
  for (dist_dtype dtype : kTypes) {
    int64_t bytes = dtypeBytes(dtype), runs = 3, count = 1 + below(300),
            step = count + 2;
    Both to = make(runs * step * bytes);
    int64_t element = int64_t(random() & 0x0102030405060708);
    hostMemory().fill(dtype, element, {to.host.data(), step * bytes}, runs,
                      count);
    memory->fill(dtype, element, {to.device.get(), step * bytes}, runs, count);
    expectEqual(to, dtypeName(dtype));
  }
}

} // namespace
