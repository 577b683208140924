//===- MpiLinkTest.cpp - What is longer than one of MPI's messages --------===//

#include "runtime/mpi/MpiLink.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <string>
#include <vector>

using namespace dist;

namespace {

/// MPI for one process that sends to itself: messages of a tag arrive in order,
/// and a receive has the size of what was sent.
class Loop final : public MpiLibrary {
public:
  explicit Loop(int64_t most) : most(most) {}

  int64_t rank() const override { return 0; }
  int64_t size() const override { return 1; }
  int64_t sizeOfHost() const override { return 1; }
  int64_t rankOfHost() const override { return 0; }
  int64_t send(int64_t, int32_t tag, const void *data, int64_t bytes) override {
    EXPECT_LE(bytes, most);
    sent[tag].emplace_back(static_cast<const char *>(data), bytes);
    return -1;
  }
  int64_t receive(int64_t, int32_t tag, void *data, int64_t bytes) override {
    EXPECT_LE(bytes, most);
    receives.push_back({tag, data, bytes});
    return receives.size() - 1;
  }
  bool test(int64_t request) override {
    if (request < 0)
      return true;
    const Receive &one = receives[request];
    auto &queue = sent[one.tag];
    if (queue.empty())
      return false;
    EXPECT_EQ(int64_t(queue.front().size()), one.bytes);
    std::memcpy(one.data, queue.front().data(), one.bytes);
    queue.pop_front();
    return true;
  }
  int64_t split(int64_t, int64_t) override { return 0; }
  bool canReduce(dist_dtype, dist_op) const override { return true; }
  int64_t allReduce(int64_t, dist_dtype, dist_op, const void *in, void *out,
                    int64_t count) override {
    EXPECT_LE(count, most);
    // Of two processes that have the same.
    for (int64_t i = 0; i < count; ++i)
      static_cast<double *>(out)[i] = 2 * static_cast<const double *>(in)[i];
    return -1;
  }
  int64_t reduceScatter(int64_t, dist_dtype, dist_op, const void *, void *,
                        const int32_t *) override {
    ADD_FAILURE();
    return -1;
  }
  void broadcast(void *, int64_t) override {}
  void finalize() override {}

private:
  struct Receive {
    int32_t tag;
    void *data;
    int64_t bytes;
  };
  int64_t most;
  std::map<int32_t, std::deque<std::string>> sent;
  std::vector<Receive> receives;
};

std::vector<double> count(int64_t size) {
  std::vector<double> values(size);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

} // namespace

TEST(MpiLink, SendsPieces) {
  constexpr int64_t kPiece = 64;
  // In numbers: less than a piece, one, and some with and without a rest.
  for (int64_t size : {1, 7, 8, 9, 16, 17, 100}) {
    Loop library(kPiece);
    MpiLink link(library, /*spins=*/true, kPiece);
    std::vector<double> from = count(size), other = count(size), to(size),
                        second(size);
    for (double &value : other)
      value = -value;
    PointToPoint::Requests requests;
    int64_t bytes = size * sizeof(double);
    // Two messages of a channel do not mix.
    link.start(3, {{0, from.data(), bytes}, {0, other.data(), bytes}},
               {{0, to.data(), bytes}, {0, second.data(), bytes}}, requests);
    while (!requests.empty())
      requests.erase(
          std::remove_if(requests.begin(), requests.end(),
                         [&](int64_t one) { return library.test(one); }),
          requests.end());
    EXPECT_EQ(to, from);
    EXPECT_EQ(second, other);
  }
}

TEST(MpiLink, ReducesPieces) {
  constexpr int64_t kPiece = 64;
  Loop library(kPiece);
  MpiLink link(library, /*spins=*/true, kPiece);
  Topology topology;
  Mesh mesh{{{"x", 2}}};
  topology.comms.emplace_back(mesh, std::vector<AxisRef>{mesh.whole(0)});
  link.useReductions(topology, {true});
  for (int64_t size : {1, 64, 65, 200}) {
    std::vector<double> values = count(size), want = values;
    for (double &value : want)
      value *= 2;
    PointToPoint::Requests requests;
    link.startReduction(
        {0, DIST_F64, DIST_SUM, values.data(), values.data(), size}, requests);
    EXPECT_EQ(values, want);
  }
}
