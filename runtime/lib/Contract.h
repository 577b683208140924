//===- Contract.h - Contractions through oneDNN -----------------*- C++ -*-===//
//
// dist_contract for CPU backends: the loops of a contraction are merged and
// arranged into (batches of) matrix products, and those are oneDNN's. The
// arrangement is computed once per loop table and rank, and depends on the
// table alone, so that results are the same bits on every run.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_LIB_CONTRACT_H
#define DIST_LIB_CONTRACT_H

#include "dist/runtime.h"

#include <memory>
#include <unordered_map>
#include <vector>

struct dist_rank;

namespace dist {

/// The shape of a contraction, as dist_contract is given it.
struct ContractCall {
  /// As given; ContractPlan refuses what is no dist_dtype that it knows.
  int32_t inDtype;
  int32_t outDtype;
  bool accumulate;
  int32_t numLoops;
  const int64_t *loops;
};

class ContractPlan;

/// The plans that one rank has made so far.
class Contractions {
public:
  Contractions();
  ~Contractions();
  /// The plan for `call`; throws Error if oneDNN cannot compute it.
  ContractPlan &get(const ContractCall &call);

private:
  struct Hash {
    size_t operator()(const std::vector<int64_t> &key) const;
  };
  std::unordered_map<std::vector<int64_t>, std::unique_ptr<ContractPlan>, Hash>
      plans;
  std::vector<int64_t> key;
};

/// Runs `call`; fails the run and returns false if that is impossible.
bool contract(dist_rank &rank, const ContractCall &call, const void *a,
              const void *b, void *c);

} // namespace dist

#endif // DIST_LIB_CONTRACT_H
