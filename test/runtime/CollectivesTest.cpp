//===- CollectivesTest.cpp - Every collective against its definition ------===//
//
// Each rank knows what every other rank's operand holds (a function of rank and
// index), so it can compute from the definition in runtime.h what it must get.
// Groups and cuts are computed here by other means than in the runtime.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"
#include "dist/Tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

using namespace dist;
using namespace dist::test;

namespace {

/// Values are small integers: exact in every dtype, also summed over 8 ranks.
int64_t value(int64_t salt, int64_t rank, int64_t i) {
  uint64_t x = salt * 1000003 + rank * 10007 + i * 101 + 12345;
  x = (x ^ x >> 7) * 0x9e3779b97f4a7c15ull;
  return static_cast<int64_t>(x >> 60) % 5 - 2;
}

/// As stored in dtype and read again.
int64_t stored(dist_dtype dtype, int64_t v) {
  switch (dtype) {
  case DIST_I8:
    return static_cast<int8_t>(v);
  case DIST_U8:
    return static_cast<uint8_t>(v);
  case DIST_U16:
    return static_cast<uint16_t>(v);
  case DIST_U32:
    return static_cast<uint32_t>(v);
  case DIST_I1:
    return v & 1;
  default:
    return v;
  }
}

int64_t apply(dist_dtype dtype, dist_op op, int64_t a, int64_t b) {
  switch (op) {
  // They wrap.
  case DIST_SUM:
    return stored(dtype, static_cast<int64_t>(uint64_t(a) + uint64_t(b)));
  case DIST_PROD:
    return stored(dtype, static_cast<int64_t>(uint64_t(a) * uint64_t(b)));
  case DIST_MAX:
  case DIST_MIN: {
    // A u64 is kept as the i64 of equal bits.
    bool less = dtype == DIST_U64 ? uint64_t(a) < uint64_t(b) : a < b;
    return less == (op == DIST_MAX) ? b : a;
  }
  case DIST_AND:
    return a & b;
  case DIST_OR:
    return a | b;
  }
  return 0;
}

/// A local tensor's bytes.
struct Buffer {
  Buffer(dist_dtype dtype, int64_t count)
      : dtype(dtype), count(count),
        bytes(count * dtypeBytes(dtype) + 16, 0x5a) {}
  void *data() { return bytes.data(); }
  void set(int64_t i, int64_t v) {
    v = stored(dtype, v);
    convert(DIST_I64, &v, dtype, &bytes[i * dtypeBytes(dtype)], 1);
  }
  int64_t get(int64_t i) const {
    int64_t v;
    convert(dtype, &bytes[i * dtypeBytes(dtype)], DIST_I64, &v, 1);
    return v;
  }
  /// Nothing was written behind the end.
  bool intact() const {
    for (int i = 0; i < 16; ++i)
      if (bytes[count * dtypeBytes(dtype) + i] != 0x5a)
        return false;
    return true;
  }
  dist_dtype dtype;
  int64_t count;
  std::vector<char> bytes;
};

/// Digits of `rank` along the axes of a communicator, by division.
std::vector<int64_t> digits(const Mesh &mesh, const std::vector<AxisRef> &refs,
                            int64_t rank) {
  std::vector<int64_t> coordinates(mesh.axes.size());
  for (size_t i = mesh.axes.size(); i-- > 0;) {
    coordinates[i] = rank % mesh.axes[i].size;
    rank /= mesh.axes[i].size;
  }
  std::vector<int64_t> result;
  for (const AxisRef &ref : refs) {
    int64_t rest = mesh.axes[ref.axis].size / ref.pre / ref.size;
    result.push_back(coordinates[ref.axis] / rest % ref.size);
  }
  return result;
}

struct Group {
  std::vector<int64_t> sizes;
  std::vector<int64_t> ranks;               // in order
  std::vector<std::vector<int64_t>> digits; // of each
  int64_t me = -1;

  /// Stored rows of a member's block: row of the whole dimension, -1 padding.
  std::vector<int64_t> rows(int64_t member, int64_t whole) const {
    std::vector<int64_t> list(whole);
    for (int64_t i = 0; i < whole; ++i)
      list[i] = i;
    for (size_t level = 0; level < sizes.size(); ++level) {
      int64_t size = sizes[level];
      int64_t block = (list.size() + size - 1) / size;
      list.resize(block * size, -1);
      auto from = list.begin() + digits[member][level] * block;
      list = std::vector<int64_t>(from, from + block);
    }
    return list;
  }
  /// First row of the block, also when it is padding altogether.
  int64_t start(int64_t member, int64_t whole) const {
    int64_t result = 0;
    for (size_t level = 0; level < sizes.size(); ++level) {
      whole = (whole + sizes[level] - 1) / sizes[level];
      result += digits[member][level] * whole;
    }
    return result;
  }
};

Group groupOf(const Mesh &mesh, const std::vector<AxisRef> &refs,
              int64_t rank) {
  // All but the digits along refs must agree: take them out of the index.
  auto rest = [&](int64_t r) {
    std::vector<int64_t> mine = digits(mesh, refs, r);
    for (size_t i = 0; i < refs.size(); ++i) {
      int64_t weight =
          mesh.axes[refs[i].axis].size / refs[i].pre / refs[i].size;
      for (size_t j = refs[i].axis + 1; j < mesh.axes.size(); ++j)
        weight *= mesh.axes[j].size;
      r -= mine[i] * weight;
    }
    return r;
  };
  std::vector<std::pair<std::vector<int64_t>, int64_t>> found;
  for (int64_t r = 0; r < mesh.size(); ++r)
    if (rest(r) == rest(rank))
      found.push_back({digits(mesh, refs, r), r});
  std::sort(found.begin(), found.end());
  Group group;
  for (const AxisRef &ref : refs)
    group.sizes.push_back(ref.size);
  for (auto &[d, r] : found) {
    if (r == rank)
      group.me = group.ranks.size();
    group.digits.push_back(d);
    group.ranks.push_back(r);
  }
  return group;
}

struct Case {
  dist_rank *rank;
  int32_t comm;
  int32_t stream;
  dist_dtype dtype;
  Group group;
  int64_t salt;

  int64_t p() const { return group.ranks.size(); }
  int64_t operand(int64_t member, int64_t i) const {
    return stored(dtype, value(salt, group.ranks[member], i));
  }
  Buffer makeOperand(int64_t count) const {
    Buffer buffer(dtype, count);
    for (int64_t i = 0; i < count; ++i)
      buffer.set(i, value(salt, group.ranks[group.me], i));
    return buffer;
  }
  int64_t reduced(dist_op op, int64_t i) const {
    int64_t result = operand(0, i);
    for (int64_t m = 1; m < p(); ++m)
      result = apply(dtype, op, result, operand(m, i));
    return result;
  }
  bool finish() const { return stream == 0 || sync(rank, stream) == 0; }
  /// Compares; says where they differ.
  void check(const char *what, const Buffer &out,
             const std::function<int64_t(int64_t)> &expected) const {
    ASSERT_TRUE(out.intact()) << what << " wrote past its end";
    for (int64_t i = 0; i < out.count; ++i)
      ASSERT_EQ(out.get(i), expected(i))
          << what << " " << dtypeName(dtype) << " element " << i
          << " of communicator " << comm << ", rank " << rank->index;
  }
};

std::vector<dist_op> opsOf(dist_dtype dtype) {
  if (isFloat(dtype))
    return {DIST_SUM, DIST_PROD, DIST_MAX, DIST_MIN};
  return {DIST_SUM, DIST_PROD, DIST_MAX, DIST_MIN, DIST_AND, DIST_OR};
}

void allReduce(const Case &c) {
  for (dist_op op : opsOf(c.dtype)) {
    for (int64_t count : {0, 1, 7, 513}) {
      Buffer in = c.makeOperand(count), out(c.dtype, count);
      ASSERT_EQ(dist_all_reduce(c.rank, c.comm, c.stream, -1, c.dtype, op,
                                count, in.data(), out.data()),
                0);
      ASSERT_TRUE(c.finish());
      c.check("all_reduce", out, [&](int64_t i) { return c.reduced(op, i); });
      c.check("all_reduce's operand", in,
              [&](int64_t i) { return c.operand(c.group.me, i); });
      ASSERT_EQ(dist_all_reduce(c.rank, c.comm, c.stream, -1, c.dtype, op,
                                count, in.data(), in.data()),
                0);
      ASSERT_TRUE(c.finish());
      c.check("all_reduce in place", in,
              [&](int64_t i) { return c.reduced(op, i); });
    }
  }
}

/// Wholes of a dimension that do and do not divide.
const int64_t wholes[] = {0, 1, 5, 8, 10, 13};

void allGather(const Case &c, int64_t outer, int64_t inner) {
  for (int64_t whole : wholes) {
    int64_t rows = c.group.rows(c.group.me, whole).size();
    ASSERT_EQ(blockRows(c.rank->topology.comms[c.comm].sizes, whole), rows);
    Buffer in = c.makeOperand(outer * rows * inner);
    Buffer out(c.dtype, outer * whole * inner);
    ASSERT_EQ(dist_all_gather(c.rank, c.comm, c.stream, -1, c.dtype, outer,
                              whole, inner, in.data(), out.data()),
              0);
    ASSERT_TRUE(c.finish());
    std::vector<int64_t> expected(out.count, 99);
    for (int64_t m = 0; m < c.p(); ++m) {
      std::vector<int64_t> held = c.group.rows(m, whole);
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t j = 0; j < rows; ++j)
          for (int64_t i = 0; i < inner && held[j] >= 0; ++i)
            expected[(o * whole + held[j]) * inner + i] =
                c.operand(m, (o * rows + j) * inner + i);
    }
    c.check("all_gather", out, [&](int64_t i) { return expected[i]; });
  }
}

void reduceScatter(const Case &c, int64_t outer, int64_t inner) {
  for (dist_op op : opsOf(c.dtype)) {
    for (int64_t whole : wholes) {
      std::vector<int64_t> held = c.group.rows(c.group.me, whole);
      int64_t rows = held.size();
      Buffer in = c.makeOperand(outer * whole * inner);
      Buffer out(c.dtype, outer * rows * inner);
      ASSERT_EQ(dist_reduce_scatter(c.rank, c.comm, c.stream, -1, c.dtype, op,
                                    outer, whole, inner, in.data(), out.data()),
                0);
      ASSERT_TRUE(c.finish());
      c.check("reduce_scatter", out, [&](int64_t at) {
        int64_t i = at % inner, j = at / inner % rows, o = at / inner / rows;
        return held[j] < 0 ? 0
                           : c.reduced(op, (o * whole + held[j]) * inner + i);
      });
    }
  }
}

void allToAll(const Case &c, bool splitFirst, int64_t outer, int64_t middle,
              int64_t inner) {
  for (int64_t split : {5, 8})
    for (int64_t concat : {1, 6, 8}) {
      std::vector<int64_t> mine = c.group.rows(c.group.me, split);
      int64_t splitRows = mine.size();
      int64_t concatRows = c.group.rows(c.group.me, concat).size();
      auto index = [&](bool whole, int64_t o, int64_t s, int64_t m, int64_t k,
                       int64_t i) {
        // whole: the split dimension is whole (the operand).
        int64_t splitExtent = whole ? split : splitRows;
        int64_t concatExtent = whole ? concatRows : concat;
        int64_t first = splitFirst ? s : k, second = splitFirst ? k : s;
        int64_t firstExtent = splitFirst ? splitExtent : concatExtent;
        int64_t secondExtent = splitFirst ? concatExtent : splitExtent;
        return (((o * firstExtent + first) * middle + m) * secondExtent +
                second) *
                   inner +
               i;
      };
      Buffer in = c.makeOperand(outer * split * middle * concatRows * inner);
      Buffer out(c.dtype, outer * splitRows * middle * concat * inner);
      ASSERT_EQ(dist_all_to_all(c.rank, c.comm, c.stream, -1, c.dtype,
                                splitFirst, outer, split, middle, concat, inner,
                                in.data(), out.data()),
                0);
      ASSERT_TRUE(c.finish());
      std::vector<int64_t> expected(out.count, 0);
      for (int64_t from = 0; from < c.p(); ++from) {
        std::vector<int64_t> theirs = c.group.rows(from, concat);
        for (int64_t o = 0; o < outer; ++o)
          for (int64_t s = 0; s < splitRows; ++s)
            for (int64_t m = 0; m < middle; ++m)
              for (int64_t k = 0; k < concatRows; ++k)
                for (int64_t i = 0; i < inner; ++i)
                  if (mine[s] >= 0 && theirs[k] >= 0)
                    expected[index(false, o, s, m, theirs[k], i)] =
                        c.operand(from, index(true, o, mine[s], m, k, i));
      }
      c.check("all_to_all", out, [&](int64_t i) { return expected[i]; });
    }
}

void broadcast(const Case &c) {
  for (int64_t root = 0; root < c.p(); ++root) {
    Buffer in = c.makeOperand(37), out(c.dtype, 37);
    ASSERT_EQ(dist_broadcast(c.rank, c.comm, c.stream, -1, c.dtype, root, 37,
                             in.data(), out.data()),
              0);
    ASSERT_TRUE(c.finish());
    c.check("broadcast", out, [&](int64_t i) { return c.operand(root, i); });
    ASSERT_EQ(dist_broadcast(c.rank, c.comm, c.stream, -1, c.dtype, root, 37,
                             in.data(), in.data()),
              0);
    ASSERT_TRUE(c.finish());
    c.check("broadcast in place", in,
            [&](int64_t i) { return c.operand(root, i); });
  }
}

void permute(const Case &c) {
  for (int64_t shift : {0, 1, 2}) {
    for (bool open : {false, true}) { // open: nobody sends to place 0
      std::vector<int64_t> pairs;
      std::vector<int64_t> source(c.p(), -1);
      for (int64_t m = 0; m < c.p(); ++m) {
        int64_t target = (m + shift) % c.p();
        if (open && target == 0)
          continue;
        pairs.insert(pairs.end(), {m, target});
        source[target] = m;
      }
      Buffer in = c.makeOperand(21), out(c.dtype, 21);
      ASSERT_EQ(dist_collective_permute(c.rank, c.comm, c.stream, -1, c.dtype,
                                        pairs.size() / 2, pairs.data(), 21,
                                        in.data(), out.data()),
                0);
      ASSERT_TRUE(c.finish());
      int64_t from = source[c.group.me];
      c.check("collective_permute", out,
              [&](int64_t i) { return from < 0 ? 0 : c.operand(from, i); });
    }
  }
}

/// Bits of an element.
int64_t bitsOf(dist_dtype dtype, int64_t v) {
  Buffer one(dtype, 1);
  one.set(0, v);
  int64_t bits = 0;
  std::memcpy(&bits, one.data(), dtypeBytes(dtype));
  return bits;
}

/// Of each row of a member's window the row of the dimension; -1: nothing, or
/// one of those past the ends.
std::vector<int64_t> rowsOfWindow(const Case &c, int64_t member, int64_t whole,
                                  int64_t low, int64_t high, bool isRing) {
  std::vector<int64_t> block = c.group.rows(member, whole), rows;
  int64_t start = c.group.start(member, whole) - low;
  int64_t valid = block.size() - std::count(block.begin(), block.end(), -1);
  for (int64_t j = 0, e = low + block.size() + high; j < e; ++j) {
    int64_t row = start + j;
    bool isPadding = valid == 0 || j >= low + valid + high;
    if (isRing)
      rows.push_back(isPadding ? -1 : (row % whole + whole) % whole);
    else
      rows.push_back(row < 0 || row >= whole ? -1 : row);
  }
  return rows;
}

void halo(const Case &c, int64_t outer, int64_t inner, int64_t whole,
          int64_t low, int64_t high, int32_t boundary) {
  constexpr int64_t number = 3;
  bool isRing = boundary == DIST_BOUNDARY_PERIODIC;
  int64_t rows = c.group.rows(c.group.me, whole).size();
  int64_t outRows = low + rows + high;
  Buffer in = c.makeOperand(outer * rows * inner);
  // What is not written stays: numbers, which can be read as any type.
  Buffer out = c.makeOperand(outer * outRows * inner), before = out;
  ASSERT_EQ(dist_halo_exchange(c.rank, c.comm, c.stream, -1, c.dtype, outer,
                               whole, inner, low, high, boundary,
                               bitsOf(c.dtype, number), in.data(), out.data()),
            0);
  ASSERT_TRUE(c.finish());
  // The whole dimension, then its window.
  std::vector<int64_t> all(outer * whole * inner);
  for (int64_t m = 0; m < c.p(); ++m) {
    std::vector<int64_t> held = c.group.rows(m, whole);
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t j = 0; j < rows; ++j)
        for (int64_t i = 0; i < inner && held[j] >= 0; ++i)
          all[(o * whole + held[j]) * inner + i] =
              c.operand(m, (o * rows + j) * inner + i);
  }
  std::vector<int64_t> window =
      rowsOfWindow(c, c.group.me, whole, low, high, isRing);
  c.check("halo_exchange", out, [&](int64_t at) {
    int64_t i = at % inner, j = at / inner % outRows, o = at / inner / outRows,
            row = window[j];
    if (row >= 0)
      return all[(o * whole + row) * inner + i];
    if (boundary == DIST_BOUNDARY_NONE) // left as it was
      return before.get(at);
    return boundary == DIST_BOUNDARY_CONSTANT ? stored(c.dtype, number) : 0;
  });
}

void haloReduce(const Case &c, int64_t outer, int64_t inner, int64_t whole,
                int64_t low, int64_t high, bool isRing) {
  std::vector<int64_t> held = c.group.rows(c.group.me, whole);
  int64_t rows = held.size(), inRows = low + rows + high;
  Buffer in = c.makeOperand(outer * inRows * inner);
  Buffer out(c.dtype, outer * rows * inner);
  ASSERT_EQ(dist_halo_reduce(c.rank, c.comm, c.stream, -1, c.dtype, outer,
                             whole, inner, low, high, isRing, in.data(),
                             out.data()),
            0);
  ASSERT_TRUE(c.finish());
  // Whose elements are added up, by row of the dimension.
  std::vector<std::vector<std::pair<int64_t, int64_t>>> summands(whole);
  for (int64_t m = 0; m < c.p(); ++m) {
    std::vector<int64_t> window = rowsOfWindow(c, m, whole, low, high, isRing),
                         block = c.group.rows(m, whole);
    int64_t valid = block.size() - std::count(block.begin(), block.end(), -1);
    int64_t used = valid ? low + valid + high : 0;
    for (int64_t k = 0, end = isRing ? used : inRows; k < end; ++k)
      if (window[k] >= 0)
        summands[window[k]].push_back({m, k});
  }
  c.check("halo_reduce", out, [&](int64_t at) {
    int64_t i = at % inner, j = at / inner % rows, o = at / inner / rows;
    int64_t sum = 0;
    if (held[j] >= 0)
      for (auto [m, k] : summands[held[j]])
        sum = apply(c.dtype, DIST_SUM, sum,
                    c.operand(m, (o * inRows + k) * inner + i));
    return sum;
  });
}

void halos(const Case &c, int64_t outer, int64_t inner) {
  for (int64_t whole : wholes)
    for (auto [low, high] : std::vector<std::pair<int64_t, int64_t>>{
             {0, 0}, {1, 2}, {6, 0}, {3, 17}}) {
      for (int32_t boundary = DIST_BOUNDARY_ZERO;
           boundary <= DIST_BOUNDARY_PERIODIC; ++boundary)
        if (boundary != DIST_BOUNDARY_PERIODIC || whole > 0)
          halo(c, outer, inner, whole, low, high, boundary);
      for (bool isRing : {false, true})
        if (!isRing || whole > 0)
          haloReduce(c, outer, inner, whole, low, high, isRing);
    }
}

void reductions(const Case &c) {
  allReduce(c);
  for (auto [outer, inner] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 6}, {3, 4}, {5, 1}})
    reduceScatter(c, outer, inner);
}

void everything(const Case &c) {
  reductions(c);
  // Dimensions in front, in the middle and behind.
  for (auto [outer, inner] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 6}, {3, 4}, {5, 1}}) {
    allGather(c, outer, inner);
    halos(c, outer, inner);
  }
  for (bool splitFirst : {false, true}) {
    allToAll(c, splitFirst, 1, 1, 1);
    allToAll(c, splitFirst, 2, 3, 4);
  }
  broadcast(c);
  permute(c);
}

class Collectives : public testing::TestWithParam<std::vector<int64_t>> {};

TEST_P(Collectives, EveryCommunicatorEveryDtype) {
  Mesh mesh = makeMesh(GetParam());
  // Every axis, every ordered pair, all axes, halves of even axes, nothing.
  std::vector<std::vector<AxisRef>> comms{{}};
  std::vector<AxisRef> all;
  int32_t axes = mesh.axes.size();
  for (int32_t i = 0; i < axes; ++i) {
    all.push_back(mesh.whole(i));
    comms.push_back({mesh.whole(i)});
    for (int32_t j = 0; j < axes; ++j)
      if (i != j)
        comms.push_back({mesh.whole(i), mesh.whole(j)});
    int64_t size = mesh.axes[i].size;
    if (size % 2 == 0 && size > 2) {
      comms.push_back({part(mesh, i, 1, 2)});
      comms.push_back({part(mesh, i, 2, size / 2)});
      comms.push_back({part(mesh, i, 2, size / 2), part(mesh, i, 1, 2)});
    }
  }
  comms.push_back(all);
  Topology topology = makeTopology(mesh, comms);
  auto tryAll = [&](dist_rank *rank, const std::vector<int> &dtypes,
                    void (*all)(const Case &) = everything) {
    int64_t salt = 0;
    for (size_t comm = 0; comm < comms.size(); ++comm) {
      Group group = groupOf(mesh, comms[comm], rank->index);
      EXPECT_EQ(rank->topology.comms[comm].size, int64_t(group.ranks.size()));
      EXPECT_EQ(dist_comm_index(rank, comm), group.me);
      for (int dtype : dtypes) {
        all({rank, int32_t(comm), dtype % 2 ? 1 : 0, dist_dtype(dtype), group,
             ++salt});
        if (testing::Test::HasFatalFailure())
          return 1;
      }
    }
    return 0;
  };
  std::vector<int> dtypes;
  for (int dtype = DIST_F64; dtype <= DIST_U64; ++dtype)
    dtypes.push_back(dtype);
  EXPECT_EQ(runThreads(topology,
                       [&](dist_rank *rank) { return tryAll(rank, dtypes); }),
            "");
  // What these do depends on the size of an element alone.
  auto trySome = [&](dist_rank *rank) {
    return tryAll(rank, {DIST_F32, DIST_BF16});
  };
  if (mesh.size() <= 8) {
    EXPECT_EQ(runMessages(topology, trySome), "");
    auto body = [&](dist_rank *rank) {
      return tryAll(rank, {DIST_F32, DIST_BF16}, reductions);
    };
    EXPECT_EQ(runMessages(topology, body, /*reduces=*/true), "");
  }
  if (forkedMemoryHasNew && mesh.size() <= 6)
    EXPECT_EQ(runProcesses(topology, trySome), "");
  if (forkedMemoryHasNew && mesh.size() <= 4)
    EXPECT_EQ(runProcesses(topology, trySome, 20000, /*onDevices=*/true), "");
}

INSTANTIATE_TEST_SUITE_P(
    Meshes, Collectives,
    testing::Values(std::vector<int64_t>{}, std::vector<int64_t>{1},
                    std::vector<int64_t>{2}, std::vector<int64_t>{3},
                    std::vector<int64_t>{4}, std::vector<int64_t>{6},
                    std::vector<int64_t>{8}, std::vector<int64_t>{2, 2},
                    std::vector<int64_t>{2, 3}, std::vector<int64_t>{2, 2, 2},
                    std::vector<int64_t>{3, 4}));

DIST_ON_RANKS(Reductions, Way::Threads, Way::Messages, Way::Processes,
              Way::Devices);

TEST_P(Reductions, NaNWinsMaxAndMin) {
  std::string message = runRanks(line(3), [](dist_rank *rank) {
    float in[4] = {1, 2, 3, 4}, out[4];
    in[rank->index] = __builtin_nanf("");
    for (dist_op op : {DIST_MAX, DIST_MIN}) {
      EXPECT_EQ(dist_all_reduce(rank, 0, 0, -1, DIST_F32, op, 4, in, out), 0);
      for (int i = 0; i < 3; ++i)
        EXPECT_NE(out[i], out[i]);
      EXPECT_EQ(out[3], 4);
    }
    return 0;
  });
  EXPECT_EQ(message, "");
}

// 1 + 1e8 - 1e8 depends on the order; it must be that of the places, neither
// another nor the reverse.
TEST_P(Reductions, AreCombinedInTheOrderOfThePlaces) {
  for (int round = 0; round < 20; ++round) {
    std::string message = runRanks(line(3), [](dist_rank *rank) {
      const float operands[3] = {1.0f, 1e8f, -1e8f};
      std::vector<float> in(5000, operands[rank->index]), out(5000);
      EXPECT_EQ(dist_all_reduce(rank, 0, 0, -1, DIST_F32, DIST_SUM, 5000,
                                in.data(), out.data()),
                0);
      for (float x : out)
        EXPECT_EQ(x, (1.0f + 1e8f) + -1e8f);
      return 0;
    });
    EXPECT_EQ(message, "");
  }
}

/// --reductions mpi: of three operands the first is added last. In the order of
/// places the sum is 0.
TEST(LibrarysReductions, AreInItsOwnOrder) {
  auto body = [](dist_rank *rank) {
    const float operands[3] = {1.0f, 1e8f, -1e8f};
    std::vector<float> in(15, operands[rank->index]), out(15);
    for (int32_t count : {1, 15}) {
      EXPECT_EQ(dist_all_reduce(rank, 0, 0, -1, DIST_F32, DIST_SUM, count,
                                in.data(), out.data()),
                0);
      EXPECT_EQ(out[count - 1], 1.0f);
    }
    EXPECT_EQ(dist_reduce_scatter(rank, 0, 0, -1, DIST_F32, DIST_SUM, 3, 5, 1,
                                  in.data(), out.data()),
              0);
    EXPECT_EQ(out[0], 1.0f);
    return 0;
  };
  EXPECT_EQ(runMessages(line(3), body, /*reduces=*/true), "");
}

// In f16, 2048 + 1 + 1 is 2048 if every step rounds, and 2050 if only the last.
TEST_P(Reductions, HalvesRoundOnce) {
  std::string message = runRanks(line(3), [](dist_rank *rank) {
    uint16_t in = floatToHalf(rank->index ? 1 : 2048), out;
    EXPECT_EQ(dist_all_reduce(rank, 0, 0, -1, DIST_F16, DIST_SUM, 1, &in, &out),
              0);
    EXPECT_EQ(halfToFloat(out), 2050);
    in = floatToBfloat(rank->index ? 1 : 256);
    EXPECT_EQ(
        dist_all_reduce(rank, 0, 0, -1, DIST_BF16, DIST_SUM, 1, &in, &out), 0);
    EXPECT_EQ(bfloatToFloat(out), 258);
    return 0;
  });
  EXPECT_EQ(message, "");
}

TEST_P(Reductions, IntegersWrap) {
  std::string message = runRanks(line(2), [](dist_rank *rank) {
    int32_t in = INT32_MAX, out;
    EXPECT_EQ(dist_all_reduce(rank, 0, 0, -1, DIST_I32, DIST_SUM, 1, &in, &out),
              0);
    EXPECT_EQ(out, -2);
    return 0;
  });
  EXPECT_EQ(message, "");
}

} // namespace
