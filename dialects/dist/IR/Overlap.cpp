//===- Overlap.cpp - Ops for communication beside computation -------------===//

#include "dialects/dist/IR/Overlap.h"
#include "dialects/dist/IR/DirectiveAssembly.h"

using namespace mlir;
using namespace mlir::dist;

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistOverlap.cpp.inc"

ParseResult OverlapOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  std::string target;
  if (parser.parseString(&target))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("always")))
    result.addAttribute("always", builder.getUnitAttr());
  else if (failed(parser.parseOptionalKeyword("never")))
    return parser.emitError(parser.getCurrentLocation(),
                            "expected 'always' or 'never'");
  result.addAttribute("target", builder.getStringAttr(target));
  if (parseCount(parser, result))
    return failure();
  return parser.parseOptionalAttrDict(result.attributes);
}

void OverlapOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printAttribute(getTargetAttr());
  printer << (getAlways() ? " always" : " never");
  printCount(printer, *this);
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {"target", "always", "optional", "expect"});
}

LogicalResult OverlapOp::verify() { return verifyCount(*this); }
