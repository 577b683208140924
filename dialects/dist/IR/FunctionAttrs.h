//===- FunctionAttrs.h - Attributes of all arguments or results -*- C++ -*-===//
//
// MLIR keeps those of all arguments in one list, which is made anew for each
// change: changes come together, or they are quadratic in time and memory.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_IR_FUNCTIONATTRS_H
#define DIST_DIALECTS_DIST_IR_FUNCTIONATTRS_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::dist {

/// Changes the attributes of each argument, then sets them all at once.
void updateArgAttrs(
    FunctionOpInterface function,
    function_ref<void(unsigned number, NamedAttrList &)> update);

/// The same for results.
void updateResultAttrs(
    FunctionOpInterface function,
    function_ref<void(unsigned number, NamedAttrList &)> update);

/// Whether a value is an argument of a function that has such an attribute.
bool isArgumentWith(Value value, StringRef attribute);

/// Erases arguments; `dist.updates` of results still says which these update.
/// None of them may be one that is updated.
LogicalResult eraseArguments(FunctionOpInterface function,
                             const llvm::BitVector &erased);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_FUNCTIONATTRS_H
