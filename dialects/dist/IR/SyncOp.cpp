//===- SyncOp.cpp - Assembly and verifier of dist.sync --------------------===//

#include "dialects/dist/IR/Assembly.h"
#include "dialects/dist/IR/Halo.h"
#include "dialects/dist/IR/Schedule.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::dist;

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

/// `low 1 high 2 boundary none`; in a sync zeros are an assertion, so they are
/// kept.
static ParseResult parseHalo(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  for (StringRef name : {"low", "high"}) {
    int64_t rows;
    if (failed(parser.parseOptionalKeyword(name)))
      continue;
    if (parser.parseInteger(rows))
      return failure();
    result.addAttribute(name, builder.getI64IntegerAttr(rows));
  }
  if (failed(parser.parseOptionalKeyword("boundary")))
    return success();
  BoundaryAttr boundary;
  if (dist::parseBoundaryAttr(parser, boundary))
    return failure();
  result.addAttribute("boundary", boundary);
  return success();
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
  if (parseHalo(parser, result))
    return failure();
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
    if (parseTarget(parser, target))
      return failure();
    result.addAttribute("target", StringAttr::get(context, target));
  }
  SyncModeAttr mode;
  SyncKindAttr kind;
  ArrayAttr axes;
  if (parseEnum(parser, mode))
    return failure();
  int64_t number;
  if (OptionalParseResult hasNumber = parser.parseOptionalInteger(number);
      hasNumber.has_value()) {
    if (failed(*hasNumber))
      return failure();
    result.addAttribute("number",
                        parser.getBuilder().getI64IntegerAttr(number));
  }
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
  if (getNumber())
    printer << *getNumber() << " ";
  if (getFunctionAttr()) {
    printer << getFunctionAttr();
    if (getBackwardAttr())
      printer << " backward " << getBackwardAttr();
  } else {
    printer << stringifySyncKind(getKind());
    if (getDim())
      printer << " dim " << static_cast<int64_t>(*getDim());
    if (getToDim())
      printer << " to " << static_cast<int64_t>(*getToDim());
    if (getLow())
      printer << " low " << *getLow();
    if (getHigh())
      printer << " high " << *getHigh();
    if (getBoundary()) {
      printer << " boundary ";
      dist::printBoundaryAttr(printer, *getBoundary());
    }
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
  printer.printOptionalAttrDict(
      (*this)->getAttrs(),
      {"target", "mode", "number", "kind", "dim", "toDim", "low", "high",
       "boundary", "axes", "groups", "function", "backward", "mesh", "except",
       "optional", "expect", "cause"});
  if (getResult())
    printer << " : " << getResult().getType();
}

/// Constraint C9 of a sync.
static LogicalResult verifyHalo(SyncOp sync) {
  bool isHalo = sync.getKind() == SyncKind::Halo;
  if (!isHalo) {
    if (sync.getLow() || sync.getHigh() || sync.getBoundary())
      return sync.emitOpError()
             << "'" << stringifySyncKind(sync.getKind())
             << "' has no 'low', 'high' or 'boundary': they are a halo's";
    return success();
  }
  if (!sync.getLow() || !sync.getHigh())
    return sync.emitOpError() << "'halo' needs 'low' and 'high', the rows "
                              << "before and after a block";
  if (failed(verifyHaloRows(sync, *sync.getLow(), *sync.getHigh())))
    return failure();
  if (*sync.getLow() == 0 && *sync.getHigh() == 0)
    return sync.emitOpError() << "'halo' of 0 rows before and 0 after a block "
                              << "brings nothing";
  if (sync.getGroups() != 1)
    return sync.emitOpError() << "'halo' cuts no dimension that groups could "
                              << "be of";
  if (sync.getMode() == SyncMode::BwdPost)
    return sync.emitOpError() << "'halo' is 'fwd_pre' or 'fwd_post': what its "
                              << "gradient sends follows from it";
  BoundaryAttr boundary = sync.getBoundaryAttr();
  if (boundary && boundary.getKind() == BoundaryKind::Periodic)
    return sync.emitOpError() << "'halo' cannot be 'periodic': a sync changes "
                              << "no result, and no op reads around the ends";
  if (sync.getOperand())
    return verifyBoundary(sync, boundary, sync.getOperand().getType());
  return success();
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
  if (!inSchedule && (getOptional() || getExpect() || getExcept()))
    return emitOpError() << "outside a schedule cannot be 'optional', and "
                         << "expects and excepts nothing";
  if (int64_t number = getNumber().value_or(0);
      getNumber() && (!inSchedule || number < 0))
    return emitOpError() << "number " << number
                         << " names no input or output of a module";
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
  if (failed(verifyHalo(*this)))
    return failure();
  StringRef kind = stringifySyncKind(getKind());
  if (static_cast<int64_t>(getGroups()) < 1)
    return emitOpError() << "groups " << getGroups() << " must be at least 1";
  if (getKind() == SyncKind::AllReduce && getGroups() != 1)
    return emitOpError() << "'all_reduce' cuts no dimension that groups "
                         << "could be of";
  if ((getKind() == SyncKind::AllReduce) == getDim().has_value())
    return emitOpError() << "'" << kind << "' "
                         << (getDim() ? "takes no dimension"
                                     : "needs 'dim', as in 'dim 0'");
  if ((getKind() == SyncKind::AllToAll) != getToDim().has_value())
    return emitOpError() << "'" << kind << "' "
                         << (getToDim() ? "takes no second dimension"
                                        : "needs 'dim … to …'");
  if (getToDim() && *getToDim() == *getDim())
    return emitOpError() << "'all_to_all' from dimension " << *getDim()
                         << " to itself";
  for (std::optional<int64_t> dim : {getDim(), getToDim()}) {
    if (!dim || inSchedule)
      continue;
    int64_t rank = cast<RankedTensorType>(getOperand().getType()).getRank();
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
