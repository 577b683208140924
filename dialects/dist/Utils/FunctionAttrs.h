//===- FunctionAttrs.h - Attributes of all arguments or results -*- C++ -*-===//
//
// MLIR keeps these of all arguments in one list, and each change makes a new
// list. So changes are made all at once; otherwise they take quadratic time and
// memory.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_UTILS_FUNCTIONATTRS_H
#define DIST_DIALECTS_DIST_UTILS_FUNCTIONATTRS_H

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

/// Erases arguments, and renumbers `dist.updates` of results. No result may
/// update an erased argument.
LogicalResult eraseArguments(FunctionOpInterface function,
                             const llvm::BitVector &erased);

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_UTILS_FUNCTIONATTRS_H
