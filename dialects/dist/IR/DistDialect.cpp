//===- DistDialect.cpp - Registration of the dialect ----------------------===//

#include "dialects/dist/IR/Attention.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Directive.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Overlap.h"
#include "dialects/dist/IR/Pipeline.h"
#include "dialects/dist/IR/Random.h"
#include "dialects/dist/IR/Schedule.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"

#include "dialects/dist/IR/DistDialect.cpp.inc"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// Functions are inlined whatever they communicate: all devices call them.
struct DistInliner : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void DistDialect::initialize() {
  registerAttributes();
  addInterfaces<DistInliner>();
  addOperations<
#define GET_OP_LIST
#include "dialects/dist/IR/DistOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/dist/IR/DistSchedule.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/dist/IR/DistCollectives.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/dist/IR/DistAttention.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/dist/IR/DistOverlap.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/dist/IR/DistGradients.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/dist/IR/DistPipeline.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/dist/IR/DistRandom.cpp.inc"
      >();
  declarePromisedInterfaces<ScheduleDirectiveOpInterface, AnnotateOp,
                            CheckpointOp, CutPipelineStageOp, DecomposeOp,
                            FuseOp, GraphHaloOp, OverlapOp, RandomStreamsOp,
                            ReplaceOp, RingOp, ShardOp, StagesOp, SyncOp>();
}

/// Says that there is no such op, and which one may be meant.
static ParseResult parseUnknownOp(OpAsmParser &parser, OperationState &state) {
  StringRef name = state.name.getStringRef(), nearest;
  unsigned least = std::max<size_t>(3, name.size() / 4);
  for (RegisteredOperationName other :
       parser.getContext()->getRegisteredOperationsByDialect(
           DistDialect::getDialectNamespace())) {
    StringRef known = other.getStringRef();
    unsigned distance = name.edit_distance(known, true, least);
    if (distance < least) {
      least = distance;
      nearest = known;
    }
  }
  InFlightDiagnostic error = parser.emitError(parser.getNameLoc())
                             << "is unknown";
  if (!nearest.empty())
    error << "; did you mean '" << nearest << "'?";
  return error;
}

std::optional<Dialect::ParseOpHook>
DistDialect::getParseOperationHook(StringRef) const {
  return ParseOpHook(parseUnknownOp); // a reference: to what outlives it
}

MeshOp mlir::dist::lookupMesh(Operation *op, FlatSymbolRefAttr mesh,
                              SymbolTableCollection *symbols) {
  Operation *table = op;
  while (table && !table->hasTrait<OpTrait::SymbolTable>())
    table = table->getParentOp();
  if (!table)
    return {};
  if (mesh) {
    Operation *found = symbols ? symbols->lookupSymbolIn(table, mesh)
                               : SymbolTable::lookupSymbolIn(table, mesh);
    return llvm::dyn_cast_or_null<MeshOp>(found);
  }
  // Meshes stand before the functions: a large program is not searched through
  // for a second one each time.
  MeshOp only;
  for (Operation &op : table->getRegion(0).getOps()) {
    if (only && isa<FunctionOpInterface>(op))
      break;
    auto candidate = dyn_cast<MeshOp>(op);
    if (!candidate)
      continue;
    if (only)
      return {};
    only = candidate;
  }
  return only;
}

DenseElementsAttr mlir::dist::getDenseElements(ElementsAttr constant) {
  auto resource = dyn_cast<DenseResourceElementsAttr>(constant);
  if (!resource)
    return dyn_cast<DenseElementsAttr>(constant);
  ShapedType type = resource.getType();
  ArrayRef<char> data = resource.getData();
  if (!isa<RankedTensorType>(type) ||
      !type.getElementType().isIntOrIndexOrFloat() ||
      static_cast<int64_t>(data.size()) != getTensorBytes(type))
    return {};
  if (type.getElementType().isInteger(1))
    return DenseElementsAttr::get(type,
                                  SmallVector<bool>(data.begin(), data.end()));
  return DenseElementsAttr::getFromRawBuffer(type, data);
}
