//===- ScheduleMutants.h - Damaged schedules --------------------*- C++ -*-===//
//
// What mistakes in ordering, lowering or planning would leave behind in a
// program whose collectives run on streams, after memory is planned. Each such
// mutant must be refused: by the verifiers of ops, by --dist-verify-schedule,
// or where ranks run different programs, when they meet.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TEST_LOWERING_ORACLE_SCHEDULEMUTANTS_H
#define DIST_TEST_LOWERING_ORACLE_SCHEDULEMUTANTS_H

#include "mlir/IR/BuiltinOps.h"
#include "test/generator/Check.h"
#include "test/generator/Tensor.h"
#include "test/lowering/oracle/JitProgram.h"
#include <map>

namespace mlir::dist::test {

/// A damage, and how many of its mutants there were and were refused.
struct ScheduleCounts {
  struct Count {
    unsigned mutants = 0, byOp = 0, byPass = 0, whenRun = 0, equal = 0;
    unsigned getMissed() const {
      return mutants - byOp - byPass - whenRun - equal;
    }
  };
  std::map<std::string, Count> kinds;
  unsigned started = 0;

  void add(const ScheduleCounts &other);
  std::string toText() const;
  static ScheduleCounts parse(llvm::StringRef text);
};

/// Makes the mutants of a program (level 4), of each damage at most `most`, and
/// sees whether they are refused. With arguments it is run, too: then one rank
/// has starts in another order, and a mutant that is no mistake must compute
/// the same bits in every mode of streams. What goes wrong is in `problem`.
ScheduleCounts countScheduleMutants(ModuleOp module, uint64_t seed,
                                    unsigned most,
                                    const std::vector<Tensor> *arguments,
                                    std::string &problem);

/// Has --dist-schedule-overlap order a placed program for links so slow that
/// whatever can be is overlapped; returns how many collectives are.
FailureOr<unsigned> overlapWhatCan(ModuleOp module);

/// Places the module of the text, orders it at random, and counts; a
/// CheckFunction, whose detail is the counts as text.
Verdict checkScheduleMutants(llvm::StringRef text, const CheckOptions &options);

/// Runs the program in every mode of streams, and says what differs from
/// `expected`, bit by bit, if anything.
std::optional<std::string> findStreamMistake(JitProgram &program,
                                             ArrayRef<Tensor> arguments,
                                             ArrayRef<Tensor> expected,
                                             uint64_t seed);

/// Places the module of the text, orders it at random with collectives on
/// streams, and runs it in every mode of streams: each must give the bits of
/// the same order without streams, and what the interpreter says. Of programs
/// with even seeds --dist-schedule-overlap decides the order: then the bits are
/// those of the program as it was placed. A CheckFunction, whose detail is the
/// number of collectives on streams.
Verdict checkScheduled(llvm::StringRef text, const CheckOptions &options);

} // namespace mlir::dist::test

#endif // DIST_TEST_LOWERING_ORACLE_SCHEDULEMUTANTS_H
