//===- DirectiveAssembly.h - Common assembly of directives ------*- C++ -*-===//
//
// Axes after `over`, and the clauses at a directive's end. Used by the dialect
// only.
//
//===----------------------------------------------------------------------===//

#ifndef DIST_DIALECTS_DIST_IR_DIRECTIVEASSEMBLY_H
#define DIST_DIALECTS_DIST_IR_DIRECTIVEASSEMBLY_H

#include "dialects/dist/IR/Dist.h"

namespace mlir::dist {

/// The pattern of names that a directive is about.
ParseResult parseTarget(OpAsmParser &parser, std::string &target);

/// Checks the axes of a directive. Its mesh may be defined in another file.
LogicalResult verifyDirectiveAxes(Operation *op, ArrayRef<AxisRefAttr> axes);

/// The clauses that any directive may end with: `except "…"`, `optional` and
/// `expect n`.
ParseResult parseCount(OpAsmParser &parser, OperationState &result);

template <typename Directive>
void printCount(OpAsmPrinter &printer, Directive op) {
  if (op.getExceptAttr()) {
    printer << " except ";
    printer.printAttribute(op.getExceptAttr());
  }
  if (op.getOptional())
    printer << " optional";
  if (op.getExpect())
    printer << " expect " << *op.getExpect();
}

template <typename Directive> LogicalResult verifyCount(Directive op) {
  if (!op.getExpect())
    return success();
  int64_t expected = *op.getExpect();
  if (expected < 1)
    return op.emitOpError() << "expect " << expected << " must be at least 1";
  if (op.getOptional())
    return op.emitOpError() << "is 'optional', so that it may match nothing, "
                            << "and expects " << expected
                            << (expected == 1 ? " place" : " places")
                            << ": leave out one of the two";
  return success();
}

} // namespace mlir::dist

#endif // DIST_DIALECTS_DIST_IR_DIRECTIVEASSEMBLY_H
