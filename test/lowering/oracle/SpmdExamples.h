//===- SpmdExamples.h - Mutants of the examples' programs -------*- C++ -*-===//

#ifndef DIST_TEST_LOWERING_ORACLE_SPMDEXAMPLES_H
#define DIST_TEST_LOWERING_ORACLE_SPMDEXAMPLES_H

#include "test/lowering/oracle/CheckSpmdMutants.h"

namespace mlir::dist::test {

/// A schedule of one of the examples, such as gpt2 and sp.
struct Example {
  std::string model, schedule;
};

/// All that lie in examples/, below the current folder.
std::vector<Example> findExamples();

/// Imports the model, places it, and checks mutants: on its own weights, random
/// tokens, and its recorded masks. `mutants` are made, or all for 0.
Verdict checkExample(const Example &example, unsigned mutants, uint64_t seed);

/// The same program, overlapped wherever that can be: makes mutants of its
/// schedule, of each damage at most `most`, as countScheduleMutants does. The
/// detail is the counts as text.
Verdict checkExampleSchedule(const Example &example, unsigned most,
                             uint64_t seed);

} // namespace mlir::dist::test

#endif // DIST_TEST_LOWERING_ORACLE_SPMDEXAMPLES_H
