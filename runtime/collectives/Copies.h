//===- Copies.h - What members of a group take from each other --*- C++ -*-===//
//
// A collective gives each member bytes of others' operands. It copies them, or
// adds them up. Which bytes these are is said here, once, for members that read
// each other's memory and for those that send messages.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_RUNTIME_COLLECTIVES_COPIES_H
#define DIST_RUNTIME_COLLECTIVES_COPIES_H

#include "runtime/collectives/OperandMemory.h"
#include "runtime/rank/Rank.h"

#include <array>
#include <vector>

namespace dist {

/// Runs of bytes of one member's operand, and where they belong in another's
/// result. Offsets and steps are in bytes.
struct Copy {
  /// A loop over equally spaced runs.
  struct Loop {
    int64_t extent = 1, in = 0, out = 0;
  };

  int64_t in = 0, out = 0;
  /// Outermost first.
  std::array<Loop, 3> loops = {};
  /// Of one run.
  int64_t run = 0;

  int64_t bytes() const;
  /// The same runs, into memory in which they follow each other, and from it.
  Copy packing() const;
  Copy unpacking() const;
  /// Copies them; `from` and `to` are the operand and the result.
  void apply(const char *from, char *to) const;
};

/// Whether results are sums of what is taken: reduce_scatter, halo_reduce. (For
/// all_reduce see shareOf, for rows Rows.h.)
bool addsUp(CollectiveKind kind);

/// What the result of member `to` takes from the operand of member `from`.
std::vector<Copy> findCopies(const CollectiveCall &call,
                             const Communicator &comm, int64_t from,
                             int64_t to);

/// The members from which `me` takes something, and those that take something
/// of `me`; with `me`, and some others, perhaps. What is added up is taken in
/// their order. Else the next one is the first, so that not all begin with the
/// same.
std::vector<int64_t> sourcesOf(const CollectiveCall &call,
                               const Communicator &comm, int64_t me);
std::vector<int64_t> targetsOf(const CollectiveCall &call,
                               const Communicator &comm, int64_t me);

/// Sets what no copy or sum writes: padding, and halos outside.
void fillRest(const CollectiveCall &call, const Communicator &comm, int64_t me,
              char *out, OperandMemory &memory);

/// What is added up: what `member` gives, where it lies now, and the step
/// there of copy.loops[0].
struct Summand {
  int64_t member;
  Copy copy;
  const char *in;
  int64_t step;
};

/// Sets what the summands write of a result to their sums, in the order given;
/// but a row of a halo_reduce begins with what its owner `me` has itself.
void addUp(const CollectiveCall &call, int64_t me,
           std::vector<Summand> summands, char *out, OperandMemory &memory);

/// An all_reduce: the elements that member `me` reduces for all, on cache lines
/// of its own.
struct Share {
  int64_t start, count;
};
Share shareOf(const CollectiveCall &call, int64_t members, int64_t me);

} // namespace dist

#endif // DIST_RUNTIME_COLLECTIVES_COPIES_H
