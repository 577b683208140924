//===- ModuleDirectives.cpp - Directives about modules, not placements ----===//
//
// Assembly and verifiers of annotate, checkpoint, decompose, fuse, graph_halo,
// overlap, random_streams, replace, ring and include.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Assembly.h"
#include "dialects/dist/IR/Directive.h"
#include "dialects/dist/IR/Overlap.h"
#include "dialects/dist/IR/Random.h"
#include "dialects/dist/IR/Schedule.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::dist;

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistOverlap.cpp.inc"

ParseResult AnnotateOp::parse(OpAsmParser &parser, OperationState &result) {
  std::string target;
  NamedAttrList annotations;
  if (parseTarget(parser, target) ||
      parser.parseOptionalAttrDict(annotations) || parseCount(parser, result))
    return failure();
  result.addAttribute("target", parser.getBuilder().getStringAttr(target));
  result.addAttribute("annotations",
                      annotations.getDictionary(parser.getContext()));
  return success();
}

void AnnotateOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printAttribute(getTargetAttr());
  printer << " ";
  printer.printAttributeWithoutType(getAnnotations());
  printCount(printer, *this);
}

LogicalResult AnnotateOp::verify() {
  if (getAnnotations().empty())
    return emitOpError() << "gives no attribute";
  for (NamedAttribute attr : getAnnotations()) {
    auto [dialect, name] = attr.getName().getValue().split('.');
    if (dialect.empty() || name.empty() ||
        dialect == DistDialect::getDialectNamespace())
      return emitOpError() << "attribute '" << attr.getName().getValue()
                           << "' must have the prefix of a dialect that is not "
                           << "'" << DistDialect::getDialectNamespace()
                           << "', as in 'my.tag'";
  }
  return verifyCount(*this);
}

/// A directive of which its target is all.
static ParseResult parseTargetAlone(OpAsmParser &parser,
                                    OperationState &result) {
  std::string target;
  if (parseTarget(parser, target) || parseCount(parser, result))
    return failure();
  result.addAttribute("target", parser.getBuilder().getStringAttr(target));
  return parser.parseOptionalAttrDict(result.attributes);
}

template <typename Directive>
static void printTargetAlone(OpAsmPrinter &printer, Directive op) {
  printer << " ";
  printer.printAttribute(op.getTargetAttr());
  printCount(printer, op);
  printer.printOptionalAttrDict(op->getAttrs(),
                                {"target", "except", "optional", "expect"});
}

ParseResult CheckpointOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseTargetAlone(parser, result);
}

void CheckpointOp::print(OpAsmPrinter &printer) {
  printTargetAlone(printer, *this);
}

LogicalResult CheckpointOp::verify() { return verifyCount(*this); }

ParseResult DecomposeOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseTargetAlone(parser, result);
}

void DecomposeOp::print(OpAsmPrinter &printer) {
  printTargetAlone(printer, *this);
}

LogicalResult DecomposeOp::verify() { return verifyCount(*this); }

ParseResult FuseOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseTargetAlone(parser, result);
}

void FuseOp::print(OpAsmPrinter &printer) { printTargetAlone(printer, *this); }

LogicalResult FuseOp::verify() { return verifyCount(*this); }

/// `"target" over "axes" …`; after the axes `word` may stand, if there is one.
static ParseResult parseTargetOver(OpAsmParser &parser, OperationState &result,
                                   StringRef word = {}) {
  std::string target;
  ArrayAttr axes;
  if (parseTarget(parser, target) || parser.parseKeyword("over") ||
      parseAxisList(parser, axes))
    return failure();
  result.addAttribute("target", parser.getBuilder().getStringAttr(target));
  result.addAttribute("axes", axes);
  if (!word.empty() && succeeded(parser.parseOptionalKeyword(word)))
    result.addAttribute(word, parser.getBuilder().getUnitAttr());
  if (parseCount(parser, result))
    return failure();
  return parser.parseOptionalAttrDict(result.attributes);
}

template <typename OpTy>
static void printTargetOver(OpAsmPrinter &printer, OpTy op,
                            StringRef word = {}) {
  printer << " ";
  printer.printAttribute(op.getTargetAttr());
  printer << " over ";
  printAxisList(printer, op, op.getAxes());
  if (!word.empty() && op->hasAttr(word))
    printer << " " << word;
  printCount(printer, op);
  printer.printOptionalAttrDict(
      op->getAttrs(), {"target", "axes", "except", "optional", "expect", word});
}

template <typename OpTy> static LogicalResult verifyTargetOver(OpTy op) {
  if (failed(verifyDirectiveAxes(op, getAxisRefs(op.getAxes()))))
    return failure();
  return verifyCount(op);
}

ParseResult RingOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseTargetOver(parser, result, "zigzag");
}

void RingOp::print(OpAsmPrinter &printer) {
  printTargetOver(printer, *this, "zigzag");
}

LogicalResult RingOp::verify() { return verifyTargetOver(*this); }

ParseResult GraphHaloOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseTargetOver(parser, result);
}

void GraphHaloOp::print(OpAsmPrinter &printer) {
  printTargetOver(printer, *this);
}

LogicalResult GraphHaloOp::verify() { return verifyTargetOver(*this); }

ParseResult RandomStreamsOp::parse(OpAsmParser &parser,
                                   OperationState &result) {
  return parseTargetOver(parser, result);
}

void RandomStreamsOp::print(OpAsmPrinter &printer) {
  printTargetOver(printer, *this);
}

LogicalResult RandomStreamsOp::verify() { return verifyTargetOver(*this); }

ParseResult ReplaceOp::parse(OpAsmParser &parser, OperationState &result) {
  std::string target;
  FlatSymbolRefAttr function;
  if (parseTarget(parser, target) || parser.parseKeyword("with") ||
      parser.parseAttribute(function, "function", result.attributes) ||
      parseCount(parser, result))
    return failure();
  result.addAttribute("target", parser.getBuilder().getStringAttr(target));
  return parser.parseOptionalAttrDict(result.attributes);
}

void ReplaceOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printAttribute(getTargetAttr());
  printer << " with " << getFunctionAttr();
  printCount(printer, *this);
  printer.printOptionalAttrDict(
      (*this)->getAttrs(),
      {"target", "function", "except", "optional", "expect"});
}

LogicalResult ReplaceOp::verify() { return verifyCount(*this); }

/// `{"tp" = "model", layers = "{0..11}"}`: names to texts.
static ParseResult parseTexts(OpAsmParser &parser, DictionaryAttr &texts) {
  NamedAttrList list;
  auto parseOne = [&]() -> ParseResult {
    std::string name, text;
    llvm::SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeywordOrString(&name) || parser.parseEqual() ||
        parser.parseString(&text))
      return failure();
    if (name.empty() || list.get(name))
      return parser.emitError(loc) << "name \"" << name << "\" is "
                                   << (name.empty() ? "empty" : "given twice");
    list.append(name, parser.getBuilder().getStringAttr(text));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseOne))
    return failure();
  texts = list.getDictionary(parser.getContext());
  return success();
}

static void printTexts(OpAsmPrinter &printer, DictionaryAttr texts) {
  printer << "{";
  llvm::interleaveComma(texts, printer, [&](NamedAttribute one) {
    printer.printString(one.getName());
    printer << " = ";
    printer.printAttribute(one.getValue());
  });
  printer << "}";
}

ParseResult IncludeOp::parse(OpAsmParser &parser, OperationState &result) {
  std::string file;
  if (parseName(parser, file, "the name of a file", "tp.mlir"))
    return failure();
  result.addAttribute("file", parser.getBuilder().getStringAttr(file));
  FlatSymbolRefAttr schedule;
  OptionalParseResult hasName =
      parser.parseOptionalAttribute(schedule, "schedule", result.attributes);
  if (hasName.has_value() && failed(*hasName))
    return failure();
  for (StringRef name : {"axes", "where"}) {
    DictionaryAttr texts;
    if (failed(parser.parseOptionalKeyword(name)))
      continue;
    if (parseTexts(parser, texts))
      return failure();
    result.addAttribute(name, texts);
  }
  return parser.parseOptionalAttrDict(result.attributes);
}

void IncludeOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printAttribute(getFileAttr());
  if (getScheduleAttr())
    printer << " " << getScheduleAttr();
  if (getAxesAttr()) {
    printer << " axes ";
    printTexts(printer, getAxesAttr());
  }
  if (getWhereAttr()) {
    printer << " where ";
    printTexts(printer, getWhereAttr());
  }
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {"file", "schedule", "axes", "where"});
}

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
