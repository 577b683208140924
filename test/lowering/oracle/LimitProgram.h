//===- LimitProgram.h - Programs at the limits of tensors -------*- C++ -*-===//
//
// Random programs of one device whose static numbers are at or beyond what
// their tensors have: pads, slices, maps, loops, elements, tables, windows. A
// program must be refused with an error that has a place, or run within its
// tensors and compute what the interpreter does.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TEST_LOWERING_ORACLE_LIMITPROGRAM_H
#define DIST_TEST_LOWERING_ORACLE_LIMITPROGRAM_H

#include "mlir/IR/BuiltinOps.h"
#include "test/generator/Fuzz.h"

namespace mlir::dist::test {

/// The program of a seed.
FuzzCase makeLimitCase(uint64_t seed);

/// A CheckFunction. What agrees without having been run says so.
Verdict checkLimits(llvm::StringRef text, const CheckOptions &options);

/// Whether the module is a program of one device that takes little time and
/// memory.
bool isSmallProgram(ModuleOp module);

} // namespace mlir::dist::test

#endif // DIST_TEST_LOWERING_ORACLE_LIMITPROGRAM_H
