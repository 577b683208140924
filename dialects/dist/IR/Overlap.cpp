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
  if (parseTarget(parser, target))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("always")))
    result.addAttribute("always", builder.getUnitAttr());
  else if (succeeded(parser.parseOptionalKeyword("chunks"))) {
    int64_t chunks = 0;
    if (parser.parseInteger(chunks))
      return failure();
    result.addAttribute("chunks", builder.getI64IntegerAttr(chunks));
  } else if (succeeded(parser.parseOptionalKeyword("ring"))) {
    result.addAttribute("ring", builder.getUnitAttr());
  } else if (failed(parser.parseOptionalKeyword("never")))
    return parser.emitError(parser.getCurrentLocation(),
                            "expected 'always', 'never', 'chunks' or 'ring'");
  result.addAttribute("target", builder.getStringAttr(target));
  if (parseCount(parser, result))
    return failure();
  return parser.parseOptionalAttrDict(result.attributes);
}

void OverlapOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printAttribute(getTargetAttr());
  if (getChunks())
    printer << " chunks " << *getChunks();
  else
    printer << (getRing() ? " ring" : getAlways() ? " always" : " never");
  printCount(printer, *this);
  printer.printOptionalAttrDict(
      (*this)->getAttrs(),
      {"target", "always", "chunks", "ring", "except", "optional", "expect"});
}

LogicalResult OverlapOp::verify() {
  if (getChunks() && (*getChunks() < 2 || getAlways()))
    return emitOpError() << "chunks " << *getChunks()
                         << (getAlways() ? " is always" : ": at least 2 are");
  if (getRing() && (getChunks() || getAlways()))
    return emitOpError() << "says ring and "
                         << (getAlways() ? "always" : "chunks")
                         << "; one of both can be done";
  return verifyCount(*this);
}
