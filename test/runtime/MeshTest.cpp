//===- MeshTest.cpp - Coordinates, groups and cuts ------------------------===//

#include "dist/Mesh.h"

#include <gtest/gtest.h>

using namespace dist;

static const Mesh mesh{{{"dp", 2}, {"tp", 6}}};

TEST(Mesh, RanksAreRowMajor) {
  EXPECT_EQ(mesh.size(), 12);
  EXPECT_EQ(mesh.coordinate(7, 0), 1);
  EXPECT_EQ(mesh.coordinate(7, 1), 1);
  EXPECT_EQ(mesh.find("tp"), 1);
  EXPECT_EQ(mesh.find("pp"), -1);
  EXPECT_EQ(Mesh().size(), 1);
}

TEST(Mesh, SubAxisIsADigitOfTheCoordinate) {
  AxisRef major{1, 1, 2, 3}, minor{1, 2, 3, 1};
  for (int64_t c = 0; c < 6; ++c) {
    EXPECT_EQ(mesh.coordinate(c, major), c / 3);
    EXPECT_EQ(mesh.coordinate(c, minor), c % 3);
  }
}

TEST(Communicator, GroupsDifferAlongTheirAxesOnly) {
  Communicator comm(mesh, {{0, 1, 2, 1}, {1, 2, 3, 1}});
  EXPECT_EQ(comm.size, 6);
  ASSERT_EQ(comm.members.size(), 2u);
  EXPECT_EQ(comm.members[comm.group[0]],
            (std::vector<int64_t>{0, 1, 2, 6, 7, 8}));
  EXPECT_EQ(comm.members[comm.group[3]],
            (std::vector<int64_t>{3, 4, 5, 9, 10, 11}));
  EXPECT_EQ(comm.place[7], 4);
}

TEST(Communicator, PlacesFollowTheOrderOfTheAxes) {
  Communicator comm(mesh, {{1, 2, 3, 1}, {0, 1, 2, 1}});
  EXPECT_EQ(comm.members[comm.group[0]],
            (std::vector<int64_t>{0, 6, 1, 7, 2, 8}));
}

TEST(Communicator, WithoutAxesIsAloneInItsGroup) {
  Communicator comm(mesh, {});
  EXPECT_EQ(comm.size, 1);
  EXPECT_EQ(comm.members.size(), 12u);
}

static std::vector<std::pair<int64_t, int64_t>>
blocks(const std::vector<int64_t> &sizes, int64_t whole) {
  int64_t places = 1;
  for (int64_t size : sizes)
    places *= size;
  std::vector<std::pair<int64_t, int64_t>> result;
  for (int64_t i = 0; i < places; ++i) {
    Block block = blockAt(sizes, whole, i);
    result.push_back({block.start, block.valid});
  }
  return result;
}

using Blocks = std::vector<std::pair<int64_t, int64_t>>;

TEST(Block, CutsEvenAndUnevenDimensions) {
  EXPECT_EQ(blockRows({4}, 8), 2);
  EXPECT_EQ(blocks({4}, 8), (Blocks{{0, 2}, {2, 2}, {4, 2}, {6, 2}}));
  EXPECT_EQ(blockRows({4}, 10), 3);
  EXPECT_EQ(blocks({4}, 10), (Blocks{{0, 3}, {3, 3}, {6, 3}, {9, 1}}));
  EXPECT_EQ(blockRows({6}, 13), 3);
  EXPECT_EQ(blocks({6}, 13),
            (Blocks{{0, 3}, {3, 3}, {6, 3}, {9, 3}, {12, 1}, {15, 0}}));
  EXPECT_EQ(blockRows({8}, 1), 1);
  EXPECT_EQ(blocks({8}, 1)[0], std::make_pair(int64_t(0), int64_t(1)));
  EXPECT_EQ(blocks({8}, 1)[7].second, 0);
  EXPECT_EQ(blockRows({3}, 0), 0);
  EXPECT_EQ(blocks({3}, 0), (Blocks{{0, 0}, {0, 0}, {0, 0}}));
}

TEST(Block, CutsLevelByLevel) {
  EXPECT_EQ(blockRows({2, 2}, 10), 3);
  EXPECT_EQ(blocks({2, 2}, 10), (Blocks{{0, 3}, {3, 2}, {5, 3}, {8, 2}}));
  EXPECT_EQ(blocks({2, 2}, 9), (Blocks{{0, 3}, {3, 2}, {5, 3}, {8, 1}}));
}

TEST(Block, OfNoAxesIsTheWhole) {
  EXPECT_EQ(blockRows({}, 7), 7);
  EXPECT_EQ(blocks({}, 7), (Blocks{{0, 7}}));
}
