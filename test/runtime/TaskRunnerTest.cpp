//===- TaskRunnerTest.cpp - Tasks of pipelines on ranks -------------------===//
//
// A model of whole numbers: stage s adds s + 1 to three times what it gets, and
// keeps it; backward gives each stage twice what the next one gives, and its
// weight is that times what was kept, summed up as 7 * sum + x, so that another
// order of microbatches gives another number. Compared with a loop.
//
//===----------------------------------------------------------------------===//

#include "runtime/pipeline/Table.h"
#include "runtime/program/TaskRunner.h"
#include "test/runtime/Ranks.h"

using namespace dist;
using namespace dist::test;

namespace {

using Operand = TaskDesc::Operand;

int64_t &at(void *const *table, int number) {
  return *static_cast<int64_t *>(table[number]);
}

/// sum
void begin(dist_rank *, void *const *, void *const *results, void *,
           int64_t *) {
  at(results, 0) = 1;
}
/// stage, x or the microbatch; y
void forward(dist_rank *, void *const *args, void *const *results, void *arena,
             int64_t *) {
  std::memset(arena, 0xff, 64); // scratch is each task's own
  at(results, 0) = 3 * at(args, 1) + at(args, 0) + 1;
}
/// y, dy; dx, kept
void backward(dist_rank *, void *const *args, void *const *results, void *,
              int64_t *) {
  at(results, 0) = 2 * at(args, 1);
  at(results, 1) = at(args, 0) * at(args, 1);
}
/// y; dx, kept
void backwardLast(dist_rank *, void *const *args, void *const *results, void *,
                  int64_t *) {
  at(results, 0) = 2;
  at(results, 1) = at(args, 0);
}
/// sum, kept; sum
void weight(dist_rank *, void *const *args, void *const *results, void *,
            int64_t *) {
  at(results, 0) = (7 * at(args, 0) + at(args, 1)) % 1'000'003;
}
/// sum; for the first stage
void end(dist_rank *, void *const *args, void *const *results, void *,
         int64_t *) {
  at(results, 0) = at(args, 0);
}
/// sums of all stages; result
void endAll(dist_rank *, void *const *args, void *const *results, void *,
            int64_t *) {
  at(results, 0) = 0;
  for (int64_t i = 1; i <= at(args, 0); ++i)
    at(results, 0) = 31 * at(results, 0) + at(args, i);
}

/// Arguments: the number of each stage, then how many there are. One result.
Program makeProgram(const Mesh &mesh, int32_t axis,
                    const pipeline::Table &table) {
  Program program;
  program.manifest.mesh = mesh;
  PipelineDesc &desc = program.manifest.pipeline.emplace();
  desc.axis = axis;
  desc.microbatches = table.microbatches;
  desc.placeOf.assign(table.rankOf.begin(), table.rankOf.end());
  desc.table = pipeline::writeTable(table);
  int64_t stages = table.stages;
  auto slot = [&](bool isOfStep) {
    desc.slots.push_back({DIST_I64, {}, isOfStep});
    return Operand{Operand::Slot, int64_t(desc.slots.size()) - 1};
  };
  std::vector<Operand> sums, ys, dxs, kept, given;
  for (int64_t s = 0; s < stages; ++s) {
    sums.push_back(slot(true));
    ys.push_back(slot(false));
    dxs.push_back(slot(false));
    kept.push_back(slot(false));
    given.push_back(slot(true));
  }
  auto add = [&](TaskDesc::Kind kind, int64_t stage, dist_main_fn code,
                 std::vector<Operand> arguments, std::vector<Operand> results,
                 int64_t part = 0) {
    desc.tasks.push_back({kind, stage, part, 64, arguments, results});
    program.tasks.push_back(code);
  };
  for (int64_t s = 0; s < stages; ++s) {
    bool isLast = s + 1 == stages;
    add(TaskDesc::Begin, s, begin, {}, {sums[s]});
    Operand x = s ? ys[s - 1] : Operand{Operand::Microbatch, 0};
    add(TaskDesc::Forward, s, forward, {{Operand::Argument, s}, x}, {ys[s]});
    if (isLast)
      add(TaskDesc::Backward, s, backwardLast, {ys[s]}, {dxs[s], kept[s]});
    else
      add(TaskDesc::Backward, s, backward, {ys[s], dxs[s + 1]},
          {dxs[s], kept[s]});
    add(TaskDesc::Weight, s, weight, {sums[s], kept[s]}, {sums[s]});
    add(TaskDesc::End, s, end, {sums[s]}, {given[s]});
  }
  std::vector<Operand> all{{Operand::Argument, stages}};
  all.insert(all.end(), given.begin(), given.end());
  add(TaskDesc::End, 0, endAll, all, {{Operand::Result, 0}}, 1);
  return program;
}

int64_t expected(const pipeline::Table &table) {
  int64_t stages = table.stages;
  std::vector<int64_t> sums(stages, 1);
  for (int64_t i = 0; i < table.microbatches; ++i) {
    std::vector<int64_t> ys;
    for (int64_t s = 0, x = i; s < stages; ++s)
      ys.push_back(x = 3 * x + s + 1);
    for (int64_t s = stages - 1, dy = 1; s >= 0; --s, dy *= 2)
      sums[s] = (7 * sums[s] + ys[s] * dy) % 1'000'003;
  }
  int64_t result = 0;
  for (int64_t sum : sums)
    result = 31 * result + sum;
  return result;
}

/// Runs two steps; returns the message of a failure.
std::string run(const Program &program, const Mesh &mesh, int32_t axis,
                const pipeline::Table &table) {
  std::vector<int64_t> stages(table.stages + 1);
  for (int64_t s = 0; s <= table.stages; ++s)
    stages[s] = s;
  return runThreads(makeTopology(mesh, {}), [&](dist_rank *rank) -> int32_t {
    std::vector<void *> arguments, results;
    for (int64_t &stage : stages)
      arguments.push_back(&stage);
    int64_t result = 0, status = 0;
    results.push_back(&result);
    TaskRunner runner(program, *rank, arguments, results);
    for (int step = 0; step < 2; ++step) {
      result = 0;
      if (runner.run(&status))
        return 1;
      bool isFirst = mesh.coordinate(rank->index, axis) == table.rankOf[0];
      EXPECT_EQ(result, isFirst ? expected(table) : 0);
    }
    return 0;
  });
}

std::vector<pipeline::Table> makeTables(int32_t ranks, int32_t microbatches) {
  std::vector<pipeline::Table> tables{
      pipeline::makeGpipe(ranks, microbatches),
      pipeline::make1F1B(ranks, microbatches),
      pipeline::makeInterleaved(ranks, microbatches, 2),
      pipeline::makeZbH1(ranks, microbatches)};
  if (microbatches >= 2 * ranks)
    tables.push_back(pipeline::makeZbV(ranks, microbatches));
  return tables;
}

} // namespace

TEST(TaskRunner, DoesWhatALoopDoes) {
  for (int32_t ranks : {1, 2, 3})
    for (int32_t microbatches : {1, 2, 3, 7})
      for (const pipeline::Table &table : makeTables(ranks, microbatches)) {
        Mesh mesh = makeMesh({ranks});
        Program program = makeProgram(mesh, 0, table);
        EXPECT_EQ(run(program, mesh, 0, table), "")
            << pipeline::writeTable(table);
      }
}

// The pipeline's axis is the first one, in the middle, and the last.
TEST(TaskRunner, SendsAlongItsAxis) {
  for (int32_t axis : {0, 1, 2}) {
    std::vector<int64_t> sizes{2, 2, 2};
    sizes[axis] = 3;
    Mesh mesh = makeMesh(sizes);
    pipeline::Table table = pipeline::make1F1B(3, 4);
    EXPECT_EQ(run(makeProgram(mesh, axis, table), mesh, axis, table), "");
  }
}

TEST(TaskRunner, CountsWhatItTakes) {
  Mesh mesh = makeMesh({2});
  pipeline::Table table = pipeline::makeGpipe(2, 5);
  Program program = makeProgram(mesh, 0, table);
  // The sum, y of five microbatches, and of the first one dx and what weight
  // reads; scratch.
  TaskPlan last(*program.manifest.pipeline, 1);
  EXPECT_EQ(last.countBytes(), 8 * (1 + 5 + 2) + 64);
}

TEST(TaskRunner, EndsWhereATaskFails) {
  Mesh mesh = makeMesh({2});
  pipeline::Table table = pipeline::make1F1B(2, 4);
  Program program = makeProgram(mesh, 0, table);
  program.manifest.checks = {{"index out of range", true}};
  for (size_t i = 0; i < program.tasks.size(); ++i) {
    Program failing = program;
    failing.tasks[i] = [](dist_rank *, void *const *, void *const *, void *,
                          int64_t *status) { status[0] = 1; };
    std::string message = run(failing, mesh, 0, table);
    EXPECT_NE(message, "") << "task " << i;
  }
}

// A table that nobody has checked.
TEST(TaskRunner, SaysWhatIsMissing) {
  Mesh mesh = makeMesh({2});
  pipeline::Table table = pipeline::make1F1B(2, 2);
  std::swap(table.rows[0][0], table.rows[0][2]);
  Program program = makeProgram(mesh, 0, table);
  std::string message = run(program, mesh, 0, table);
  EXPECT_NE(message.find("is read before it is made"), std::string::npos)
      << message;
}
