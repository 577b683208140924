//===- Targets.cpp - The targets of this build ----------------------------===//

#include "lowering/targets/Targets.h"
#include "lowering/cpu/CpuTarget.h"
#include "lowering/gpu/GpuTarget.h"
#include "lowering/pipeline/Pipeline.h"

using namespace mlir;
using namespace mlir::dist;

ArrayRef<const Target *> mlir::dist::getTargets() {
  static const Target *const targets[] = {&getCpuTarget(), &getGpuTarget()};
  return targets;
}

const Target *mlir::dist::findTarget(StringRef name) {
  for (const Target *target : getTargets())
    if (target->getName() == name)
      return target;
  return nullptr;
}

void mlir::dist::registerLowerPasses() {
  registerNeutralPasses();
  for (const Target *target : getTargets())
    registerTargetPasses(*target);
}
