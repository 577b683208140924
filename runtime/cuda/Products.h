//===- Products.h - Contractions by cuBLASLt --------------------*- C++ -*-===//

#ifndef DIST_RUNTIME_CUDA_PRODUCTS_H
#define DIST_RUNTIME_CUDA_PRODUCTS_H

#include "runtime/cuda/BlasApi.h"
#include "runtime/cuda/Driver.h"
#include "runtime/host/PlanKey.h"
#include "runtime/rank/Rank.h"

#include <memory>
#include <unordered_map>

namespace dist {

/// The contractions of one rank. A table's loops are one product of matrices, a
/// batch of them, and loops of calls around. What is chosen for a table, its
/// types and the alignment of its operands is kept.
///
/// Sums are in f32, of f64 in f64, in an order of the library's, the same for
/// each call. f32 is IEEE f32, never TF32.
class Products {
public:
  /// Bytes that the library may use beside operands.
  static constexpr int64_t workspaceBytes = 32 << 20;

  /// Finds the library (Library.h). Throws Error.
  explicit Products(const cuda::Driver &driver);
  ~Products();

  /// Issues `call`, whose operands are on the device. Throws Error.
  void run(const ContractCall &call, void *workspace, cuda::Stream stream);

private:
  struct Plan;

  void check(cuda::BlasStatus status, const std::string &doing) const;
  std::unique_ptr<Plan> makePlan(const ContractCall &call,
                                 const int64_t (&alignments)[3]) const;

  cuda::BlasFunctions blas;
  cuda::BlasHandle handle = nullptr;
  std::unordered_map<PlanKey, std::unique_ptr<Plan>, PlanKeyHash> plans;
};

} // namespace dist

#endif // DIST_RUNTIME_CUDA_PRODUCTS_H
