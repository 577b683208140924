//===- PipelineTest.cpp - Tables of pipelines -----------------------------===//
//
// Beside closed forms of the papers, and a run of all ranks with queues between
// them, which shares nothing with the checker.
//
//===----------------------------------------------------------------------===//

#include "dist/Tensor.h"
#include "runtime/pipeline/Table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <sstream>

using namespace dist;
using namespace dist::pipeline;

namespace {

/// All stages alike.
Costs makeCosts(int32_t stages, double forward, double backward,
                double weight) {
  return {std::vector<double>(stages, forward),
          std::vector<double>(stages, backward),
          std::vector<double>(stages, weight)};
}

double bubbleOf(const Table &table, double forward, double backward,
                double weight) {
  int32_t chunks = table.stages / table.ranks();
  Costs costs = makeCosts(table.stages, forward / chunks, backward / chunks,
                          weight / chunks);
  double seconds = simulate(table, chain(table.stages), costs).seconds;
  return seconds - table.microbatches * (forward + backward + weight);
}

std::vector<int32_t> mostAlive(const Table &table) {
  return simulate(table, chain(table.stages), makeCosts(table.stages, 1, 1, 1))
      .mostAlive;
}

struct Work {
  double forward, backward, weight;
};
const Work kWorks[] = {{1, 1, 1}, {1, 2, 1}, {2, 1, 1}, {1, 1.25, .75}};

void expectLegal(const Table &table) {
  EXPECT_EQ(findFault(table, chain(table.stages), /*hasBackward=*/true), "");
}

} // namespace

TEST(Tables, TakeTheTimeOfTheirPapers) {
  for (int32_t ranks : {1, 2, 3, 4, 8})
    for (int32_t microbatches = 1; microbatches <= 32; ++microbatches)
      for (auto [f, b, w] : kWorks) {
        SCOPED_TRACE(testing::Message() << ranks << " ranks, " << microbatches
                                        << " microbatches, " << f << " " << b);
        double fill = (ranks - 1) * (f + b + w);
        Table gpipe = makeGpipe(ranks, microbatches);
        Table f1b1 = make1F1B(ranks, microbatches);
        expectLegal(gpipe);
        expectLegal(f1b1);
        EXPECT_NEAR(bubbleOf(gpipe, f, b, w), fill, 1e-9);
        EXPECT_NEAR(bubbleOf(f1b1, f, b, w), fill, 1e-9);
        if (microbatches < ranks)
          continue;
        Table zbH1 = makeZbH1(ranks, microbatches);
        expectLegal(zbH1);
        EXPECT_NEAR(bubbleOf(zbH1, f, b, w),
                    (ranks - 1) * std::max({f + b - w, f, b}), 1e-9);
        if (f != b || f != w)
          continue;
        for (int32_t chunks : {2, 3}) {
          Table table = makeInterleaved(ranks, microbatches, chunks);
          expectLegal(table);
          EXPECT_NEAR(bubbleOf(table, f, b, w), fill / chunks, 1e-9);
        }
        Table zbV = makeZbV(ranks, microbatches);
        expectLegal(zbV);
        if (microbatches >= 2 * ranks)
          EXPECT_NEAR(bubbleOf(zbV, f, b, w), (ranks - 1) * f / 2, 1e-9);
      }
}

TEST(Tables, HoldAsManyMicrobatchesAsTheirPapersSay) {
  for (int32_t p : {1, 2, 3, 4, 8})
    for (int32_t m = 1; m <= 32; ++m) {
      SCOPED_TRACE(testing::Message()
                   << p << " ranks, " << m << " microbatches");
      std::vector<int32_t> gpipe(p, m), f1b1, zbH1(p, std::min(p, m));
      for (int32_t rank = 0; rank < p; ++rank)
        f1b1.push_back(std::min(m, p - rank));
      EXPECT_EQ(mostAlive(makeGpipe(p, m)), gpipe);
      EXPECT_EQ(mostAlive(make1F1B(p, m)), f1b1);
      if (m >= p)
        EXPECT_EQ(mostAlive(makeZbH1(p, m)), zbH1);
      for (int32_t v : {2, 3, 4}) {
        int32_t group = m < 2 * p ? m : p + m % p;
        std::vector<int32_t> interleaved;
        for (int32_t rank = 0; rank < p; ++rank)
          interleaved.push_back(
              std::min(m * v, 2 * (p - 1 - rank) + (v - 1) * group + 1));
        Table table = makeInterleaved(p, m, v);
        expectLegal(table);
        EXPECT_EQ(mostAlive(table), interleaved);
      }
      if (m >= 2 * p)
        EXPECT_EQ(mostAlive(makeZbV(p, m)), std::vector<int32_t>(p, 2 * p));
    }
}

TEST(Tables, OfFewMicrobatchesAreListed) {
  for (int32_t p = 1; p <= 16; ++p)
    for (int32_t m = 1; m < 2 * p; ++m) {
      SCOPED_TRACE(testing::Message()
                   << p << " ranks, " << m << " microbatches");
      Table table = makeZbV(p, m);
      expectLegal(table);
      for (int32_t alive : mostAlive(table))
        EXPECT_LE(alive, 2 * p);
      // Never longer than those that do a microbatch's backward at once.
      EXPECT_LE(bubbleOf(table, 1, 1, 1),
                bubbleOf(makeInterleaved(p, m, 2), 1, 1, 1));
    }
  EXPECT_LE(bubbleOf(makeZbV(8, 8), 1, 1, 1), 3.5);
}

TEST(Tables, OfManyRanksAreMadeAtOnce) {
  expectLegal(makeInterleaved(64, 1024, 4));
  expectLegal(makeZbV(64, 127));
}

TEST(Tables, OfForwardAloneWaitForTheFirstAlone) {
  for (int32_t p : {1, 2, 4})
    for (int32_t m : {1, 3, 4, 8}) {
      Table table = makeForward(p, m, 1);
      EXPECT_EQ(findFault(table, chain(p), /*hasBackward=*/false), "");
      Costs costs = makeCosts(p, 1, 0, 0);
      EXPECT_EQ(simulate(table, chain(p), costs).seconds, m + p - 1);
    }
}

TEST(Tables, PayForMessages) {
  // Of two ranks: a microbatch goes there and back.
  Costs costs = makeCosts(2, 1, 1, 1);
  costs.message = 0.5;
  costs.latency = 0.25;
  EXPECT_DOUBLE_EQ(simulate(make1F1B(2, 1), chain(2), costs).seconds,
                   1 + .75 + 3 + .75 + 2);
  // Messages of a link follow each other, tasks are shorter.
  Costs fast = makeCosts(2, 0.1, 0, 0);
  fast.message = 1;
  EXPECT_DOUBLE_EQ(simulate(makeForward(2, 3, 1), chain(2), fast).seconds,
                   0.1 + 3 + 0.1);
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

TEST(Faults, NameTheTaskAndItsRank) {
  auto faultOf = [](const std::function<void(Table &)> &change) {
    Table table = make1F1B(2, 3);
    change(table);
    return findFault(table, chain(2), /*hasBackward=*/true);
  };
  EXPECT_EQ(faultOf([](Table &table) { table.rows[1].pop_back(); }),
            "B of stage 1, microbatch 2 is missing on rank 1");
  EXPECT_EQ(faultOf([](Table &table) {
              table.rows[0].push_back({Kind::Forward, 0, 1});
            }),
            "F of stage 0, microbatch 1 is there twice on rank 0");
  EXPECT_EQ(faultOf([](Table &table) {
              table.rows[0].push_back(table.rows[1].back());
              table.rows[1].pop_back();
            }),
            "BW of stage 1, microbatch 2 is on rank 0, but stage 1 is on rank "
            "1");
  EXPECT_EQ(faultOf([](Table &table) {
              table.rows[0].push_back({Kind::Weight, 2, 0});
            }),
            "W of stage 2, microbatch 0 on rank 0 is none of 2 stages and 3 "
            "microbatches");
  EXPECT_EQ(faultOf([](Table &table) {
              std::swap(table.rows[0][1], table.rows[0][2]);
              std::swap(table.rows[1][0], table.rows[1][2]);
            }),
            "tasks wait for each other: rank 0 comes to BW of stage 0, "
            "microbatch 0 and waits for B of stage 1, microbatch 0 on rank 1; "
            "rank 1 comes to F of stage 1, microbatch 1 and waits for F of "
            "stage 0, microbatch 1 on rank 0");
  // A rank that waits for itself.
  EXPECT_EQ(faultOf([](Table &table) {
              std::swap(table.rows[1][0], table.rows[1][1]);
            }),
            "tasks wait for each other: rank 1 comes to BW of stage 1, "
            "microbatch 0 and waits for F of stage 1, microbatch 0 on rank 1");
  Table table = makeGpipe(1, 2);
  std::swap(table.rows[0][2], table.rows[0][3]);
  EXPECT_EQ(findFault(table, chain(1), true),
            "B of stage 0, microbatch 0 on rank 0 comes after that of "
            "microbatch 1: gradients are added up in the order of "
            "microbatches");
  EXPECT_EQ(findFault(makeGpipe(2, 1), chain(2), /*hasBackward=*/false),
            "BW of stage 0, microbatch 0 on rank 0: the program has no "
            "backward");
}

namespace {

/// Runs all ranks, one task after the other. Whether all come to an end, and
/// add up in the order of microbatches.
bool runsWell(const Table &table, const std::vector<Transfer> &transfers) {
  using Part = std::tuple<Kind, int32_t, int32_t>;
  std::set<Part> done;
  std::map<std::pair<Kind, int32_t>, int32_t> sums;
  std::vector<size_t> at(table.ranks());
  auto parts = [](const Task &task) {
    std::vector<Kind> kinds = {task.kind};
    if (task.kind == Kind::Both)
      kinds = {Kind::Backward, Kind::Weight};
    return kinds;
  };
  for (bool hasMoved = true; hasMoved;) {
    hasMoved = false;
    for (int32_t rank = 0; rank < table.ranks(); ++rank) {
      if (at[rank] == table.rows[rank].size())
        continue;
      const Task &task = table.rows[rank][at[rank]];
      bool isReady = true;
      for (Kind kind : parts(task)) {
        int32_t i = task.microbatch;
        if (kind == Kind::Backward)
          isReady &= done.count({Kind::Forward, task.stage, i}) > 0;
        if (kind == Kind::Weight && task.kind != Kind::Both)
          isReady &= done.count({Kind::Backward, task.stage, i}) > 0;
        for (const Transfer &one : transfers) {
          if (one.to != kind || one.target != task.stage)
            continue;
          isReady &= done.count({one.from, one.source, i}) > 0;
        }
      }
      if (!isReady)
        continue;
      for (Kind kind : parts(task)) {
        Part part{kind, task.stage, task.microbatch};
        if (!done.insert(part).second || table.rankOf[task.stage] != rank ||
            sums[{kind, task.stage}]++ != task.microbatch)
          return false;
      }
      ++at[rank];
      hasMoved = true;
    }
  }
  return done.size() == size_t(3) * table.stages * table.microbatches;
}

} // namespace

TEST(Faults, OfMutantsAreThoseOfARun) {
  std::mt19937 random(7);
  auto below = [&](size_t limit) { return random() % limit; };
  int legal = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    int32_t ranks = 2 + below(3), microbatches = 1 + below(8);
    Table table;
    switch (below(5)) {
    case 0:
      table = makeGpipe(ranks, microbatches);
      break;
    case 1:
      table = make1F1B(ranks, microbatches);
      break;
    case 2:
      table = makeInterleaved(ranks, microbatches, 2);
      break;
    case 3:
      table = makeZbH1(ranks, ranks + microbatches);
      break;
    case 4:
      table = makeZbV(ranks, microbatches);
      break;
    }
    std::vector<Transfer> transfers = chain(table.stages);
    // Skips, as of U-Net's, and their cotangents.
    if (below(3) == 0) {
      int32_t last = table.stages - 1;
      transfers.push_back({Kind::Forward, 0, Kind::Forward, last});
      transfers.push_back({Kind::Backward, last, Kind::Backward, 0});
    }
    // An activation that backward reads, as of a product.
    if (below(3) == 0)
      transfers.push_back({Kind::Forward, 0, Kind::Weight, 1});
    if (below(20) == 0) {
      ASSERT_EQ(findFault(table, transfers, true), "");
      ASSERT_TRUE(runsWell(table, transfers));
    }
    std::vector<Task> &row = table.rows[below(ranks)];
    size_t one = below(row.size()), other = below(row.size());
    switch (below(6)) {
    case 0:
      std::swap(row[one], row[other]);
      break;
    case 1:
      // Neighbours: this one is legal more often.
      std::swap(row[one], row[std::min(one + 1, row.size() - 1)]);
      break;
    case 2:
      row.erase(row.begin() + one);
      break;
    case 3:
      row.insert(row.begin() + other, row[one]);
      break;
    case 4: {
      Task task = row[one];
      row.erase(row.begin() + one);
      std::vector<Task> &to = table.rows[below(ranks)];
      to.insert(to.begin() + below(to.size() + 1), task);
      break;
    }
    case 5:
      row[one].microbatch = below(table.microbatches);
      break;
    }
    std::string fault = findFault(table, transfers, true);
    ASSERT_EQ(fault.empty(), runsWell(table, transfers))
        << writeTable(table) << fault;
    legal += fault.empty();
  }
  EXPECT_GT(legal, 1000);
  EXPECT_LT(legal, 15000);
}

TEST(Tables, HaveNames) {
  EXPECT_EQ(writeTable(makeTable("zb_h1", 3, 5, 1, true)),
            writeTable(makeZbH1(3, 5)));
  EXPECT_EQ(writeTable(makeTable("1f1b", 3, 5, 1, false)),
            writeTable(makeForward(3, 5, 1)));
  EXPECT_THROW(makeTable("zb_h1", 4, 7, 1, false), Error);
  EXPECT_THROW(makeTable("2f2b", 4, 7, 1, true), Error);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

TEST(Text, IsReadAsItIsWritten) {
  for (const Table &table :
       {makeGpipe(2, 3), make1F1B(4, 6), makeInterleaved(2, 4, 3),
        makeZbH1(3, 5), makeZbV(2, 4)}) {
    Table read = readTable(writeTable(table), "t.csv");
    EXPECT_EQ(read.stages, table.stages);
    EXPECT_EQ(read.microbatches, table.microbatches);
    EXPECT_EQ(read.rankOf, table.rankOf);
    EXPECT_EQ(read.rows, table.rows);
  }
}

TEST(Text, OfPyTorchIsRead) {
  Table table = readTable("0F0, ,\"(0F1;0B0)OVERLAP_F_B\",0REDUCE_GRAD,0I1\r\n"
                          "1F0,1B0,1WAIT_REDUCE_GRAD,,1F1,1I1,1W1\n\n",
                          "t.csv");
  EXPECT_EQ(writeTable(table), "0F0,0F1,0B0,0I1\n1F0,1B0,1F1,1I1,1W1\n");
  EXPECT_EQ(findFault(table, chain(2), true),
            "t.csv:1:1: W of stage 0, microbatch 1 is missing on rank 0");
}

TEST(Text, FaultsOfTablesHaveAPlace) {
  auto faultOf = [](const std::string &text) {
    return findFault(readTable(text, "t.csv"), chain(2), true);
  };
  EXPECT_EQ(faultOf("0F0, 0B0,0W0\n1F0,1B0\n"),
            "t.csv:1:10: W of stage 0, microbatch 0 is there twice on rank 0");
  EXPECT_EQ(faultOf("0F0,0F1,0B1,0B0\n1F0,1F1,1B1,1B0\n"),
            "t.csv:1:13: B of stage 0, microbatch 0 on rank 0 comes after that "
            "of microbatch 1: gradients are added up in the order of "
            "microbatches");
  EXPECT_EQ(faultOf("0F0,0B0\n1B0,1F0\n"),
            "t.csv:2:1: tasks wait for each other: rank 1 comes to BW of stage "
            "1, microbatch 0 and waits for F of stage 1, microbatch 0 on rank "
            "1");
}

TEST(Text, OfPyTorchTakesItsTime) {
  // What record_tables.py made of PyTorch 2.15.
  std::ifstream file("test/runtime/Inputs/torch_tables.txt");
  std::string heading;
  int count = 0;
  for (; std::getline(file, heading); ++count) {
    SCOPED_TRACE(heading);
    std::string hash, name, seconds, text;
    int32_t ranks, microbatches;
    std::istringstream(heading) >> hash >> name >> ranks >> microbatches >>
        seconds;
    for (std::string row; std::getline(file, row) && !row.empty();)
      text += row + "\n";
    Table table = readTable(text, "t.csv");
    std::vector<Transfer> transfers = chain(table.stages);
    std::string fault = findFault(table, transfers, true);
    // Its last rank has microbatches 1 to m in place of 0 to m - 1.
    if (name == "1F1B") {
      EXPECT_EQ(fault, "t.csv:1:1: F of stage 0, microbatch " +
                           std::to_string(microbatches) +
                           " is missing on rank 0");
      continue;
    }
    // Its backward begins with the last microbatch.
    if (name == "LoopedBFS") {
      EXPECT_NE(fault.find("in the order of microbatches"), fault.npos);
      continue;
    }
    EXPECT_EQ(table.ranks(), ranks);
    EXPECT_EQ(table.microbatches, microbatches);
    ASSERT_EQ(fault, "");
    Costs costs = makeCosts(table.stages, 1, 1, 1);
    EXPECT_EQ(simulate(table, transfers, costs).seconds, std::stod(seconds));
  }
  EXPECT_EQ(count, 41);
}

TEST(Text, FaultsHaveAPlace) {
  auto faultOf = [](const std::string &text) {
    try {
      readTable(text, "t.csv");
    } catch (const Error &error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(faultOf("0F0\n1F0,1X0\n"),
            "t.csv:2:5: no task: 1X0; expected F (forward), I (backward of "
            "inputs), W (of weights) or B (both) between stage and microbatch");
  EXPECT_EQ(faultOf("0SEND_F0\n"),
            "t.csv:1:1: no task: 0SEND_F0; expected F (forward), I (backward "
            "of inputs), W (of weights) or B (both) between stage and "
            "microbatch");
  EXPECT_EQ(faultOf("0F0,F1\n"),
            "t.csv:1:5: expected the number of a stage, as in 0F3: stage 0, "
            "forward, microbatch 3");
  EXPECT_EQ(faultOf("0F0,0F99999999999\n"),
            "t.csv:1:7: the number of a microbatch is 0 to 1048575");
  EXPECT_EQ(faultOf("0F0 0F1\n"), "t.csv:1:5: expected a comma, not '0'");
  EXPECT_EQ(faultOf("(0F0;0F1\n"), "t.csv:1:9: expected ) after tasks in turn");
  EXPECT_EQ(faultOf("0F0,1F0\n1B0\n"),
            "t.csv:2:1: stage 1 is on rank 1 here, and on rank 0 in 1:5");
  EXPECT_EQ(faultOf("0F0,2F0\n"), "t.csv: no task of stage 1, but of stage 2");
  EXPECT_EQ(faultOf("\n\n"), "t.csv: a table without tasks; expected a row a "
                             "rank, as in 0F0,0F1,0B0,0B1");
}
