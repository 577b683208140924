//===- Balance.cpp - Stages that take as long as each other ---------------===//

#include "passes/pipeline/Balance.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InterleavedRange.h"

#include <numeric>

using namespace mlir;
using namespace mlir::dist;

/// The modules of all stages.
static SmallVector<StringAttr> getModules(const PipelineNote &note) {
  SmallVector<StringAttr> modules;
  for (ArrayRef<StringAttr> stage : note.stages)
    modules.append(stage.begin(), stage.end());
  return modules;
}

static double countAllFlops(Operation *op) {
  double flops = 0;
  op->walk([&](Operation *inner) { flops += countFlops(inner); });
  return flops;
}

std::optional<SmallVector<double>>
mlir::dist::measureModules(scf::ForOp loop, const OuterReads &outer,
                           const PipelineNote &note, StepTimes *times,
                           bool says) {
  // As if each were a stage.
  PipelineNote apart = note;
  apart.stages.clear();
  for (StringAttr module : getModules(note))
    apart.stages.push_back({module});
  StagePlaces places(loop, outer, apart);
  {
    // Of this thread: what others say is heard.
    ScopedDiagnosticHandler quiet(loop.getContext(),
                                  [&](Diagnostic &) { return success(!says); });
    if (failed(places.place()))
      return std::nullopt;
  }
  SmallVector<double> costs(apart.stages.size());
  for (Operation &op : loop.getBody()->without_terminator()) {
    ArrayRef<unsigned> tasks = places.getTasks(&op);
    if (tasks.empty())
      continue;
    double cost =
        times ? times->getCost(&op).time.getTotal() : countAllFlops(&op);
    for (unsigned task : tasks)
      costs[places.getStage(task)] += cost;
  }
  return costs;
}

SmallVector<int64_t> mlir::dist::balance(ArrayRef<double> costs,
                                         int64_t count) {
  int64_t modules = costs.size();
  assert(count >= 1 && count <= modules);
  SmallVector<double> sums{0};
  for (double cost : costs)
    sums.push_back(sums.back() + cost);
  // The largest sum of the first stages that have the first i modules: by one
  // stage all of them. The last one's begin moves on with i, for what is before
  // it takes longer then, and what is in it less long.
  SmallVector<double> least(sums);
  std::vector<std::vector<int64_t>> begins(count);
  for (int64_t stage = 1; stage < count; ++stage) {
    SmallVector<double> next(modules + 1);
    begins[stage].assign(modules + 1, 0);
    int64_t begin = stage;
    for (int64_t i = stage + 1; i <= modules; ++i) {
      auto largest = [&](int64_t at) {
        return std::max(least[at], sums[i] - sums[at]);
      };
      while (begin + 1 < i && largest(begin + 1) <= largest(begin))
        ++begin;
      next[i] = largest(begin);
      begins[stage][i] = begin;
    }
    least = std::move(next);
  }
  SmallVector<int64_t> sizes(count);
  for (int64_t stage = count - 1, end = modules; stage >= 0; --stage) {
    int64_t begin = stage ? begins[stage][end] : 0;
    sizes[stage] = end - begin;
    end = begin;
  }
  return sizes;
}

/// The largest sum of stages of such sizes.
static double findLargest(ArrayRef<double> costs, ArrayRef<int64_t> sizes) {
  double largest = 0;
  for (int64_t size : sizes) {
    largest = std::max(
        largest, std::accumulate(costs.begin(), costs.begin() + size, 0.0));
    costs = costs.drop_front(size);
  }
  return largest;
}

LogicalResult mlir::dist::chooseStages(PipelineNote &note, scf::ForOp loop,
                                       const OuterReads &outer,
                                       StepTimes *times) {
  if (note.balance && !times)
    return emitError(note.by)
           << "balance wants --machine, which says how long a module takes, as "
              "in --machine=8xH100";
  SmallVector<StringAttr> modules = getModules(note);
  if (!note.balance && modules.size() == note.stages.size())
    return success();
  // The choices that are kept.
  constexpr size_t kMost = 1 << 24;
  size_t count = note.balance ? note.balance : note.stages.size();
  if (modules.size() > kMost / count) {
    if (note.balance)
      return emitError(note.by)
             << "balance: " << modules.size() << " modules on " << count
             << " stages are too many: give sizes";
    return success();
  }
  auto costs = measureModules(loop, outer, note, times, note.balance != 0);
  if (!costs)
    return failure(note.balance != 0);
  SmallVector<int64_t> sizes = balance(*costs, count);
  if (note.balance) {
    ArrayRef<StringAttr> rest = modules;
    note.stages.clear();
    for (int64_t size : sizes) {
      ArrayRef<StringAttr> own = rest.take_front(size);
      note.stages.emplace_back(own.begin(), own.end());
      rest = rest.drop_front(size);
    }
    note.balance = 0;
    emitRemark(note.by) << "balance: the stages are sizes ["
                        << llvm::interleaved(sizes) << "]";
    return success();
  }
  SmallVector<int64_t> own;
  for (ArrayRef<StringAttr> stage : note.stages)
    own.push_back(stage.size());
  double mean = std::accumulate(costs->begin(), costs->end(), 0.0) / own.size(),
         largest = findLargest(*costs, own);
  constexpr double kMuch = 1.5;
  if (sizes != own && largest > kMuch * mean &&
      findLargest(*costs, sizes) < largest)
    emitRemark(note.by)
        << "a stage of the pipeline takes "
        << llvm::formatv("{0:f1}", largest / mean).str()
        << " times as long as the mean; balanced they are sizes ["
        << llvm::interleaved(sizes) << "]";
  return success();
}
