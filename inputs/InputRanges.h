//===- InputRanges.h - What integer inputs index ----------------*- C++ -*-===//
//
// Random integers are to reach all that a program can read through them, and
// nothing beyond: docs/verify.md.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_INPUTS_INPUTRANGES_H
#define DIST_INPUTS_INPUTRANGES_H

#include "dist/OptionValues.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <string>
#include <vector>

namespace mlir::dist {

struct IndexRanges {
  /// By input, as RandomInputs has them.
  std::map<std::string, ::dist::IntegerRanges> ranges;
  /// Of floats that become indices: all that is in range.
  std::map<std::string, std::pair<double, double>> reals;
  /// Inputs of which no value is in range of all that it indexes.
  std::vector<std::string> contradictory;
};

/// The values, by name, with which those integer inputs that serve as indices
/// reach every place they can name: token ids from 0 to the vocabulary's end.
/// An index is followed back through casts, also to floats, arithmetic, clamps,
/// selections, loops and ops that move elements; inputs that are added or
/// multiplied to one index share its range. A range is all that is worth
/// reaching by any of the uses, as far as every use takes it; clamps,
/// remainders and selections take all. Elements of which different things are
/// asked (columns of index tuples, slices) have ranges of their own. Inputs
/// whose values index nothing, or through other operations, are there only if
/// they may as well be negative. Negative values that a program counts from the
/// end are left out where the others reach as much.
IndexRanges findIndexRanges(ModuleOp module);

} // namespace mlir::dist

#endif // DIST_INPUTS_INPUTRANGES_H
