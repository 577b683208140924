//===- SlicesTest.cpp - Local parts of whole tensors ----------------------===//

#include "dist/Slices.h"
#include "dist/Safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>

using namespace dist;

namespace {

const Mesh mesh{{{"a", 2}, {"b", 6}}};

AxisRef a{0, 1, 2, 1}, b{1, 1, 6, 1}, bMajor{1, 1, 2, 3}, bMinor{1, 2, 3, 1};

TensorDesc makeDesc(const std::vector<std::vector<SubDim>> &dims,
                    dist_dtype dtype = DIST_I32) {
  TensorDesc desc;
  desc.dtype = dtype;
  desc.dims = dims;
  for (const std::vector<SubDim> &dim : dims) {
    int64_t extent = 1;
    for (const SubDim &sub : dim)
      extent *= sub.size;
    desc.globalShape.push_back(extent);
  }
  desc.localShape = localShapeOf(desc);
  return desc;
}

/// 1, 2, 3, …: zero is padding.
Tensor counted(const Shape &shape) {
  Tensor tensor = Tensor::zeros(DIST_I32, shape);
  int32_t *data = static_cast<int32_t *>(tensor.data);
  std::iota(data, data + tensor.count(), 1);
  return tensor;
}

std::vector<int32_t> slice(const TensorDesc &desc, int64_t rank) {
  std::vector<int32_t> local(numElements(desc.localShape), 99);
  readSlice(mesh, desc, rank, counted(desc.globalShape), local.data());
  return local;
}

using V = std::vector<int32_t>;

TEST(Slices, UnevenOneDimension) {
  TensorDesc ten = makeDesc({{{10, {bMajor, a}}}}); // 4 parts of 3
  EXPECT_EQ(ten.localShape, Shape{3});
  // ceil(10/2) = 5, ceil(5/2) = 3: the second level pads each half.
  EXPECT_EQ(slice(ten, 0), (V{1, 2, 3}));
  EXPECT_EQ(slice(ten, 6), (V{4, 5, 0}));
  EXPECT_EQ(slice(ten, 3), (V{6, 7, 8}));
  EXPECT_EQ(slice(ten, 9), (V{9, 10, 0}));
  TensorDesc thirteen = makeDesc({{{13, {b}}}});
  EXPECT_EQ(slice(thirteen, 3), (V{10, 11, 12}));
  EXPECT_EQ(slice(thirteen, 4), (V{13, 0, 0}));
  EXPECT_EQ(slice(thirteen, 5), (V{0, 0, 0}));
  EXPECT_EQ(slice(thirteen, 11), (V{0, 0, 0}));
  TensorDesc one = makeDesc({{{1, {a, b}}}});
  EXPECT_EQ(slice(one, 0), (V{1}));
  EXPECT_EQ(slice(one, 7), (V{0}));
  TensorDesc none = makeDesc({{{0, {b}}}, {{3, {}}}});
  EXPECT_EQ(none.localShape, (Shape{0, 3}));
  EXPECT_EQ(slice(none, 2), V{});
}

TEST(Slices, InterleavedGroups) {
  // q|k|v, each of 4 columns cut in two.
  TensorDesc desc = makeDesc({{{2, {}}}, {{3, {}}, {4, {a}}}});
  EXPECT_EQ(desc.localShape, (Shape{2, 6}));
  EXPECT_EQ(slice(desc, 0), (V{1, 2, 5, 6, 9, 10, 13, 14, 17, 18, 21, 22}));
  EXPECT_EQ(slice(desc, 6), (V{3, 4, 7, 8, 11, 12, 15, 16, 19, 20, 23, 24}));
  // Both levels cut.
  desc = makeDesc({{{3, {bMinor}}, {4, {a}}}});
  EXPECT_EQ(slice(desc, 1), (V{5, 6}));
  EXPECT_EQ(slice(desc, 8), (V{11, 12}));
}

TEST(Slices, ScalarsAndReplicatedTensors) {
  EXPECT_EQ(slice(makeDesc({}), 5), V{1});
  EXPECT_EQ(slice(makeDesc({{{2, {}}}, {{2, {}}}}), 5), (V{1, 2, 3, 4}));
}

TEST(Slices, WritersTogetherWriteTheWhole) {
  for (const TensorDesc &desc :
       {makeDesc({}), makeDesc({{{5, {}}}}), makeDesc({{{10, {bMajor, a}}}}),
        makeDesc({{{13, {b}}}, {{3, {a}}}}), makeDesc({{{1, {a, b}}}}),
        makeDesc({{{3, {bMinor}}, {4, {a}}}, {{2, {}}}}),
        makeDesc({{{2, {}}}, {{7, {bMinor}}}, {{5, {}}}}),
        makeDesc({{{0, {a}}}})}) {
    Tensor whole = counted(desc.globalShape);
    // Of all, and of so few that they end anywhere.
    std::map<int64_t, Tensor> outs;
    for (int64_t size : {1000, 7, 4, 1})
      outs[size] = Tensor::zeros(desc.dtype, desc.globalShape);
    int64_t written = 0, parts = 1;
    for (const std::vector<SubDim> &dim : desc.dims)
      for (const SubDim &sub : dim)
        for (const AxisRef &ref : sub.axes)
          parts *= ref.size;
    for (int64_t rank = 0; rank < mesh.size(); ++rank) {
      std::vector<int32_t> local(numElements(desc.localShape));
      readSlice(mesh, desc, rank, whole, local.data());
      const char *piece = contiguousSlice(mesh, desc, rank, whole);
      if (piece)
        EXPECT_EQ(std::memcmp(piece, local.data(), desc.localBytes()), 0);
      if (!isWriter(mesh, desc, rank))
        continue;
      ++written;
      for (auto &[size, out] : outs)
        for (int64_t at = 0; at < whole.count(); at += size) {
          int64_t reads = 0;
          writeSlice(
              mesh, desc, rank, {at, at + size},
              [&](int64_t first, int64_t count) {
                ++reads;
                EXPECT_TRUE(first >= 0 && count > 0 &&
                            first + count <= int64_t(local.size()));
                if (size == 1)
                  EXPECT_EQ(count, 1);
                return local.data() + first;
              },
              static_cast<int32_t *>(out.data) + at);
          EXPECT_LE(reads, 1);
        }
    }
    EXPECT_EQ(written, parts) << toString(desc.globalShape);
    for (auto &[size, out] : outs)
      EXPECT_EQ(std::memcmp(out.data, whole.data, whole.bytes()), 0)
          << toString(desc.globalShape) << " by " << size;
  }
}

TEST(Slices, ContiguousOnesAreFound) {
  auto offset = [](const TensorDesc &desc, int64_t rank) -> int64_t {
    Tensor whole = counted(desc.globalShape);
    const char *piece = contiguousSlice(mesh, desc, rank, whole);
    return piece ? (piece - static_cast<char *>(whole.data)) / 4 : -1;
  };
  EXPECT_EQ(offset(makeDesc({{{4, {}}}, {{6, {}}}}), 7), 0);
  EXPECT_EQ(offset(makeDesc({{{4, {a}}}, {{6, {}}}}), 7), 12);
  EXPECT_EQ(offset(makeDesc({{{4, {}}}, {{6, {a}}}}), 7), -1);
  EXPECT_EQ(offset(makeDesc({{{1, {}}}, {{6, {a}}}}), 7), 3);
  EXPECT_EQ(offset(makeDesc({{{2, {a}}}, {{6, {b}}}, {{5, {}}}}), 8), 40);
  EXPECT_EQ(offset(makeDesc({{{13, {b}}}}), 3), 9);
  EXPECT_EQ(offset(makeDesc({{{13, {b}}}}), 4), -1); // padded
  EXPECT_EQ(offset(makeDesc({{{3, {}}, {4, {a}}}}), 0), -1);
  EXPECT_EQ(offset(makeDesc({}), 3), 0);
}

TEST(Slices, ConvertWhileReading) {
  TensorDesc desc = makeDesc({{{4, {a}}}}, DIST_F64);
  Tensor whole = Tensor::zeros(DIST_F32, {4});
  static_cast<float *>(whole.data)[3] = 2.5f;
  double local[2];
  readSlice(mesh, desc, 6, whole, local);
  EXPECT_EQ(local[1], 2.5);
}

TEST(Slices, PartsOfAParameter) {
  // Rows 2 to 5 and columns 1 to 4 of 6 x 5, columns cut in two.
  TensorDesc desc = makeDesc({{{4, {}}}, {{4, {a}}}});
  desc.partOf = {6, 5};
  desc.partAt = {2, 1};
  Tensor whole = counted({6, 5});
  std::vector<int32_t> local(8);
  readSlice(mesh, desc, 6, whole, local.data());
  EXPECT_EQ(local, (V{14, 15, 19, 20, 24, 25, 29, 30}));
  EXPECT_EQ(contiguousSlice(mesh, desc, 6, whole), nullptr);
  // Whole rows are one piece, some columns are not.
  desc = makeDesc({{{4, {a}}}, {{5, {}}}});
  desc.partOf = {6, 5};
  desc.partAt = {1, 0};
  EXPECT_EQ(contiguousSlice(mesh, desc, 6, whole),
            static_cast<char *>(whole.data) + 15 * 4);
  desc = makeDesc({{{2, {}}}, {{3, {}}}});
  desc.partOf = {6, 5};
  desc.partAt = {0, 2};
  EXPECT_EQ(contiguousSlice(mesh, desc, 0, whole), nullptr);
}

TEST(Slices, PiecesOfAnArgument) {
  // Of 5 rows over two ranks, and of 3, one below the other; each has padding
  // on the second rank.
  TensorDesc first = makeDesc({{{5, {a}}}, {{2, {}}}}),
             second = makeDesc({{{3, {a}}}, {{2, {}}}});
  first.joinedShape = second.joinedShape = {5, 2};
  first.joinedAt = {0, 0};
  second.joinedAt = {3, 0};
  std::vector<int32_t> local(10, -1);
  readSlice(mesh, first, 6, counted({5, 2}), local.data());
  readSlice(mesh, second, 6, counted({3, 2}), local.data());
  EXPECT_EQ(local, (V{7, 8, 9, 10, 0, 0, 5, 6, 0, 0}));
  EXPECT_EQ(contiguousSlice(mesh, first, 6, counted({5, 2})), nullptr);
  // Beside each other.
  first = makeDesc({{{2, {}}}, {{4, {a}}}});
  second = makeDesc({{{2, {}}}, {{1, {}}}});
  first.joinedShape = second.joinedShape = {2, 3};
  first.joinedAt = {0, 0};
  second.joinedAt = {0, 2};
  local.assign(6, -1);
  readSlice(mesh, first, 6, counted({2, 4}), local.data());
  readSlice(mesh, second, 6, counted({2, 1}), local.data());
  EXPECT_EQ(local, (V{3, 4, 1, 7, 8, 2}));
}

TEST(Slices, BlocksThatStayWhole) {
  // 5 blocks of 3 over two ranks: three blocks, then two and padding.
  TensorDesc desc = makeDesc({{{5, {a}}, {3, {}}}});
  std::vector<int32_t> local(9, -1);
  readSlice(mesh, desc, 6, counted({15}), local.data());
  EXPECT_EQ(local, (V{10, 11, 12, 13, 14, 15, 0, 0, 0}));
}

TEST(Slices, PoisonShowsInPaddingAlone) {
  TensorDesc desc = makeDesc({{{10, {bMajor, a}}}});
  Tensor whole = counted({10});
  std::vector<int32_t> local(3);
  readSlice(mesh, desc, 6, whole, local.data(), Padding::Poison);
  EXPECT_EQ(local, (V{4, 5, 0x7f7f7f7f}));
  desc.dtype = DIST_F32;
  std::vector<float> floats(3);
  readSlice(mesh, desc, 6, whole, floats.data(), Padding::Poison);
  EXPECT_EQ(floats[1], 5);
  EXPECT_TRUE(std::isnan(floats[2]));
}

/// How much of the mapping at `data` this process holds.
int64_t residentBytes(const void *data) {
  std::ifstream maps("/proc/self/smaps");
  auto address = reinterpret_cast<uintptr_t>(data);
  bool isHere = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin, end;
    long kilobytes;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      isHere = begin <= address && address < end;
    else if (isHere && std::sscanf(line.c_str(), "Rss: %ld", &kilobytes) == 1)
      return kilobytes << 10;
  }
  return -1;
}

/// One rank's columns of a tensor in a sparse file.
void readColumns(int64_t rows, int64_t most, int64_t least) {
  TensorDesc desc = makeDesc({{{rows, {}}}, {{1024, {a}}}});
  std::string header = R"({"w":{"dtype":"I32","shape":[)" +
                       std::to_string(rows) + R"(,1024],"data_offsets":[0,)" +
                       std::to_string(rows * 4096) + "]}}";
  header.append(4096 - 8 - header.size(), ' ');
  std::string path = testing::TempDir() + "/sparse.safetensors";
  uint64_t size = header.size();
  std::ofstream(path, std::ios::binary)
      << std::string(reinterpret_cast<const char *>(&size), 8) << header;
  std::filesystem::resize_file(path, 4096 + rows * 4096);
  Safetensors file(path);
  const Tensor &whole = *file.find("w");
  std::vector<int32_t> local(numElements(desc.localShape), 99);
  readSlice(mesh, desc, 6, whole, local.data());
  EXPECT_EQ(local.back(), 0);
  int64_t held = residentBytes(whole.data);
  EXPECT_LE(held, most);
  EXPECT_GE(held, least);
}

TEST(Slices, PagesOfAFileAreGivenBack) {
  readColumns(16384, 1 << 20, 0);       // of 64 MiB
  readColumns(128, 1 << 30, 128 << 12); // a small one stays
}

} // namespace
