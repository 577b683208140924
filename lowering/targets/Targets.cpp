//===- Targets.cpp - The targets of this build ----------------------------===//

#include "lowering/targets/Targets.h"
#include "lowering/cpu/CpuTarget.h"
#include "lowering/gpu/GpuTarget.h"
#include "lowering/pipeline/Pipeline.h"
#include "llvm/Support/raw_ostream.h"

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
  llvm::errs() << "error: --target " << name
               << ": not in this build; known are ";
  llvm::interleaveComma(getTargets(), llvm::errs(), [](const Target *target) {
    llvm::errs() << target->getName();
  });
  llvm::errs() << "\n";
  return nullptr;
}

void mlir::dist::registerLowerPasses() {
  registerNeutralPasses();
  for (const Target *target : getTargets())
    registerTargetPasses(*target);
}
