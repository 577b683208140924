//===- SpmdMutants.h - SPMD programs with one fact changed ------*- C++ -*-===//
//
// Damage by machine to programs of level 3: what a mistake of placement or
// partitioning would leave behind.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TEST_LOWERING_ORACLE_SPMDMUTANTS_H
#define DIST_TEST_LOWERING_ORACLE_SPMDMUTANTS_H

#include "mlir/IR/BuiltinOps.h"
#include "test/lowering/oracle/Mutants.h"

namespace mlir::dist::test {

/// All facts of a level-3 module that can be changed. The kinds: `removed` (a
/// collective does not communicate), `axes`, `dimension`, `reduction`, `slice`
/// (an offset, a bound or a comparison moves), `mask` (left out), `rank` (one
/// does something else).
std::vector<Mutation> findSpmdMutations(ModuleOp module);

} // namespace mlir::dist::test

#endif // DIST_TEST_LOWERING_ORACLE_SPMDMUTANTS_H
