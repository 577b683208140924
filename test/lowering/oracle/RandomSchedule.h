//===- RandomSchedule.h - Any legal order of a program ----------*- C++ -*-===//
//
// Level 3 to level 4 at random: what --dist-schedule-overlap might decide, and
// what nobody would. Shares nothing with it.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TEST_LOWERING_ORACLE_RANDOMSCHEDULE_H
#define DIST_TEST_LOWERING_ORACLE_RANDOMSCHEDULE_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist::test {

/// Puts the ops of each block that has collectives into another order, and has
/// some of these run on streams; returns how many.
unsigned scheduleAtRandom(ModuleOp module, uint64_t seed);

/// The same order, without streams.
void removeStreams(ModuleOp module);

} // namespace mlir::dist::test

#endif // DIST_TEST_LOWERING_ORACLE_RANDOMSCHEDULE_H
