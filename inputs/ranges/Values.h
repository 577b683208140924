//===- Values.h - What is known of integers in a program --------*- C++ -*-===//

#ifndef DIST_INPUTS_RANGES_VALUES_H
#define DIST_INPUTS_RANGES_VALUES_H

#include "inputs/ranges/Interval.h"
#include "mlir/IR/Value.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>

namespace mlir::dist::ranges {

/// The value whose elements `value` takes as they are: of an argument of a
/// linalg op's body, of such an op's result, of a reshape or a slice.
Value findOrigin(Value value);

/// Whether `value` is what a linalg op has reduced so far.
bool isPartialResult(Value value);

/// How many elements a linalg op makes one of; nothing if that is not known.
std::optional<int64_t> countReduced(Operation *op);

/// Skips casts between integers.
Value skipCasts(Value value);

/// The one number that all elements of `value` are, if it is known.
std::optional<double> findNumber(Value value);

/// How many values `value` runs through if it is a loop's own number, or a
/// tensor of such.
std::optional<int64_t> findCount(Value value);

/// How often a loop turns, if it is known.
std::optional<int64_t> countTurns(LoopLikeOpInterface loop);

/// Says what an argument of a function lies in, if it is known.
using ArgumentBounds = llvm::function_ref<std::optional<Interval>(Value)>;

/// What `value` lies in; nothing if that is not known. Without `ofArgument`
/// only what holds for all arguments. With it, what a remainder is taken of is
/// at least 0.
std::optional<Interval> findBounds(Value value,
                                   ArgumentBounds ofArgument = nullptr);

/// What elements of `value` are whatever the arguments are: those of padding,
/// or another side of a selection. Nothing if all hang on arguments.
std::optional<Interval> findFixed(Value value);

/// Whether two values may be made of the same input.
bool mayShareInputs(Value first, Value second);

/// A number that all elements of `value` are multiples of; at least 1.
double findStride(Value value);

/// The integers of a signless type that is read as signed, or as unsigned.
Interval getHeld(Type type, bool isUnsigned);

} // namespace mlir::dist::ranges

#endif // DIST_INPUTS_RANGES_VALUES_H
