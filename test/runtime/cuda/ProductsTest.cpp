//===- ProductsTest.cpp - Contractions by cuBLASLt's stand-in -------------===//
//
// Random tables of loops, beside loops that do one after the other.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Products.h"
#include "dist/Tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

using namespace dist;
using namespace dist::cuda;

namespace {

const Driver &driver() {
  static const Driver loaded("tools/dist-driver-emulated.so");
  return loaded;
}

struct Types {
  dist_dtype in, out;
  double tolerance;
};

/// A table, and how many elements its operands take.
struct Table {
  std::vector<int64_t> loops;
  int64_t elements[3] = {1, 1, 1};
};

/// Loops of random kinds. Of an operand each loop steps over all that is
/// inside, in a random order; there may be gaps, and factors may be read again.
Table makeTable(std::mt19937 &random) {
  auto below = [&](int64_t limit) { return int64_t(random() % limit); };
  Table table;
  int64_t count = 1 + below(6);
  std::vector<int64_t> kinds, extents;
  for (int64_t i = 0; i < count; ++i) {
    kinds.push_back(below(4));
    extents.push_back(1 + below(below(3) ? 4 : 9));
    table.loops.insert(table.loops.end(), {kinds[i], extents[i], 0, 0, 0});
  }
  for (int64_t operand = 0; operand < 3; ++operand) {
    std::vector<int64_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    int64_t step = below(6) ? 1 : 2, last = 0;
    for (int64_t i : order) {
      bool isIn = operand == 0   ? kinds[i] != DIST_LOOP_N
                  : operand == 1 ? kinds[i] != DIST_LOOP_M
                                 : kinds[i] != DIST_LOOP_K;
      if (!isIn)
        continue;
      bool isBroadcast = operand < 2 && below(12) == 0;
      int64_t stride = isBroadcast ? 0 : step;
      table.loops[i * DIST_LOOP_FIELDS + 2 + operand] = stride;
      last += stride * (extents[i] - 1);
      if (!isBroadcast)
        step = step * extents[i] + (below(5) ? 0 : below(4));
    }
    table.elements[operand] = last + 1;
  }
  return table;
}

/// Calls body(offsets of a, b and c) for each point of the loops.
template <class Body> void forEachPoint(const Table &table, Body body) {
  size_t count = table.loops.size() / DIST_LOOP_FIELDS;
  std::vector<int64_t> at(count);
  for (;;) {
    int64_t offsets[3] = {};
    for (size_t i = 0; i < count; ++i)
      for (int k = 0; k < 3; ++k)
        offsets[k] += at[i] * table.loops[i * DIST_LOOP_FIELDS + 2 + k];
    body(offsets);
    size_t i = count;
    while (i > 0 && ++at[i - 1] == table.loops[(i - 1) * DIST_LOOP_FIELDS + 1])
      at[--i] = 0;
    if (i == 0)
      return;
  }
}

/// Whether one loop at most adds up, of factors that differ along it.
bool hasOneSum(const Table &table) {
  int64_t sums = 0;
  for (size_t i = 0; i < table.loops.size(); i += DIST_LOOP_FIELDS)
    if (table.loops[i] == DIST_LOOP_K && table.loops[i + 1] > 1)
      sums += table.loops[i + 2] && table.loops[i + 3] ? 1 : 2;
  return sums <= 1;
}

class Products : public testing::TestWithParam<Types> {
protected:
  void SetUp() override {
    driver().check(driver().cuDevicePrimaryCtxRetain(&context, 0), "context");
    driver().check(driver().cuCtxSetCurrent(context), "context");
    driver().check(driver().cuStreamCreate(&stream, StreamNonBlocking),
                   "stream");
    DevicePtr address;
    driver().check(
        driver().cuMemAlloc(&address, dist::Products::workspaceBytes),
        "workspace");
    workspace = reinterpret_cast<void *>(address);
  }
  void TearDown() override { driver().cuDevicePrimaryCtxRelease(0); }

  /// Memory of the device, `shift` bytes behind an aligned address.
  DevicePtr upload(dist_dtype dtype, const std::vector<double> &values,
                   int64_t shift) {
    int64_t bytes = values.size() * dtypeBytes(dtype);
    std::vector<char> data(bytes);
    convert(DIST_F64, values.data(), dtype, data.data(), values.size());
    DevicePtr address;
    driver().check(driver().cuMemAlloc(&address, bytes + shift), "memory");
    driver().check(
        driver().cuMemcpyHtoDAsync(address + shift, data.data(), bytes, stream),
        "upload");
    return address + shift;
  }
  std::vector<double> download(dist_dtype dtype, DevicePtr address,
                               int64_t count) {
    std::vector<char> data(count * dtypeBytes(dtype));
    driver().check(
        driver().cuMemcpyDtoHAsync(data.data(), address, data.size(), stream),
        "download");
    driver().check(driver().cuStreamSynchronize(stream), "stream");
    std::vector<double> values(count);
    convert(dtype, data.data(), DIST_F64, values.data(), count);
    return values;
  }

  Context context = nullptr;
  Stream stream = nullptr;
  void *workspace = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Types, Products,
                         testing::Values(Types{DIST_F32, DIST_F32, 1e-5},
                                         Types{DIST_F64, DIST_F64, 1e-14},
                                         Types{DIST_BF16, DIST_BF16, 1e-2},
                                         Types{DIST_BF16, DIST_F32, 1e-5},
                                         Types{DIST_F16, DIST_F16, 2e-3},
                                         Types{DIST_F16, DIST_F32, 1e-5}));

TEST_P(Products, AreThoseOfLoops) {
  auto [in, out, tolerance] = GetParam();
  dist::Products products(driver());
  std::mt19937 random(1 + GetParam().in * 16 + out);
  for (int i = 0; i < 300; ++i) {
    Table table = makeTable(random);
    std::vector<double> values[3];
    for (int k = 0; k < 3; ++k)
      for (int64_t j = 0; j < table.elements[k]; ++j)
        // Exact in all types.
        values[k].push_back((int(random() % 33) - 16) / 8.0);
    bool isAdded = random() % 2;
    DevicePtr addresses[3];
    for (int k = 0; k < 3; ++k)
      addresses[k] = upload(k < 2 ? in : out, values[k],
                            random() % 3 * dtypeBytes(k < 2 ? in : out));
    ContractCall call{};
    call.inDtype = in;
    call.outDtype = out;
    call.flags = isAdded ? DIST_CONTRACT_ACCUMULATE : 0;
    call.numLoops = table.loops.size() / DIST_LOOP_FIELDS;
    call.loops = table.loops.data();
    call.a = reinterpret_cast<void *>(addresses[0]);
    call.b = reinterpret_cast<void *>(addresses[1]);
    call.c = reinterpret_cast<void *>(addresses[2]);
    // Twice the same table: the second time it is known.
    std::vector<double> first;
    if (dtypeBytes(out) < 4 && !hasOneSum(table)) {
      // Not rounded more than once: an error, or loops are one.
      try {
        products.run(call, workspace, stream);
        call.flags = 0;
        isAdded = false;
      } catch (const Error &) {
        continue;
      }
    }
    for (int turn = 0; turn < (isAdded ? 1 : 2); ++turn) {
      products.run(call, workspace, stream);
      std::vector<double> got = download(out, addresses[2], values[2].size());
      EXPECT_TRUE(turn == 0 || got == first);
      first = got;
    }
    std::vector<double> expected = values[2], sums = values[2];
    std::vector<bool> isWritten(sums.size());
    forEachPoint(table, [&](const int64_t(&at)[3]) {
      if (!isWritten[at[2]] && !isAdded)
        sums[at[2]] = 0;
      isWritten[at[2]] = true;
      sums[at[2]] += values[0][at[0]] * values[1][at[1]];
    });
    for (size_t j = 0; j < sums.size(); ++j)
      ASSERT_NEAR(first[j], sums[j],
                  tolerance * std::max(1.0, std::abs(sums[j])) +
                      (out == in ? tolerance * 8 : 0))
          << "table " << i << ", element " << j;
  }
}

// More than a grid has along z: 70,000 products of 1 x 2 and 2 x 1.
TEST_P(Products, OfLargeBatches) {
  auto [in, out, tolerance] = GetParam();
  dist::Products products(driver());
  constexpr int64_t kBatch = 70'000;
  std::vector<double> a(2 * kBatch), b(2 * kBatch, 0.5), c(kBatch, 0);
  for (int64_t i = 0; i < 2 * kBatch; ++i)
    a[i] = i % 8;
  int64_t loops[] = {DIST_LOOP_BATCH, kBatch, 2, 2, 1, DIST_LOOP_K, 2, 1, 1, 0};
  DevicePtr addresses[] = {upload(in, a, 0), upload(in, b, 0),
                           upload(out, c, 0)};
  ContractCall call{};
  call.inDtype = in;
  call.outDtype = out;
  call.numLoops = 2;
  call.loops = loops;
  call.a = reinterpret_cast<void *>(addresses[0]);
  call.b = reinterpret_cast<void *>(addresses[1]);
  call.c = reinterpret_cast<void *>(addresses[2]);
  products.run(call, workspace, stream);
  std::vector<double> got = download(out, addresses[2], kBatch);
  for (int64_t i = 0; i < kBatch; ++i)
    ASSERT_EQ(got[i], (a[2 * i] + a[2 * i + 1]) / 2) << i;
}

TEST_P(Products, WrongTablesAreErrors) {
  dist::Products products(driver());
  int64_t wrong[] = {7, 2, 1, 1, 1};
  ContractCall call{GetParam().in, GetParam().out, 0,       1,
                    wrong,         nullptr,        nullptr, nullptr};
  EXPECT_THROW(products.run(call, workspace, stream), Error);
  int64_t right[] = {DIST_LOOP_M, 2, 1, 1, 1};
  call.loops = right;
  call.inDtype = DIST_I32;
  EXPECT_THROW(products.run(call, workspace, stream), Error);
}

} // namespace
