//===- Register.cpp - Everything that a module may contain ----------------===//

#include "compiler/Register.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "lowering/buffers/Passes.h"
#include "lowering/rt/Rt.h"
#include "lowering/targets/Targets.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"

void mlir::dist::registerAll(DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registry.insert<DistDialect, rt::RtDialect>();
  registerShardingRules(registry);
  registerBufferExtensions(registry);
  for (const Target *target : getTargets())
    target->registerTranslations(registry);
}
