//===- DistOps.cpp - Assembly and verifiers of meshes and schedules -------===//

#include "dialects/dist/IR/Assembly.h"
#include "dialects/dist/IR/Axes.h"
#include "dialects/dist/IR/Directive.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// Assembly shared by the ops
//===----------------------------------------------------------------------===//

static void printMeshAxes(OpAsmPrinter &printer, Operation *,
                          MeshAxesAttr axes) {
  printer.getStream() << axes;
}

static ParseResult parseAxisList(OpAsmParser &parser, ArrayAttr &axes) {
  SmallVector<Attribute> list;
  if (parser.parseCommaSeparatedList([&]() -> ParseResult {
        AxisRefAttr axis;
        if (parseAxis(parser, axis))
          return failure();
        list.push_back(axis);
        return success();
      }))
    return failure();
  axes = ArrayAttr::get(parser.getContext(), list);
  return success();
}

static void printAxisList(OpAsmPrinter &printer, Operation *, ArrayAttr axes) {
  llvm::interleaveComma(axes.getAsRange<AxisRefAttr>(), printer.getStream());
}

/// Parses the bare keyword of an enum attribute.
template <typename EnumAttrT>
static ParseResult parseEnum(OpAsmParser &parser, EnumAttrT &attr) {
  using EnumT = decltype(attr.getValue());
  StringRef word;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<EnumT> value = symbolizeEnum<EnumT>(word);
  if (!value) {
    InFlightDiagnostic diagnostic = parser.emitError(loc);
    diagnostic << "'" << word << "' is none of ";
    StringRef name;
    for (uint32_t i = 0; !(name = stringifyEnum(static_cast<EnumT>(i))).empty();
         ++i)
      diagnostic << (i ? ", " : "") << name;
    return diagnostic;
  }
  attr = EnumAttrT::get(parser.getContext(), *value);
  return success();
}

template <typename EnumAttrT>
static void printEnum(OpAsmPrinter &printer, Operation *, EnumAttrT attr) {
  printer << stringifyEnum(attr.getValue());
}

/// A string in which quotes, which directives are full of, are written `\"`
/// rather than `\22`.
static ParseResult parseText(OpAsmParser &parser, StringAttr &text) {
  // Not an attribute, which would take a type that follows for its own.
  std::string value;
  if (parser.parseString(&value))
    return failure();
  text = parser.getBuilder().getStringAttr(value);
  return success();
}

static void printText(OpAsmPrinter &printer, Operation *, StringAttr text) {
  llvm::raw_ostream &stream = printer.getStream();
  stream << '"';
  llvm::interleave(
      llvm::split(text.getValue(), '"'), stream,
      [&](StringRef part) { llvm::printEscapedString(part, stream); }, "\\\"");
  stream << '"';
}

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

int64_t MeshOp::getAxisSize(StringRef name) {
  for (MeshAxisAttr axis : getAxes())
    if (axis.getName() == name)
      return axis.getSize();
  return 0;
}

int64_t MeshOp::getNumDevices() {
  int64_t devices = 1;
  for (MeshAxisAttr axis : getAxes())
    devices *= axis.getSize();
  return devices;
}

LogicalResult MeshOp::verify() {
  llvm::SmallDenseSet<StringRef> names;
  int64_t devices = 1;
  for (MeshAxisAttr axis : getAxes()) {
    if (axis.getName().empty())
      return emitOpError() << "has an axis without a name";
    if (!names.insert(axis.getName()).second)
      return emitOpError() << "has two axes called \"" << axis.getName()
                           << "\"";
    if (axis.getSize() < 1)
      return emitOpError() << "axis \"" << axis.getName() << "\" has size "
                           << axis.getSize() << "; it must be at least 1";
    if (llvm::MulOverflow(devices, axis.getSize(), devices))
      return emitOpError() << "has more devices than 63 bits count";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

/// Whether the op has, or is promised, the interface of directives: a schedule
/// can be read where nothing applies it.
static bool isDirective(Operation &op) {
  Dialect *dialect = op.getDialect();
  return (dialect && dialect_extension_detail::hasPromisedInterface(
                         *dialect, op.getName().getTypeID(),
                         ScheduleDirectiveOpInterface::getInterfaceID())) ||
         isa<ScheduleDirectiveOpInterface>(op);
}

LogicalResult ScheduleOp::verifyRegions() {
  for (Operation &op : *getBody().begin())
    if (!isDirective(op) && !isa<IncludeOp>(op))
      return op.emitOpError() << "is no directive of a schedule";
  return success();
}

SmallVector<AxisRefAttr> mlir::dist::findAxes(Operation *op) {
  llvm::SmallSetVector<AxisRefAttr, 4> axes;
  op->getAttrDictionary().walk([&](AxisRefAttr axis) { axes.insert(axis); });
  return axes.takeVector();
}

std::string mlir::dist::describeDirective(Operation *directive) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto line = directive->getLoc()->findInstanceOf<FileLineColLoc>()) {
    StringRef file = line.getFilename().getValue();
    stream << file.substr(file.rfind('/') + 1) << ":" << line.getStartLine()
           << ": ";
  }
  // Printed where it stands, it would have all values of the module numbered.
  OwningOpRef<Operation *> alone = directive->clone();
  alone->print(stream, OpPrintingFlags().useLocalScope().assumeVerified());
  return text;
}

/// Checks the axes of a directive, whose mesh may be in the program to come.
static LogicalResult verifyDirectiveAxes(Operation *op,
                                         ArrayRef<AxisRefAttr> axes) {
  auto schedule = cast<ScheduleOp>(op->getParentOp());
  return verifyAxes(axes, lookupMesh(schedule, schedule.getMeshAttr()),
                    [&] { return op->emitOpError(); });
}

/// What may follow any directive: `optional` and `expect n`.
static ParseResult parseCount(OpAsmParser &parser, OperationState &result) {
  if (succeeded(parser.parseOptionalKeyword("optional")))
    result.addAttribute("optional", parser.getBuilder().getUnitAttr());
  if (failed(parser.parseOptionalKeyword("expect")))
    return success();
  int64_t count;
  if (parser.parseInteger(count))
    return failure();
  result.addAttribute("expect", parser.getBuilder().getI64IntegerAttr(count));
  return success();
}

template <typename Directive>
static void printCount(OpAsmPrinter &printer, Directive op) {
  if (op.getOptional())
    printer << " optional";
  if (op.getExpect())
    printer << " expect " << *op.getExpect();
}

template <typename Directive> static LogicalResult verifyCount(Directive op) {
  if (!op.getExpect())
    return success();
  int64_t expected = *op.getExpect();
  if (expected < 1)
    return op.emitOpError() << "expect " << expected << " must be at least 1";
  if (op.getOptional())
    return op.emitOpError() << "is 'optional' and expects places";
  return success();
}

/// `[dim, dim]`, or `replicate`.
static ParseResult parseDimsOrReplicate(OpAsmParser &parser,
                                        OperationState &result) {
  if (succeeded(parser.parseOptionalKeyword("replicate"))) {
    result.addAttribute("replicate", parser.getBuilder().getUnitAttr());
    return success();
  }
  SmallVector<Attribute> dims;
  SmallVector<int64_t> numbers;
  auto parseEntry = [&]() -> ParseResult {
    llvm::SMLoc loc = parser.getCurrentLocation();
    int64_t number;
    OptionalParseResult hasNumber = parser.parseOptionalInteger(number);
    if (hasNumber.has_value()) {
      if (failed(*hasNumber) || parser.parseEqual())
        return failure();
      numbers.push_back(number);
    }
    DimShardingAttr dim;
    if (parseDim(parser, dim))
      return failure();
    dims.push_back(dim);
    if (!numbers.empty() && numbers.size() != dims.size())
      return parser.emitError(loc)
             << "either each entry names its dimension or none does";
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseEntry))
    return failure();
  result.addAttribute("dims", ArrayAttr::get(parser.getContext(), dims));
  if (!numbers.empty())
    result.addAttribute("dimNumbers",
                        parser.getBuilder().getDenseI64ArrayAttr(numbers));
  return success();
}

/// Whether what modules compute is meant, and axes follow.
static bool isFeatureTarget(ShardTarget kind) {
  return kind == ShardTarget::Column || kind == ShardTarget::Row ||
         kind == ShardTarget::Heads || kind == ShardTarget::Experts;
}

static bool isActivationTarget(ShardTarget kind) {
  return kind == ShardTarget::ModuleInput || kind == ShardTarget::ModuleOutput;
}

/// `partial = sum {"tp"}`, where it is.
static ParseResult parseOptionalPartial(OpAsmParser &parser,
                                        OperationState &result) {
  if (failed(parser.parseOptionalKeyword("partial")))
    return success();
  MLIRContext *context = parser.getContext();
  ReductionKind kind;
  SmallVector<AxisRefAttr> axes;
  if (parsePartial(parser, kind, axes))
    return failure();
  result.addAttribute("partialKind", ReductionKindAttr::get(context, kind));
  result.addAttribute("partialAxes",
                      ArrayAttr::get(context, SmallVector<Attribute>(
                                                  axes.begin(), axes.end())));
  return success();
}

/// `3`, or `[64, 16, 16]`.
static ParseResult parseGroups(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  int64_t number;
  OptionalParseResult hasNumber = parser.parseOptionalInteger(number);
  if (hasNumber.has_value()) {
    result.addAttribute("groups", builder.getI64IntegerAttr(number));
    return *hasNumber;
  }
  SmallVector<int64_t> blocks;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parser.parseInteger(blocks.emplace_back());
      }))
    return failure();
  result.addAttribute("blocks", builder.getDenseI64ArrayAttr(blocks));
  return success();
}

/// Which of several tensors is meant, where it says so.
static ParseResult parseNumber(OpAsmParser &parser, OperationState &result) {
  int64_t number;
  OptionalParseResult hasNumber = parser.parseOptionalInteger(number);
  if (!hasNumber.has_value())
    return success();
  result.addAttribute("number", parser.getBuilder().getI64IntegerAttr(number));
  return *hasNumber;
}

/// Whether a number may say which of several tensors is meant.
static bool isNumbered(ShardTarget kind) {
  return isActivationTarget(kind) || kind == ShardTarget::Value;
}

ParseResult ShardOp::parse(OpAsmParser &parser, OperationState &result) {
  MLIRContext *context = parser.getContext();
  std::string target;
  ShardTarget kind;
  StringRef word;
  if (succeeded(parser.parseOptionalKeyword(
          &word, {"parameter", "input", "output", "value"}))) {
    kind = *symbolizeShardTarget(word);
    if (parser.parseString(&target) ||
        (kind == ShardTarget::Value && parseNumber(parser, result)) ||
        parseDimsOrReplicate(parser, result))
      return failure();
  } else {
    ArrayAttr axes;
    if (parser.parseString(&target))
      return failure();
    llvm::SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return failure();
    if (word == "input" || word == "output") {
      kind = word == "input" ? ShardTarget::ModuleInput
                             : ShardTarget::ModuleOutput;
      if (parseNumber(parser, result) || parseDimsOrReplicate(parser, result) ||
          parseOptionalPartial(parser, result))
        return failure();
    } else {
      std::optional<ShardTarget> parsed = symbolizeShardTarget(word);
      if (!parsed || !isFeatureTarget(*parsed))
        return parser.emitError(loc)
               << "'" << word
               << "' must be 'column', 'row', 'heads', 'experts', 'input' or "
                  "'output'";
      kind = *parsed;
      if (parser.parseKeyword("over") || parseAxisList(parser, axes))
        return failure();
      result.addAttribute("axes", axes);
      if (succeeded(parser.parseOptionalKeyword("groups")) &&
          parseGroups(parser, result))
        return failure();
    }
  }
  result.addAttribute("target", StringAttr::get(context, target));
  result.addAttribute("kind", ShardTargetAttr::get(context, kind));
  if (parseCount(parser, result))
    return failure();
  return parser.parseOptionalAttrDict(result.attributes);
}

void ShardOp::print(OpAsmPrinter &printer) {
  printer << " ";
  bool isActivation = isActivationTarget(getKind());
  bool hasAxes = isFeatureTarget(getKind());
  if (!isActivation && !hasAxes)
    printer << stringifyShardTarget(getKind()) << " ";
  printer.printAttribute(getTargetAttr());
  if (isActivation)
    printer << (getKind() == ShardTarget::ModuleInput ? " input" : " output");
  if (getNumber())
    printer << " " << *getNumber();
  if (hasAxes) {
    printer << " " << stringifyShardTarget(getKind()) << " over ";
    if (getAxes())
      printAxisList(printer, *this, *getAxes());
    if (getGroups() != 1)
      printer << " groups " << getGroups();
    if (getBlocks())
      printer << " groups [" << llvm::interleaved(*getBlocks()) << "]";
  } else if (getReplicate()) {
    printer << " replicate";
  } else if (getDims()) {
    printer << " [";
    llvm::interleaveComma(
        llvm::enumerate(*getDims()), printer, [&](const auto &entry) {
          if (getDimNumbers())
            printer << (*getDimNumbers())[entry.index()] << " = ";
          printDim(printer, cast<DimShardingAttr>(entry.value()));
        });
    printer << "]";
  }
  if (getPartialKind() && getPartialAxes()) {
    printer << " ";
    printPartial(printer, *getPartialKind(), getAxisRefs(*getPartialAxes()));
  }
  printCount(printer, *this);
  printer.printOptionalAttrDict(
      (*this)->getAttrs(), {"target", "kind", "axes", "groups", "blocks",
                            "number", "dims", "dimNumbers", "partialKind",
                            "partialAxes", "replicate", "optional", "expect"});
}

LogicalResult ShardOp::verify() {
  bool isFeature = isFeatureTarget(getKind());
  if (isFeature != (getAxes().has_value() && !getAxes()->empty()) ||
      isFeature == (getDims().has_value() || getReplicate()) ||
      (getDims() && getReplicate()))
    return emitOpError() << "'" << stringifyShardTarget(getKind()) << "' takes "
                         << (isFeature ? "axes"
                                       : "one entry a dimension, or "
                                         "'replicate'");
  if (std::optional<ArrayRef<int64_t>> numbers = getDimNumbers()) {
    if (!getDims() || numbers->size() != getDims()->size())
      return emitOpError() << "names " << numbers->size()
                           << " dimensions, but has not as many entries";
    for (auto [index, number] : llvm::enumerate(*numbers))
      if (llvm::is_contained(numbers->take_front(index), number))
        return emitOpError() << "names dimension " << number << " twice";
  }
  int64_t number = getNumber().value_or(0);
  if (getNumber() && (number < 0 || !isNumbered(getKind())))
    return emitOpError() << "number " << number
                         << " names no input or output of a module";
  bool isPartial = getPartialAxes() && !getPartialAxes()->empty();
  if (getPartialKind().has_value() != isPartial ||
      (isPartial && !isActivationTarget(getKind())))
    return emitOpError() << "'partial' takes a reduction and axes, and belongs "
                            "to 'input' and 'output' of modules: what goes "
                            "into the program, or comes out of it, is whole";
  if (failed(verifyCount(*this)))
    return failure();
  if (getGroups() < 1)
    return emitOpError() << "groups " << getGroups() << " must be at least 1";
  if (getGroups() != 1 && getKind() != ShardTarget::Column &&
      getKind() != ShardTarget::Row)
    return emitOpError() << "groups belong to 'column' and 'row', not to '"
                         << stringifyShardTarget(getKind()) << "'";
  if (std::optional<ArrayRef<int64_t>> blocks = getBlocks()) {
    if (getKind() != ShardTarget::Column)
      return emitOpError() << "a list of groups belongs to 'column', not to '"
                           << stringifyShardTarget(getKind()) << "'";
    if (getGroups() != 1 || blocks->size() < 2 ||
        llvm::any_of(*blocks, [](int64_t size) {
          return size < 1 || size > int64_t(1) << 40;
        }))
      return emitOpError() << "groups [" << llvm::interleaved(*blocks)
                           << "] must be at least 2 sizes of at least 1";
  }
  SmallVector<AxisRefAttr> axes;
  if (isFeature)
    axes = getAxisRefs(*getAxes());
  else if (getDims())
    for (Attribute dim : getDimsAttr())
      llvm::append_range(axes, cast<DimShardingAttr>(dim).getAllAxes());
  if (isPartial)
    llvm::append_range(axes, getAxisRefs(*getPartialAxes()));
  return verifyDirectiveAxes(*this, axes);
}

//===----------------------------------------------------------------------===//
// Directives about modules
//===----------------------------------------------------------------------===//

ParseResult AnnotateOp::parse(OpAsmParser &parser, OperationState &result) {
  std::string target;
  NamedAttrList annotations;
  if (parser.parseString(&target) ||
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

ParseResult CheckpointOp::parse(OpAsmParser &parser, OperationState &result) {
  std::string target;
  if (parser.parseString(&target) || parseCount(parser, result))
    return failure();
  result.addAttribute("target", parser.getBuilder().getStringAttr(target));
  return parser.parseOptionalAttrDict(result.attributes);
}

void CheckpointOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printAttribute(getTargetAttr());
  printCount(printer, *this);
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {"target", "optional", "expect"});
}

LogicalResult CheckpointOp::verify() { return verifyCount(*this); }

ParseResult DecomposeOp::parse(OpAsmParser &parser, OperationState &result) {
  std::string target;
  if (parser.parseString(&target) || parseCount(parser, result))
    return failure();
  result.addAttribute("target", parser.getBuilder().getStringAttr(target));
  return parser.parseOptionalAttrDict(result.attributes);
}

void DecomposeOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printAttribute(getTargetAttr());
  printCount(printer, *this);
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {"target", "optional", "expect"});
}

LogicalResult DecomposeOp::verify() { return verifyCount(*this); }

ParseResult ReplaceOp::parse(OpAsmParser &parser, OperationState &result) {
  std::string target;
  FlatSymbolRefAttr function;
  if (parser.parseString(&target) || parser.parseKeyword("with") ||
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
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {"target", "function", "optional", "expect"});
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
  if (parser.parseString(&file))
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

//===----------------------------------------------------------------------===//
// Sync
//===----------------------------------------------------------------------===//

/// `@function backward @other`; false where no function follows.
static FailureOr<bool> parseFunctions(OpAsmParser &parser,
                                      OperationState &result) {
  StringAttr name;
  if (failed(parser.parseOptionalSymbolName(name)))
    return false;
  result.addAttribute("function", FlatSymbolRefAttr::get(name));
  FlatSymbolRefAttr backward;
  if (succeeded(parser.parseOptionalKeyword("backward")) &&
      parser.parseAttribute(backward, "backward", result.attributes))
    return failure();
  return true;
}

/// `all_to_all dim 1 to 2 over "tp" groups 3`.
static ParseResult parseCommunication(OpAsmParser &parser, SyncKindAttr &kind,
                                      ArrayAttr &axes, OperationState &result) {
  Builder &builder = parser.getBuilder();
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parseEnum(parser, kind))
    return failure();
  if (kind.getValue() == SyncKind::Function)
    return parser.emitError(loc) << "a function is given by its symbol: @name";
  int64_t number;
  if (succeeded(parser.parseOptionalKeyword("dim"))) {
    if (parser.parseInteger(number))
      return failure();
    result.addAttribute("dim", builder.getI64IntegerAttr(number));
    if (succeeded(parser.parseOptionalKeyword("to"))) {
      if (parser.parseInteger(number))
        return failure();
      result.addAttribute("toDim", builder.getI64IntegerAttr(number));
    }
  }
  if (parser.parseKeyword("over") || parseAxisList(parser, axes))
    return failure();
  if (failed(parser.parseOptionalKeyword("groups")))
    return success();
  if (parser.parseInteger(number))
    return failure();
  result.addAttribute("groups", builder.getI64IntegerAttr(number));
  return success();
}

ParseResult SyncOp::parse(OpAsmParser &parser, OperationState &result) {
  MLIRContext *context = parser.getContext();
  OpAsmParser::UnresolvedOperand operand;
  OptionalParseResult hasOperand = parser.parseOptionalOperand(operand);
  if (hasOperand.has_value()) {
    if (failed(*hasOperand))
      return failure();
  } else {
    std::string target;
    if (parser.parseString(&target))
      return failure();
    result.addAttribute("target", StringAttr::get(context, target));
  }
  SyncModeAttr mode;
  SyncKindAttr kind;
  ArrayAttr axes;
  if (parseEnum(parser, mode))
    return failure();
  FailureOr<bool> isFunction = parseFunctions(parser, result);
  if (failed(isFunction))
    return failure();
  if (*isFunction) {
    kind = SyncKindAttr::get(context, SyncKind::Function);
    axes = ArrayAttr::get(context, {});
  } else if (parseCommunication(parser, kind, axes, result)) {
    return failure();
  }
  result.addAttribute("mode", mode);
  result.addAttribute("kind", kind);
  result.addAttribute("axes", axes);
  if (succeeded(parser.parseOptionalKeyword("on"))) {
    FlatSymbolRefAttr mesh;
    if (parser.parseAttribute(mesh, "mesh", result.attributes))
      return failure();
  }
  if (parseCount(parser, result))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("cause"))) {
    StringAttr cause;
    if (parseText(parser, cause))
      return failure();
    result.addAttribute("cause", cause);
  }
  if (parser.parseOptionalAttrDict(result.attributes))
    return failure();
  if (!hasOperand.has_value())
    return success();
  Type type;
  if (parser.parseColonType(type) ||
      parser.resolveOperand(operand, type, result.operands))
    return failure();
  result.addTypes(type);
  return success();
}

void SyncOp::print(OpAsmPrinter &printer) {
  printer << " ";
  if (getOperand())
    printer << getOperand();
  else
    printer.printAttribute(getTargetAttr());
  printer << " " << stringifySyncMode(getMode()) << " ";
  if (getFunctionAttr()) {
    printer << getFunctionAttr();
    if (getBackwardAttr())
      printer << " backward " << getBackwardAttr();
  } else {
    printer << stringifySyncKind(getKind());
    if (getDim())
      printer << " dim " << *getDim();
    if (getToDim())
      printer << " to " << *getToDim();
    printer << " over ";
    printAxisList(printer, *this, getAxes());
    if (getGroups() != 1)
      printer << " groups " << getGroups();
  }
  if (getMeshAttr())
    printer << " on " << getMeshAttr();
  printCount(printer, *this);
  if (getCauseAttr()) {
    printer << " cause ";
    printText(printer, *this, getCauseAttr());
  }
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {"target", "mode", "kind", "dim", "toDim",
                                 "axes", "groups", "function", "backward",
                                 "mesh", "optional", "expect", "cause"});
  if (getResult())
    printer << " : " << getResult().getType();
}

LogicalResult SyncOp::verify() {
  bool inSchedule = isa_and_nonnull<ScheduleOp>((*this)->getParentOp());
  if (inSchedule != getTarget().has_value() ||
      inSchedule == static_cast<bool>(getOperand()) ||
      inSchedule == static_cast<bool>(getResult()))
    return emitOpError()
           << (inSchedule ? "in a schedule names modules and has no operand"
                          : "outside a schedule has an operand and no "
                            "module path");
  if (inSchedule && (getMeshAttr() || getCauseAttr()))
    return emitOpError() << "in a schedule has no "
                         << (getMeshAttr()
                                 ? "'on', for it is on the schedule's mesh"
                                 : "'cause', for it is one");
  if (!inSchedule && (getOptional() || getExpect()))
    return emitOpError() << "outside a schedule cannot be 'optional', and "
                         << "expects nothing";
  if (failed(verifyCount(*this)))
    return failure();
  if (getOperand() && getOperand().getType() != getResult().getType())
    return emitOpError() << "result type " << getResult().getType()
                         << " differs from the operand's "
                         << getOperand().getType();
  if ((getKind() == SyncKind::Function) != getFunction().has_value())
    return emitOpError() << "has a function or another operation, not "
                         << (getFunction() ? "both" : "neither");
  if (getBackward() && !getFunction())
    return emitOpError() << "has 'backward', which belongs to a function";
  if (getFunction()) {
    if (!inSchedule)
      return emitOpError() << "outside a schedule cannot name a function; "
                           << "dist.manual_reshard holds its body";
    if (getDim() || getToDim() || !getAxes().empty() || getGroups() != 1)
      return emitOpError() << "by a function has no dimension, axis or groups: "
                           << "the function says what is communicated";
    if (getMode() == SyncMode::BwdPost)
      return emitOpError() << "'bwd_post' by a function: write 'fwd_pre' and "
                           << "name the function after 'backward'";
    return success();
  }
  StringRef kind = stringifySyncKind(getKind());
  if (getGroups() < 1)
    return emitOpError() << "groups " << getGroups() << " must be at least 1";
  if (getKind() == SyncKind::AllReduce && getGroups() != 1)
    return emitOpError() << "'all_reduce' cuts no dimension that groups "
                         << "could be of";
  if ((getKind() == SyncKind::AllReduce) == getDim().has_value())
    return emitOpError() << "'" << kind << "' "
                         << (getDim() ? "takes no dimension" : "needs 'dim'");
  if ((getKind() == SyncKind::AllToAll) != getToDim().has_value())
    return emitOpError() << "'" << kind << "' "
                         << (getToDim() ? "takes no second dimension"
                                        : "needs 'dim … to …'");
  if (getToDim() && *getToDim() == *getDim())
    return emitOpError() << "'all_to_all' from dimension " << *getDim()
                         << " to itself";
  for (std::optional<int64_t> dim : {getDim(), getToDim()}) {
    if (!dim)
      continue;
    int64_t rank =
        getOperand() ? cast<RankedTensorType>(getOperand().getType()).getRank()
                     : *dim + 1;
    if (*dim < 0 || *dim >= rank)
      return emitOpError() << "dimension " << *dim
                           << " is out of range for a tensor of rank " << rank;
  }
  if (getAxes().empty())
    return emitOpError() << "needs at least one axis";
  if (inSchedule)
    return verifyDirectiveAxes(*this, getAxisRefs(getAxes()));
  MeshOp mesh = lookupMesh(*this, getMeshAttr());
  if (!mesh && getMeshAttr())
    return emitOpError() << "names no dist.mesh: " << getMeshAttr();
  if (!mesh)
    return emitOpError()
           << "needs 'on @mesh', since the module has not exactly "
           << "one mesh";
  return verifyAxes(getAxisRefs(getAxes()), mesh,
                    [&] { return emitOpError(); });
}

//===----------------------------------------------------------------------===//
// Placements
//===----------------------------------------------------------------------===//

static LogicalResult verifyPlacement(Operation *op, ShardingAttr sharding) {
  MeshOp mesh = lookupMesh(op, sharding.getMesh());
  if (!mesh)
    return op->emitOpError()
           << "sharding " << sharding << " names no dist.mesh";
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  return sharding.verifyFor(type.getShape(), mesh.getAxes(),
                            [&] { return op->emitOpError(); });
}

LogicalResult ShardingConstraintOp::verify() {
  return verifyPlacement(*this, getSharding());
}

LogicalResult ReshardOp::verify() {
  if (getSource().getMesh() != getSharding().getMesh())
    return emitOpError() << "goes from mesh " << getSource().getMesh()
                         << " to mesh " << getSharding().getMesh()
                         << "; a reshard stays on one";
  if (failed(verifyPlacement(*this, getSource())))
    return failure();
  return verifyPlacement(*this, getSharding());
}

/// The type that the only block of `region` is given, and what it yields; an
/// error where it is not made like that.
static FailureOr<std::pair<Type, Type>>
getRegionTypes(ManualReshardOp op, Region &region, StringRef what) {
  Type element = op.getOperand().getType().getElementType();
  if (!region.hasOneBlock() || region.getNumArguments() != 1 ||
      region.front().empty() || !isa<YieldOp>(region.front().back()))
    return op.emitOpError() << what << " must have one block, one argument and "
                            << "a dist.yield at its end";
  Type from = region.getArgument(0).getType();
  Type to = cast<YieldOp>(region.front().back()).getOperand().getType();
  for (Type type : {from, to})
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        !tensor || tensor.getElementType() != element)
      return op.emitOpError()
             << what << " takes or yields " << type << ", but the operand is "
             << op.getOperand().getType();
  return std::make_pair(from, to);
}

LogicalResult ManualReshardOp::verify() {
  if (getSource().getMesh() != getSharding().getMesh())
    return emitOpError() << "goes from mesh " << getSource().getMesh()
                         << " to mesh " << getSharding().getMesh()
                         << "; a reshard stays on one";
  if (failed(verifyPlacement(*this, getSource())) ||
      failed(verifyPlacement(*this, getSharding())))
    return failure();
  FailureOr<std::pair<Type, Type>> body =
      getRegionTypes(*this, getBody(), "its region");
  if (failed(body))
    return failure();
  if (getBackward().empty())
    return success();
  FailureOr<std::pair<Type, Type>> backward =
      getRegionTypes(*this, getBackward(), "its backward region");
  if (failed(backward))
    return failure();
  if (backward->first != body->second || backward->second != body->first)
    return emitOpError() << "goes backward from " << backward->first << " to "
                         << backward->second << ", but forward from "
                         << body->first << " to " << body->second;
  return success();
}

#include "dialects/dist/IR/DistInterfaces.cpp.inc"
#include "dialects/dist/IR/ScheduleDirectiveOpInterface.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/dist/IR/DistOps.cpp.inc"
