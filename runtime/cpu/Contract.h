//===- Contract.h - Contractions through oneDNN -----------------*- C++ -*-===//
//
// dist_contract for CPU backends: the loops of a contraction are merged and
// arranged into (batches of) matrix products, and those are oneDNN's. The
// arrangement is computed once per loop table and rank, and depends on the
// table alone, so that results are the same bits on every run.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_CPU_CONTRACT_H
#define DIST_RUNTIME_CPU_CONTRACT_H

#include "runtime/host/PlanKey.h"
#include "runtime/rank/Rank.h"

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

namespace dist {

class ContractPlan;
class OperandPool;

/// The contractions of one rank, which is one thread, and their plans so far.
class Contractions {
public:
  /// `takeBack` as OperandPool has it.
  explicit Contractions(
      std::function<void(const void *, int64_t, bool)> takeBack);
  ~Contractions();
  /// Computes `call` and returns its floating-point operations; throws Error if
  /// oneDNN cannot compute it.
  double run(const ContractCall &call);

private:
  ContractPlan &plan(const ContractCall &call);

  /// Packed operands of all plans.
  std::unique_ptr<OperandPool> pool;
  std::unordered_map<PlanKey, std::unique_ptr<ContractPlan>, PlanKeyHash> plans;
  PlanKey key;
};

} // namespace dist

#endif // DIST_RUNTIME_CPU_CONTRACT_H
