//===- DistOps.cpp - Assembly and verifiers of meshes and placements ------===//

#include "dialects/dist/IR/Assembly.h"
#include "dialects/dist/IR/Axes.h"
#include "dialects/dist/IR/Directive.h"
#include "dialects/dist/IR/DirectiveAssembly.h"
#include "dialects/dist/IR/Halo.h"
#include "mlir/IR/Builders.h"
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

/// Zeros are the default.
static ParseResult parseBoundary(OpAsmParser &parser, BoundaryAttr &boundary) {
  if (dist::parseBoundaryAttr(parser, boundary))
    return failure();
  if (boundary.getKind() == BoundaryKind::Zero)
    boundary = {};
  return success();
}

static void printBoundary(OpAsmPrinter &printer, Operation *,
                          BoundaryAttr boundary) {
  dist::printBoundaryAttr(printer, boundary);
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
                         << (getDim() ? "takes no dimension" : "needs 'dim'");
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
  if (failed(verifyPlacement(*this, getSharding())))
    return failure();
  if (!getWhole())
    return success();
  return verifyAxes(getAxisRefs(*getWhole()),
                    lookupMesh(*this, getSharding().getMesh()),
                    [&] { return emitOpError(); });
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

/// The type of the argument of the only block of `region`, and the type that it
/// yields; an error if the region has another form.
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
