//===- dist-opt.cpp - MLIR's optimizer driver with dist's dialect ---------===//

#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "lowering/buffers/Passes.h"
#include "lowering/cpu/Passes.h"
#include "lowering/rt/Rt.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "passes/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<mlir::dist::DistDialect, mlir::rt::RtDialect>();
  mlir::dist::registerShardingRules(registry);
  mlir::dist::registerBufferExtensions(registry);
  mlir::registerAllPasses();
  mlir::dist::registerDistPasses();
  mlir::dist::registerSpmdPipeline();
  mlir::dist::registerLowerCpuPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "dist optimizer driver\n", registry));
}
