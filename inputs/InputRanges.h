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
  /// Inputs of which no value is in range of all that it indexes.
  std::vector<std::string> contradictory;
};

/// The values, by name, with which integer inputs reach every place that they
/// can name: token ids from 0 to the vocabulary's end. A range is all that some
/// use reaches, as far as every use takes it; what a selection or a bound
/// replaces, it takes. Columns of index tuples, and single rows, have ranges of
/// their own. Inputs that index, count, divide and are compared with nothing,
/// or only after arithmetic with other inputs, are not there.
IndexRanges findIndexRanges(ModuleOp module);

} // namespace mlir::dist

#endif // DIST_INPUTS_INPUTRANGES_H
