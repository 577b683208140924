//===- ChecksTest.cpp - What a kernel may do wrong, one thing each --------===//
//
// Small kernels, each with one fault, and beside it what is like it and none.
//
//===----------------------------------------------------------------------===//

#include "runtime/emulated/Executor.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace dist;
using namespace dist::emulated;

namespace {

/// A kernel of this body with two buffers of 64 words, x of which is written,
/// at %x and %y, and %t the thread, %b the block, %u four times the thread.
class Checks : public testing::Test {
protected:
  LaunchResult run(const std::string &body, uint32_t threads = 32,
                   uint32_t blocks = 1, LaunchOptions options = {},
                   const std::string &before = "") {
    std::string ptx =
        ".version 7.8\n.target sm_90\n.address_size 64\n" + before +
        ".visible .entry k(.param .u64 px, .param .u64 py)\n{\n"
        ".reg .pred %p<8>;\n.reg .b32 %r<20>, %t, %b;\n"
        ".reg .b64 %x, %y, %u, %z, %rd<8>;\n"
        ".shared .align 4 .b8 s[256];\n"
        "ld.param.u64 %x, [px];\nld.param.u64 %y, [py];\n"
        "mov.u32 %t, %tid.x;\nmov.u32 %b, %ctaid.x;\n"
        "mul.wide.u32 %u, %t, 4;\nadd.s64 %x, %x, %u;\nadd.s64 %y, %y, %u;\n"
        "cvt.u32.u64 %r9, %u;\nmov.u32 %r8, s;\nadd.s32 %r9, %r9, %r8;\n";
    firstLine = std::count(ptx.begin(), ptx.end(), '\n') + 1;
    ptx += body + "\nret;\n}\n";
    memory = std::make_unique<Memory>();
    Module module(ptx, "k.ptx", *memory);
    void *x = memory->allocate(256, "x");
    std::memset(x, 1, 256);
    memory->setWritten(x, 256);
    y = static_cast<uint32_t *>(memory->allocate(256, "y"));
    return launch(module, "k", {{blocks, 1, 1}, {threads, 1, 1}, 0}, {&x, &y},
                  options);
  }

  /// Expects exactly these faults, in lines of the body from 1 on.
  void expect(const LaunchResult &result,
              const std::vector<std::pair<Fault, uint32_t>> &faults) {
    std::string all;
    for (const Report &report : result.reports)
      all += report.str() + "\n";
    ASSERT_EQ(result.reports.size(), faults.size()) << all;
    for (size_t i = 0; i < faults.size(); ++i) {
      EXPECT_EQ(nameOf(result.reports[i].fault), nameOf(faults[i].first))
          << all;
      EXPECT_EQ(result.reports[i].line, firstLine + faults[i].second - 1)
          << all;
    }
  }

  std::unique_ptr<Memory> memory;
  uint32_t *y = nullptr;
  uint32_t firstLine = 0;
};

TEST_F(Checks, AccessesOutsideOfBuffers) {
  expect(run("ld.global.b32 %r1, [%x];\nst.global.b32 [%y], %r1;"), {});
  LaunchResult result = run("ld.global.b32 %r1, [%x+252];\n"
                            "st.global.b32 [%y+-4], %r1;");
  expect(result, {{Fault::OutOfBounds, 1}, {Fault::OutOfBounds, 2}});
  // Thread 1 is the first that reads beyond, and 31 do.
  EXPECT_EQ(result.reports[0].thread, 1u);
  EXPECT_EQ(result.reports[0].count, 31u);
  EXPECT_NE(result.reports[0].text.find("reads 4 bytes at x+256, of which "
                                        "there are 256 bytes"),
            std::string::npos)
      << result.reports[0].text;
  expect(run("st.shared.b32 [%r9+224], %r1;"), {{Fault::OutOfBounds, 1}});
  // A null pointer.
  expect(run("mov.b64 %z, 0;\nld.b32 %r1, [%z];"), {{Fault::OutOfBounds, 2}});
}

TEST_F(Checks, MisalignedAccesses) {
  expect(run("ld.global.v2.b32 {%r1, %r2}, [%x];"), {{Fault::Misaligned, 1}});
  expect(run("add.s64 %x, %x, %u;\nld.global.v2.b32 {%r1, %r2}, [%x];", 32),
         {});
  // A variable of alignment 4 promises no more, wherever it lies.
  expect(run("st.shared.v2.b32 [s+8], {%r1, %r2};", 1),
         {{Fault::Misaligned, 1}});
  expect(run("mov.b64 %z, s;\nst.shared.v4.b32 [%z], {%r1, %r1, %r1, %r1};", 1),
         {{Fault::Misaligned, 2}});
}

TEST_F(Checks, ReadsOfWhatNobodyWrote) {
  expect(run("ld.global.b32 %r1, [%y];"), {{Fault::Unwritten, 1}});
  expect(run("st.global.b32 [%y], %t;\nld.global.b32 %r1, [%y];"), {});
  // Half of it.
  expect(run("cvt.u16.u32 %r1, %t;\nst.global.b8 [%y], %r1;\n"
             "ld.global.b32 %r1, [%y];"),
         {{Fault::Unwritten, 3}});
  expect(run("ld.shared.b32 %r1, [%r9];"), {{Fault::Unwritten, 1}});
  expect(run(".local .align 4 .b8 l[8];\nst.local.b32 [l], %t;\n"
             "ld.local.b32 %r1, [l];\nld.local.b32 %r1, [l+4];"),
         {{Fault::Unwritten, 4}});
  // What stays of a result.
  run("setp.lt.u32 %p1, %t, 10;\n@%p1 st.global.b32 [%y], %t;");
  EXPECT_EQ(memory->countUnwritten(y, 256), 256u - 40);
  EXPECT_EQ(memory->findUnwritten(y, 256), 40u);
}

TEST_F(Checks, RacesBetweenWarps) {
  const char *swap = "st.shared.b32 [%r9], %t;\n"
                     "BARRIER\n"
                     "xor.b32 %r1, %r9, 128;\n" // another warp's
                     "ld.shared.b32 %r2, [%r1];\n"
                     "st.global.b32 [%y], %r2;";
  auto with = [&](const std::string &barrier) {
    std::string text = swap;
    return text.replace(text.find("BARRIER"), 7, barrier);
  };
  for (Order order : {Order::Issue, Order::Reverse, Order::Seeded}) {
    LaunchOptions options;
    options.order = order;
    // Multiples of 128 from the start of s, which lies at 4.
    std::string body = "sub.s32 %r9, %r9, 4;\n";
    expect(run(body + with("bar.sync 0;"), 64, 1, options), {});
    EXPECT_EQ(y[5], 37u);
    EXPECT_FALSE(
        run(body + with("bar.warp.sync -1;"), 64, 1, options).reports.empty());
    expect(run(body + with("barrier.sync 3, 64;"), 64, 1, options), {});
  }
}

TEST_F(Checks, RacesWithinAWarp) {
  std::string body = "st.shared.b32 [%r9], %t;\n"
                     "BARRIER\n"
                     "ld.shared.b32 %r2, [s];\n";
  auto with = [&](const std::string &barrier) {
    std::string text = body;
    return text.replace(text.find("BARRIER"), 7, barrier);
  };
  expect(run(with("bar.warp.sync -1;")), {});
  expect(run(with("bar.sync 0;")), {});
  // A shuffle orders nothing in memory.
  expect(run(with("shfl.sync.bfly.b32 %r3, %t, 1, 31, -1;")),
         {{Fault::Race, 3}});
  // All lanes write one element.
  expect(run("st.shared.b32 [s], %t;"), {{Fault::Race, 1}});
  expect(run("st.shared.b32 [s+4], 7;\nld.shared.b32 %r1, [s+4];", 1), {});
  // Reads, then a write of what others have read.
  expect(run("st.shared.b32 [%r9], 1;\nbar.sync 0;\nld.shared.b32 %r1, [s];\n"
             "st.shared.b32 [%r9], 2;"),
         {{Fault::Race, 4}});
  // What all lanes have read before they met, one may read again and write.
  // Those of another warp have not met it.
  auto again = [](const std::string &barrier) {
    return "st.shared.b32 [%r9], 1;\nbar.sync 0;\nld.shared.b32 %r1, [s];\n" +
           barrier +
           "\nsetp.eq.u32 %p1, %t, 0;\n@%p1 ld.shared.b32 %r1, [s];\n"
           "@%p1 st.shared.b32 [s], 2;";
  };
  expect(run(again("bar.warp.sync -1;")), {});
  expect(run(again("mov.u32 %r3, 0;")), {{Fault::Race, 7}});
  EXPECT_FALSE(run(again("bar.warp.sync -1;"), 64).reports.empty());
  expect(run(again("bar.sync 0;"), 64), {});
  // Atomics are ordered among themselves, and not with plain reads.
  std::string zero = "setp.eq.u32 %p1, %t, 0;\n@%p1 st.shared.b32 [s], 0;\n"
                     "bar.sync 0;\natom.shared.add.u32 %r1, [s], 1;\n";
  expect(run(zero), {});
  expect(run(zero + "ld.shared.b32 %r2, [s];"), {{Fault::Race, 5}});
  expect(run(zero + "ld.volatile.shared.b32 %r2, [s];"), {});
}

TEST_F(Checks, TwoThreadsWriteOneElement) {
  std::string one = "ld.param.u64 %z, [py];\nst.global.b32 [%z], 1;";
  expect(run(one), {{Fault::Race, 2}});
  expect(run(one, 1), {});
  // In another block.
  expect(run(one, 1, 2), {{Fault::BlockRace, 2}});
  expect(run("ld.param.u64 %z, [py];\nred.global.max.u32 [%z], 1;", 1, 2),
         {{Fault::Unwritten, 2}}); // nobody has written the first one
  // One block reads what another one writes, in either order.
  std::string body = "setp.eq.u32 %p1, %b, 0;\n"
                     "@%p1 st.global.b32 [%x], 1;\n"
                     "@!%p1 ld.global.b32 %r1, [%x];";
  LaunchOptions reverse;
  reverse.order = Order::Reverse;
  expect(run(body, 32, 2), {{Fault::BlockRace, 3}});
  expect(run(body, 32, 2, reverse), {{Fault::BlockRace, 2}});
}

TEST_F(Checks, NonCoherentLoadsOfWhatIsWritten) {
  expect(run("ld.global.nc.b32 %r1, [%x];\nst.global.b32 [%y], %r1;"), {});
  expect(run("ld.global.nc.b32 %r1, [%x];\nst.global.b32 [%x], %r1;"),
         {{Fault::NonCoherent, 2}});
  expect(run("st.global.b32 [%x], %t;\nld.global.nc.b32 %r1, [%x];"),
         {{Fault::NonCoherent, 2}});
}

TEST_F(Checks, PartOfAWarpAtABarrier) {
  expect(run("setp.lt.u32 %p1, %t, 16;\n@%p1 bra L;\nbar.sync 0;\nL:\n"
             "bar.sync 0;"),
         {{Fault::PartOfWarp, 3}, {Fault::PartOfWarp, 5}});
  expect(run("setp.lt.u32 %p1, %t, 16;\n@!%p1 bar.sync 0;\nbar.sync 0;"),
         {{Fault::PartOfWarp, 2}, {Fault::PartOfWarp, 3}});
  // Who has left need not come.
  expect(run("setp.lt.u32 %p1, %t, 16;\n@%p1 exit;\nbar.sync 0;"), {});
  // Lanes that come by another way, later, come together.
  expect(run("setp.lt.u32 %p1, %t, 16;\n@%p1 bra L;\nM:\nbar.sync 0;\nret;\n"
             "L:\nadd.s32 %r1, %t, 1;\nbra M;"),
         {});
  // Of barrier.sync without .aligned each thread counts.
  expect(run("setp.lt.u32 %p1, %t, 16;\n@%p1 bra L;\nbarrier.sync 0;\nbra M;\n"
             "L:\nbarrier.sync 0;\nM:\n"),
         {});
}

TEST_F(Checks, BarriersThatOthersDoNotReach) {
  // Warp 1 waits at barrier 1, warp 0 at barrier 0.
  LaunchResult result =
      run("setp.lt.u32 %p1, %t, 32;\n@%p1 bra L;\nbar.sync 1;\nbra M;\n"
          "L:\nbar.sync 0;\nM:\nst.global.b32 [%y], 1;",
          64);
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.reports[0].fault, Fault::Barrier);
  EXPECT_TRUE(result.isComplete);
  // Producers arrive and go on, consumers wait.
  expect(run("setp.lt.u32 %p1, %t, 32;\n@%p1 bra L;\n"
             "st.shared.b32 [%r9], 5;\nbar.arrive 1, 64;\nbra M;\n"
             "L:\nbar.sync 1, 64;\nld.shared.b32 %r1, [%r9+128];\nM:\n",
             64),
         {});
}

TEST_F(Checks, LanesMissingAtAShuffle) {
  expect(run("shfl.sync.down.b32 %r1, %t, 1, 31, -1;\n"
             "st.global.b32 [%y], %r1;"),
         {});
  EXPECT_EQ(y[3], 4u);
  EXPECT_EQ(y[31], 31u);
  expect(run("setp.lt.u32 %p1, %t, 16;\n"
             "@%p1 shfl.sync.down.b32 %r1, %t, 1, 31, -1;"),
         {{Fault::MissingLanes, 2}});
  // Named are only those that come; lane 15 reads lane 16.
  expect(run("setp.lt.u32 %p1, %t, 16;\n"
             "@%p1 shfl.sync.down.b32 %r1, %t, 1, 31, 65535;"),
         {{Fault::MissingLanes, 2}});
  expect(run("setp.lt.u32 %p1, %t, 16;\n"
             "@%p1 shfl.sync.bfly.b32 %r1, %t, 1, 31, 65535;"),
         {});
  // A lane that the mask does not name.
  expect(run("vote.sync.any.pred %p1, 1, 65535;"), {{Fault::MissingLanes, 1}});
  // A block of 20 threads has no other lanes.
  expect(run("shfl.sync.bfly.b32 %r1, %t, 16, 31, -1;", 20),
         {{Fault::MissingLanes, 1}});
}

TEST_F(Checks, OperationsOfAWarp) {
  auto result = [&](const std::string &body) {
    expect(run(body + "\nst.global.b32 [%y], %r1;"), {});
    return std::vector<uint32_t>(y, y + 32);
  };
  std::vector<uint32_t> up = result("shfl.sync.up.b32 %r1, %t, 3, 0, -1;");
  EXPECT_EQ(up[2], 2u);
  EXPECT_EQ(up[3], 0u);
  // Segments of 8 lanes: lane 6 + 3 is beyond its own.
  up = result("shfl.sync.down.b32 %r1|%p1, %t, 3, 0x1807, -1;");
  EXPECT_EQ(up[4], 7u);
  EXPECT_EQ(up[6], 6u);
  up = result("shfl.sync.idx.b32 %r1, %t, 5, 0x181f, -1;");
  EXPECT_EQ(up[20], 21u);
  up = result("and.b32 %r2, %t, 3;\nmatch.any.sync.b32 %r1, %r2, -1;");
  EXPECT_EQ(up[5], 0x22222222u);
  up = result("match.all.sync.b32 %r1|%p1, 7, -1;");
  EXPECT_EQ(up[5], ~0u);
  up = result("redux.sync.add.s32 %r1, %t, -1;");
  EXPECT_EQ(up[5], 496u);
  up = result("setp.lt.u32 %p1, %t, 3;\nvote.sync.ballot.b32 %r1, %p1, -1;");
  EXPECT_EQ(up[9], 7u);
  up = result("setp.lt.u32 %p1, %t, 3;\nmov.b32 %r1, 0;\n"
              "@%p1 activemask.b32 %r1;");
  EXPECT_EQ(up[1], 7u);
  up = result("setp.lt.u32 %p1, %t, 3;\nbar.red.popc.u32 %r1, 0, %p1;");
  EXPECT_EQ(up[9], 3u);
}

TEST_F(Checks, DivisionByZero) {
  LaunchResult result = run("sub.s32 %r1, %t, 5;\ndiv.s32 %r2, 100, %r1;");
  expect(result, {{Fault::DivisionByZero, 2}});
  EXPECT_EQ(result.reports[0].thread, 5u);
  EXPECT_EQ(result.reports[0].count, 1u);
  expect(run("setp.ne.u32 %p1, %t, 0;\n@%p1 rem.u32 %r2, 100, %t;"), {});
}

TEST_F(Checks, EndlessLoopsAreGivenUp) {
  LaunchOptions options;
  options.mostInstructions = 10'000;
  LaunchResult result = run("L:\nadd.s32 %r1, %r1, 1;\nbra L;", 32, 1, options);
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.reports[0].fault, Fault::Endless);
  EXPECT_FALSE(result.isComplete);
  EXPECT_EQ(result.counts.warpInstructions, 10'000u);
  // Another warp sets what a warp waits for.
  expect(run("setp.lt.u32 %p1, %t, 32;\n@!%p1 bra M;\n"
             "L:\nld.volatile.shared.b32 %r1, [s];\nsetp.ne.s32 %p2, %r1, 1;\n"
             "@%p2 bra L;\nret;\n"
             "M:\nsetp.eq.u32 %p3, %t, 32;\n"
             "@%p3 st.volatile.shared.b32 [s], 1;",
             64, 1, {}),
         {{Fault::Unwritten, 4}});
}

TEST_F(Checks, Traps) {
  expect(run("setp.eq.u32 %p1, %t, 9;\n@%p1 trap;\nst.global.b32 [%y], 1;"),
         {{Fault::Trap, 2}});
  EXPECT_EQ(memory->countUnwritten(y, 128), 4u);
}

TEST_F(Checks, ReportsHaveThePlaceInTheSource) {
  LaunchResult result =
      run(".loc 3 14 15, function_name $L, inlined_at 3 1 1\n"
          "ld.global.b32 %r1, [%y];",
          32, 1, {}, ".file 3 \"/some/where/layer.mlir\"\n");
  ASSERT_EQ(result.reports.size(), 1u);
  EXPECT_EQ(result.reports[0].source, "layer.mlir:14:15");
  EXPECT_EQ(result.reports[0].str().substr(0, 47),
            "line 22 (layer.mlir:14:15): read before written");
}

TEST_F(Checks, CountsSectorsAndConflicts) {
  // One sector a lane.
  Counts counts =
      run("mul.wide.u32 %z, %t, 28;\nadd.s64 %z, %z, %x;\n"
          "setp.lt.u32 %p1, %t, 8;\n@%p1 ld.global.b32 %r1, [%z];")
          .counts;
  EXPECT_EQ(counts.globalRequests, 1u);
  EXPECT_EQ(counts.sectors, 8u);
  EXPECT_EQ(counts.usefulBytes, 32u);
  EXPECT_DOUBLE_EQ(counts.sectorRatio(), 8);
  // All lanes read one word: a sector, and no conflict.
  counts = run("ld.param.u64 %z, [px];\nld.global.b32 %r1, [%z];\n"
               "st.shared.b32 [%r9], %r1;\nbar.sync 0;\n"
               "ld.shared.b32 %r1, [s];")
               .counts;
  EXPECT_EQ(counts.sectors, 1u);
  EXPECT_EQ(counts.usefulBytes, 4u);
  EXPECT_EQ(counts.bytesRead, 128u);
  EXPECT_EQ(counts.sharedRequests, 2u);
  EXPECT_EQ(counts.sharedCycles, 2u);
  // Lanes in pairs 128 bytes apart: two words of a bank.
  counts = run("shr.u32 %r1, %t, 1;\nand.b32 %r2, %t, 1;\n"
               "shl.b32 %r1, %r1, 2;\n"
               "shl.b32 %r2, %r2, 7;\nadd.s32 %r1, %r1, %r2;\n"
               "add.s32 %r1, %r1, %r8;\nst.shared.b32 [%r1], 1;")
               .counts;
  EXPECT_EQ(counts.sharedRequests, 1u);
  EXPECT_EQ(counts.sharedCycles, 2u);
}

/// Sums in any order of lanes and blocks; what differs shows that orders do.
TEST_F(Checks, OrdersDiffer) {
  std::string body = "ld.param.u64 %z, [px];\n"
                     "atom.global.exch.b32 %r1, [%z], %t;";
  auto last = [&](Order order, uint64_t seed) {
    LaunchOptions options;
    options.order = order;
    options.seed = seed;
    run(body + "\nbar.sync 0;\nld.volatile.global.b32 %r2, [%z];\n"
               "st.global.b32 [%y], %r2;",
        64, 1, options);
    return y[0];
  };
  EXPECT_EQ(last(Order::Issue, 0), 63u);
  EXPECT_EQ(last(Order::Reverse, 0), 0u);
  EXPECT_NE(last(Order::Seeded, 1), last(Order::Seeded, 2));
  EXPECT_EQ(last(Order::Seeded, 1), last(Order::Seeded, 1));
}

} // namespace
