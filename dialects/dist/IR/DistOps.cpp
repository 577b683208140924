//===- DistOps.cpp - Assembly and verifiers of meshes and placements ------===//

#include "dialects/dist/IR/Assembly.h"
#include "dialects/dist/IR/Dist.h"
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

ParseResult mlir::dist::parseText(OpAsmParser &parser, StringAttr &text) {
  // Not an attribute, which would take a type that follows for its own.
  std::string value;
  if (parser.parseString(&value))
    return failure();
  text = parser.getBuilder().getStringAttr(value);
  return success();
}

void mlir::dist::printText(OpAsmPrinter &printer, Operation *,
                           StringAttr text) {
  llvm::raw_ostream &stream = printer.getStream();
  stream << '"';
  llvm::interleave(
      llvm::split(text.getValue(), '"'), stream,
      [&](StringRef part) { llvm::printEscapedString(part, stream); }, "\\\"");
  stream << '"';
}

ParseResult mlir::dist::parseAxisList(OpAsmParser &parser, ArrayAttr &axes) {
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

void mlir::dist::printAxisList(OpAsmPrinter &printer, Operation *,
                               ArrayAttr axes) {
  llvm::interleaveComma(axes.getAsRange<AxisRefAttr>(), printer.getStream());
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

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistOps.cpp.inc"
