//===- PlanFuzz.cpp - Any bytes as a sharding plan of a small model -------===//

#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Schedule.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "passes/schedule/files/Schedule.h"
#include "test/fuzz/Files.h"

using namespace mlir;

static constexpr char kModel[] = R"(
func.func @main(%x: tensor<4x8xf32> {dist.input = "x"},
                %w: tensor<8x8xf32> {dist.parameter = "fc.weight"})
    -> (tensor<4x8xf32> {dist.output = "y"}) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.fill {dist.scope = "fc"} ins(%zero : f32)
      outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.matmul {dist.scope = "fc"}
      ins(%x, %w : tensor<4x8xf32>, tensor<8x8xf32>)
      outs(%0 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.exp {dist.scope = "act"} ins(%1 : tensor<4x8xf32>)
      outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
)";

/// A diagnostic is what a malformed plan may give, or one that does not fit the
/// model; nothing else.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const DialectRegistry registry = [] {
    DialectRegistry registry;
    registry
        .insert<mlir::dist::DistDialect, arith::ArithDialect, func::FuncDialect,
                linalg::LinalgDialect, tensor::TensorDialect>();
    mlir::dist::registerShardingRules(registry);
    mlir::dist::registerScheduleDirectives(registry);
    return registry;
  }();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler quiet(&context,
                                [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(kModel, ParserConfig(&context));
  FailureOr<mlir::dist::ScheduleOp> plan = mlir::dist::loadPlan(
      *module, ::dist::test::fileOf(data, size, ".json"));
  if (succeeded(plan))
    (void)mlir::dist::applySchedule(*module, *plan, nullptr,
                                    /*allowUnmatched=*/size % 2);
  return 0;
}
