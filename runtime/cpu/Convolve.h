//===- Convolve.h - Convolutions through oneDNN -----------------*- C++ -*-===//
//
// dist_convolve for CPU backends. oneDNN's code for a convolution is chosen
// once for each table and rank. The choice depends on the table and, if there
// are several products, on the range of the numbers. So results are the same
// bits on every run. Kernels are copied to the order that this code reads: once
// if the kernel is constant, else in every call.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_CPU_CONVOLVE_H
#define DIST_RUNTIME_CPU_CONVOLVE_H

#include "runtime/host/PlanKey.h"
#include "runtime/rank/Rank.h"

#include <functional>
#include <memory>
#include <unordered_map>

namespace dist {

class ConvolvePlan;
class OperandPool;

/// The convolutions of one rank, which is one thread, and their plans so far.
class Convolutions {
public:
  /// `direct`: without Winograd's products; `takeBack` as OperandPool has it.
  Convolutions(bool direct,
               std::function<void(const void *, int64_t, bool)> takeBack);
  ~Convolutions();
  /// Computes `call` and returns its floating-point operations; throws Error if
  /// oneDNN cannot compute it.
  double run(const ConvolveCall &call);

private:
  ConvolvePlan &plan(const ConvolveCall &call);

  const bool direct;
  /// Packed operands of all plans.
  std::unique_ptr<OperandPool> pool;
  std::unordered_map<PlanKey, std::unique_ptr<ConvolvePlan>, PlanKeyHash> plans;
  PlanKey key;
};

} // namespace dist

#endif // DIST_RUNTIME_CPU_CONVOLVE_H
