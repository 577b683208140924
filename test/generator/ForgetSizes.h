//===- ForgetSizes.h - Programs that know less of their sizes ---*- C++ -*-===//

#ifndef DIST_TEST_GENERATOR_FORGETSIZES_H
#define DIST_TEST_GENERATOR_FORGETSIZES_H

#include "passes/sizes/BindSizes.h"

namespace mlir::dist::test {

/// Makes sizes of arguments of the entry function, chosen at random among those
/// that their devices divide, and what follows from them unknown ('?'). Ops
/// that take known sizes only get them by tensor.cast. Returns what was
/// forgotten.
std::vector<SizeBinding> forgetSizes(ModuleOp module, uint64_t seed);

} // namespace mlir::dist::test

#endif // DIST_TEST_GENERATOR_FORGETSIZES_H
