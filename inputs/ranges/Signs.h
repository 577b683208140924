//===- Signs.h - Where negative integers may go -----------------*- C++ -*-===//

#ifndef DIST_INPUTS_RANGES_SIGNS_H
#define DIST_INPUTS_RANGES_SIGNS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::dist::ranges {

/// Whether integers of an argument of the entry function may as well be
/// negative: they are added, multiplied, compared, selected, become floats and
/// results, but are nowhere an index, a size, a count of turns, a divisor or
/// what a root, a logarithm or a power is taken of. What they are multiplied
/// with or added to as floats is of either sign anyhow, so that they are not
/// followed beyond.
bool takesBothSigns(ModuleOp module, Value argument);

} // namespace mlir::dist::ranges

#endif // DIST_INPUTS_RANGES_SIGNS_H
