//===- InputRanges.h - What integer inputs index ----------------*- C++ -*-===//
//
// Random integers are to reach all that a program can read through them, and
// nothing beyond: docs/verify.md.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_TOOLS_DRIVER_INPUTRANGES_H
#define DIST_TOOLS_DRIVER_INPUTRANGES_H

#include "dist/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <string>

namespace mlir::dist {

/// The values, by name, with which those integer inputs that serve as indices
/// reach every place they can name: token ids from 0 to the vocabulary's end.
/// An index is followed back through casts, arithmetic with constants, clamps,
/// selections, and ops that move elements. Inputs whose values index nothing,
/// or through other operations, are not there. Negative values that a program
/// counts from the end are left out where the others reach as much.
std::map<std::string, ::dist::IntegerRange> findIndexRanges(ModuleOp module);

} // namespace mlir::dist

#endif // DIST_TOOLS_DRIVER_INPUTRANGES_H
