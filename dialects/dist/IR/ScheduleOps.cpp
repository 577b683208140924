//===- ScheduleOps.cpp - Assembly and verifiers of schedules --------------===//

#include "dialects/dist/IR/Assembly.h"
#include "dialects/dist/IR/Directive.h"
#include "dialects/dist/IR/Pipeline.h"
#include "dialects/dist/IR/Schedule.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/InterleavedRange.h"

using namespace mlir;
using namespace mlir::dist;

//===----------------------------------------------------------------------===//
// What directives have in common
//===----------------------------------------------------------------------===//

ParseResult mlir::dist::parseTarget(OpAsmParser &parser, std::string &target) {
  return parseName(parser, target, "a name", "h.*.attn");
}

LogicalResult mlir::dist::verifyDirectiveAxes(Operation *op,
                                              ArrayRef<AxisRefAttr> axes) {
  auto schedule = cast<ScheduleOp>(op->getParentOp());
  return verifyAxes(axes, lookupMesh(schedule, schedule.getMeshAttr()),
                    [&] { return op->emitOpError(); });
}

ParseResult mlir::dist::parseCount(OpAsmParser &parser,
                                   OperationState &result) {
  Builder &builder = parser.getBuilder();
  ArrayRef<StringRef> words(kClauseWords);
  // Each at most once, in any order.
  for (bool isFirst = true;; isFirst = false) {
    SMLoc place = parser.getCurrentLocation();
    StringRef word;
    if (failed(parser.parseOptionalKeyword(&word, words.take_back(3)))) {
      if (!isFirst &&
          succeeded(parser.parseOptionalKeyword(&word, words.drop_back(3))))
        return parser.emitError(place)
               << "'" << word << "' has to stand before 'except', 'optional' "
               << "and 'expect', which come last";
      return success();
    }
    if (result.attributes.get(word))
      return parser.emitError(place) << "'" << word << "' is here twice";
    std::string names;
    int64_t count;
    if (word == "optional") {
      result.addAttribute(word, builder.getUnitAttr());
    } else if (word == "except") {
      if (parseTarget(parser, names))
        return failure();
      result.addAttribute(word, builder.getStringAttr(names));
    } else {
      if (parser.parseInteger(count))
        return failure();
      result.addAttribute(word, builder.getI64IntegerAttr(count));
    }
  }
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
    if (!isDirective(op) && !isa<IncludeOp, PipelineOp>(op))
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
  // Printing it in place would number all values of the module.
  OwningOpRef<Operation *> alone = directive->clone();
  alone->print(stream, OpPrintingFlags().useLocalScope().assumeVerified());
  return text;
}

/// `[dim, dim]`, or `replicate`.
static ParseResult parseDimsOrReplicate(OpAsmParser &parser,
                                        OperationState &result) {
  if (succeeded(parser.parseOptionalKeyword("replicate"))) {
    result.addAttribute("replicate", parser.getBuilder().getUnitAttr());
    return success();
  }
  llvm::SMLoc place = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalLBrace()))
    return parser.emitError(place)
           << "the list of dimensions is in square brackets, as in [{\"tp\"}, "
              "{}]";
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

/// Whether the target is a contraction of modules, and axes follow.
static bool isFeatureTarget(ShardTarget kind) {
  return kind == ShardTarget::Column || kind == ShardTarget::Row ||
         kind == ShardTarget::Heads || kind == ShardTarget::Experts;
}

static bool isActivationTarget(ShardTarget kind) {
  return kind == ShardTarget::ModuleInput || kind == ShardTarget::ModuleOutput;
}

/// `partial = sum {"tp"}`, if present.
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

/// `groups [64, 16, 16] dim 0` after the list of a parameter, if present.
static ParseResult parseOptionalBlocks(OpAsmParser &parser,
                                       OperationState &result) {
  if (failed(parser.parseOptionalKeyword("groups")))
    return success();
  int64_t dim;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parseGroups(parser, result))
    return failure();
  if (!result.attributes.get("blocks"))
    return parser.emitError(loc)
           << "groups of one size stand in the list, at the dimension that "
              "they are of: {\"tp\"} groups 3";
  if (parser.parseKeyword("dim") || parser.parseInteger(dim))
    return failure();
  result.addAttribute("number", parser.getBuilder().getI64IntegerAttr(dim));
  return success();
}

/// The number of the tensor, if present.
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
    if (parseTarget(parser, target) ||
        (kind == ShardTarget::Value && parseNumber(parser, result)) ||
        parseDimsOrReplicate(parser, result) ||
        (kind == ShardTarget::Parameter &&
         parseOptionalBlocks(parser, result)) ||
        parseOptionalPartial(parser, result))
      return failure();
  } else {
    ArrayAttr axes;
    llvm::SMLoc loc = parser.getCurrentLocation();
    if (succeeded(parser.parseOptionalKeyword(
            &word, {"column", "row", "heads", "experts"})))
      return parser.emitError(loc)
             << "the name comes before '" << word << "', as in dist.shard "
             << "\"fc1\" " << word << " over \"tp\"";
    if (parseTarget(parser, target))
      return failure();
    loc = parser.getCurrentLocation();
    if (failed(parser.parseOptionalKeyword(&word)))
      return parser.emitError(loc)
             << "expected 'column', 'row', 'heads', 'experts', 'input' or "
                "'output'; a list of dimensions is of a tensor, as in "
                "dist.shard parameter \""
             << target << ".weight\" [{}, {\"tp\"}]";
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
                  "'output', as in dist.shard \""
               << target << "\" column over \"tp\"";
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
  bool hasBlockDim = getKind() == ShardTarget::Parameter && getBlocks();
  if (getNumber() && !hasBlockDim)
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
  if (hasBlockDim)
    printer << " groups [" << llvm::interleaved(*getBlocks()) << "] dim "
            << static_cast<int64_t>(getNumber().value_or(0));
  if (getPartialKind() && getPartialAxes()) {
    printer << " ";
    printPartial(printer, *getPartialKind(), getAxisRefs(*getPartialAxes()));
  }
  printCount(printer, *this);
  printer.printOptionalAttrDict(
      (*this)->getAttrs(), {"target", "kind", "axes", "groups", "blocks",
                            "number", "dims", "dimNumbers", "partialKind",
                            "partialAxes", "replicate", "except", "optional",
                            "expect"});
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
  bool hasBlockDim = getKind() == ShardTarget::Parameter && getBlocks();
  if (hasBlockDim && (!getNumber() || !getDims()))
    return emitOpError() << "groups [" << llvm::interleaved(*getBlocks())
                         << "] belong to a dimension of the list";
  if (getNumber() && !hasBlockDim && (number < 0 || !isNumbered(getKind())))
    return emitOpError() << "number " << number
                         << " names no input or output of a module";
  bool isPartial = getPartialAxes() && !getPartialAxes()->empty();
  if (getPartialKind().has_value() != isPartial ||
      (isPartial && !isNumbered(getKind())))
    return emitOpError() << "'partial' takes a reduction and axes, and belongs "
                            "to values and to 'input' and 'output' of modules: "
                            "what goes into the program, or comes out of it, "
                            "is whole";
  if (failed(verifyCount(*this)))
    return failure();
  if (static_cast<int64_t>(getGroups()) < 1)
    return emitOpError() << "groups " << getGroups() << " must be at least 1";
  if (getGroups() != 1 && getKind() != ShardTarget::Column &&
      getKind() != ShardTarget::Row)
    return emitOpError() << "groups belong to 'column' and 'row', not to '"
                         << stringifyShardTarget(getKind()) << "'";
  if (std::optional<ArrayRef<int64_t>> blocks = getBlocks()) {
    if (getKind() != ShardTarget::Column && !hasBlockDim)
      return emitOpError() << "a list of groups belongs to 'column' or to a "
                           << "parameter, not to '"
                           << stringifyShardTarget(getKind()) << "'";
    if (getGroups() != 1 || blocks->size() < 2 ||
        llvm::any_of(*blocks, [](int64_t size) {
          return size < 1 || size > int64_t(1) << 40;
        }))
      return emitOpError() << "groups [" << llvm::interleaved(*blocks)
                           << "] must be at least 2 sizes from 1 to 2^40";
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

#include "dialects/dist/IR/ScheduleDirectiveOpInterface.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/dist/IR/DistSchedule.cpp.inc"
