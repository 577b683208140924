//===- TrainStep.cpp - A step of training: level 0 or 1 to the same -------===//

#include "passes/train/TrainStep.h"
#include "dialects/dist/IR/Dist.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/Passes.h"
#include "passes/differentiate/Differentiate.h"

namespace mlir::dist {
#define GEN_PASS_DEF_DISTTRAINSTEPPASS
#include "passes/Passes.h.inc"
} // namespace mlir::dist

using namespace mlir;

namespace {
struct DistTrainStepPass
    : dist::impl::DistTrainStepPassBase<DistTrainStepPass> {
  using DistTrainStepPassBase::DistTrainStepPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    DistTrainStepPassBase::getDependentDialects(registry);
    dist::registerAdjoints(registry);
    registry.insert<cf::ControlFlowDialect>();
  }

  void runOnOperation() override {
    std::vector<std::string> names(parameters.begin(), parameters.end());
    dist::TrainRequest request;
    request.function = function;
    request.result = of;
    request.loss = loss;
    request.target = target;
    request.optimizer = optimizer;
    request.microbatches = accumulate;
    request.parameters = names;
    if (failed(dist::addTrainStep(getOperation(), request)))
      signalPassFailure();
  }
};
} // namespace
