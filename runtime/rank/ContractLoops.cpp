//===- ContractLoops.cpp - Loops of a contraction as products -------------===//

#include "runtime/rank/ContractLoops.h"
#include "dist/Tensor.h"

#include <algorithm>
#include <cstdlib>

using namespace dist;

/// Whether `outer` around `inner` steps through every operand as one loop.
static bool merges(const Loop &outer, const Loop &inner) {
  return outer.kind == inner.kind && outer.a == inner.a * inner.extent &&
         outer.b == inner.b * inner.extent && outer.c == inner.c * inner.extent;
}

static void mergeLoops(std::vector<Loop> &loops) {
  for (size_t i = 0; i < loops.size(); ++i) {
    for (size_t j = 0; j < loops.size(); ++j) {
      if (i == j || !merges(loops[i], loops[j]))
        continue;
      loops[j].extent *= loops[i].extent;
      loops.erase(loops.begin() + i);
      i = static_cast<size_t>(-1); // start again
      break;
    }
  }
}

/// Takes the loop of `kind` with the best score out of `loops`.
template <class Score>
static Loop take(std::vector<Loop> &loops, dist_loop_kind kind, Score score) {
  auto best = loops.end();
  for (auto it = loops.begin(); it != loops.end(); ++it)
    if (it->kind == kind && (best == loops.end() || score(*it) > score(*best)))
      best = it;
  if (best == loops.end())
    return {kind, 1, 0, 0, 0};
  Loop loop = *best;
  loops.erase(best);
  return loop;
}

double ContractLoopNest::flops() const {
  if (empty || emptySum)
    return 0;
  double product = 2.0 * m.extent * n.extent * k.extent;
  for (const Loop &loop : around)
    product *= loop.extent;
  return product;
}

ContractLoopNest dist::arrangeLoops(const ContractCall &call) {
  ContractLoopNest nest;
  std::vector<Loop> loops;
  for (int32_t i = 0; i < call.numLoops; ++i) {
    const int64_t *row = call.loops + i * DIST_LOOP_FIELDS;
    if (row[0] < DIST_LOOP_BATCH || row[0] > DIST_LOOP_K || row[1] < 0)
      throw Error("dist_contract: loop " + std::to_string(i) + " has kind " +
                  std::to_string(row[0]) + " and extent " +
                  std::to_string(row[1]));
    Loop loop{static_cast<dist_loop_kind>(row[0]), row[1], row[2], row[3],
              row[4]};
    if (loop.kind == DIST_LOOP_M)
      loop.b = 0;
    if (loop.kind == DIST_LOOP_N)
      loop.a = 0;
    if (loop.kind == DIST_LOOP_K)
      loop.c = 0;
    else
      nest.points.push_back(loop);
    if (loop.extent == 0)
      (loop.kind == DIST_LOOP_K ? nest.emptySum : nest.empty) = true;
    if (loop.extent != 1)
      loops.push_back(loop);
  }
  if (nest.empty || nest.emptySum)
    return nest;
  mergeLoops(loops);

  // A matrix product needs inner loops with a unit stride. Of equal ones, the
  // longest gives the largest product.
  auto longest = [](const Loop &loop) { return loop.extent; };
  auto unit = [](int64_t stride) {
    return stride == 1 ? int64_t(1) << 40 : int64_t(0);
  };
  nest.n = take(loops, DIST_LOOP_N, [&](const Loop &loop) {
    return loop.extent + unit(loop.c) + unit(loop.b);
  });
  nest.k = take(loops, DIST_LOOP_K, [&](const Loop &loop) {
    return loop.extent + unit(loop.a) + unit(loop.b);
  });
  // If n does not run along c's rows, m should.
  if (nest.n.c == 1)
    nest.m = take(loops, DIST_LOOP_M, longest);
  else
    nest.m = take(loops, DIST_LOOP_M,
                  [&](const Loop &loop) { return loop.extent + unit(loop.c); });
  // Sums come innermost; otherwise c is walked in order of memory.
  std::sort(loops.begin(), loops.end(), [](const Loop &x, const Loop &y) {
    if ((x.kind == DIST_LOOP_K) != (y.kind == DIST_LOOP_K))
      return y.kind == DIST_LOOP_K;
    return std::llabs(x.c) > std::llabs(y.c);
  });
  nest.around = std::move(loops);
  return nest;
}
