//===- DistDialect.cpp - Registration and discardable attributes ----------===//

#include "dialects/dist/IR/Attention.h"
#include "dialects/dist/IR/Axes.h"
#include "dialects/dist/IR/Directive.h"
#include "dialects/dist/IR/EntryAttrs.h"
#include "dialects/dist/IR/Gradients.h"
#include "dialects/dist/IR/Halo.h"
#include "dialects/dist/IR/Overlap.h"
#include "dialects/dist/IR/Packing.h"
#include "dialects/dist/IR/Random.h"
#include "dialects/dist/IR/Streams.h"
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
#include "dialects/dist/IR/DistRandom.cpp.inc"
      >();
  declarePromisedInterfaces<ScheduleDirectiveOpInterface, AnnotateOp,
                            CheckpointOp, DecomposeOp, FuseOp, GraphHaloOp,
                            OverlapOp, RandomStreamsOp, ReplaceOp, RingOp,
                            ShardOp, SyncOp>();
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

//===----------------------------------------------------------------------===//
// Discardable attributes
//===----------------------------------------------------------------------===//

/// Checks a `#dist.sharding` on a value of `type`.
static LogicalResult verifySharding(Operation *op, Attribute attr, Type type,
                                    StringRef what) {
  auto sharding = dyn_cast<ShardingAttr>(attr);
  if (!sharding)
    return op->emitOpError() << "'" << kShardingAttr << "' of " << what
                             << " must be a #dist.sharding, but is " << attr;
  MeshOp mesh = lookupMesh(op, sharding.getMesh());
  if (!mesh)
    return op->emitOpError() << "sharding " << sharding << " of " << what
                             << " names no dist.mesh";
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return op->emitOpError()
           << "sharding " << sharding << " of " << what
           << " needs a ranked tensor, but the type is " << type;
  return sharding.verifyFor(tensor.getShape(), mesh.getAxes(),
                            [&] { return op->emitOpError() << what << ": "; });
}

static LogicalResult verifyValueAttr(Operation *op, NamedAttribute attr,
                                     Type type, StringRef what) {
  StringRef name = attr.getName();
  if (name == kParameterAttr || name == kInputAttr || name == kOutputAttr ||
      name == kCauseAttr) {
    if (!isa<StringAttr>(attr.getValue()))
      return op->emitOpError()
             << "'" << name << "' of " << what << " must be a string, but is "
             << attr.getValue();
    return success();
  }
  if (name == kGlobalTypeAttr) {
    auto global = dyn_cast<TypeAttr>(attr.getValue());
    if (!global || !isa<RankedTensorType>(global.getValue()))
      return op->emitOpError()
             << "'" << name << "' of " << what
             << " must be a ranked tensor type, but is " << attr.getValue();
    return success();
  }
  if (name == kPartAttr) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    auto part = dyn_cast<PartAttr>(attr.getValue());
    if (!tensor || !part)
      return op->emitOpError()
             << "'" << name << "' of " << what
             << " must be a #dist.part of a ranked tensor, but is "
             << attr.getValue() << " of type " << type;
    size_t rank = tensor.getRank();
    if (part.getOffsets().size() != rank || part.getShape().size() != rank)
      return op->emitOpError() << "'" << name << "' of " << what << ", " << part
                               << ", does not have the dimensions of " << type;
    for (auto [offset, whole, size] :
         llvm::zip_equal(part.getOffsets(), part.getShape(), tensor.getShape()))
      if (offset < 0 || whole < 0 || ShapedType::isDynamic(size) ||
          size > whole - offset)
        return op->emitOpError() << "'" << name << "' of " << what << ": "
                                 << type << " is not within " << part;
    return success();
  }
  if (name == kJoinedAttr) {
    auto joined = dyn_cast<DictionaryAttr>(attr.getValue());
    auto pieces = joined ? joined.getAs<ArrayAttr>("pieces") : ArrayAttr();
    auto isPiece = [](Attribute piece) {
      auto list = dyn_cast<DictionaryAttr>(piece);
      auto type = list ? list.getAs<TypeAttr>("type") : TypeAttr();
      return type && isa<RankedTensorType>(type.getValue());
    };
    if (!isa<RankedTensorType>(type) || !pieces ||
        !joined.getAs<IntegerAttr>("dim") || !llvm::all_of(pieces, isPiece))
      return op->emitOpError()
             << "'" << name << "' of " << what
             << " must be {dim = …, pieces = [{type = tensor<…>, …}, …]}, but "
                "is "
             << attr.getValue() << " of type " << type;
    return success();
  }
  if (name == kUnsignedAttr) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!isa<UnitAttr>(attr.getValue()) || !tensor ||
        !isa<IntegerType>(tensor.getElementType()) ||
        tensor.getElementType().isInteger(1))
      return op->emitOpError()
             << "'" << name << "' of " << what
             << " must be a unit attribute of a tensor of integers of more "
                "than a bit, but is "
             << attr.getValue() << " of type " << type;
    return success();
  }
  if (name == kTiedAttr) {
    auto names = dyn_cast<ArrayAttr>(attr.getValue());
    if (!names || !llvm::all_of(names, llvm::IsaPred<StringAttr>))
      return op->emitOpError()
             << "'" << name << "' of " << what
             << " must be an array of strings, but is " << attr.getValue();
    return success();
  }
  if (name == kUnsureAttr) {
    if (!isa<StringAttr>(attr.getValue()))
      return op->emitOpError()
             << "'" << name << "' of " << what << " must be a string, but is "
             << attr.getValue();
    return success();
  }
  if (name == kUpdatedAttr || name == kBufferAttr) {
    if (!isa<UnitAttr>(attr.getValue()))
      return op->emitOpError()
             << "'" << name << "' of " << what
             << " must be a unit attribute, but is " << attr.getValue();
    return success();
  }
  if (name == kStateAttr) {
    if (!isa<UnitAttr>(attr.getValue()) ||
        !isa<FloatType>(getElementTypeOrSelf(type)))
      return op->emitOpError() << "'" << name << "' of " << what
                               << " must be a unit attribute of floats, but is "
                               << attr.getValue() << " of type " << type;
    return success();
  }
  if (name == kClassesAttr) {
    auto classes = dyn_cast<IntegerAttr>(attr.getValue());
    if (!classes || classes.getInt() < 0 ||
        !isa<IntegerType>(getElementTypeOrSelf(type)))
      return op->emitOpError()
             << "'" << name << "' of " << what
             << " must be how many classes integers are of, but is "
             << attr.getValue() << " of type " << type;
    return success();
  }
  if (name == kRangeAttr) {
    auto range = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
    if (!range || range.size() != 2 ||
        !isa<IntegerType>(getElementTypeOrSelf(type)))
      return op->emitOpError()
             << "'" << name << "' of " << what
             << " must be array<i64: LEAST, MOST> of integers, but is "
             << attr.getValue() << " of type " << type;
    return success();
  }
  if (name == kRandomAttr) {
    auto text = dyn_cast<StringAttr>(attr.getValue());
    if (!text || (text != kRandomSeed && text != kRandomStep) ||
        type !=
            RankedTensorType::get({}, IntegerType::get(type.getContext(), 64)))
      return op->emitOpError()
             << "'" << name << "' of " << what << " must be \"" << kRandomSeed
             << "\" or \"" << kRandomStep << "\" on a tensor<i64>, but is "
             << attr.getValue() << " of type " << type;
    return success();
  }
  if (name == kDimensionsAttr) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    auto names = dyn_cast<ArrayAttr>(attr.getValue());
    if (!tensor || !names ||
        static_cast<int64_t>(names.size()) != tensor.getRank() ||
        !llvm::all_of(names, llvm::IsaPred<StringAttr>))
      return op->emitOpError()
             << "'" << name << "' of " << what
             << " must be an array of strings, one a dimension, but is "
             << attr.getValue() << " of type " << type;
    return success();
  }
  if (name == kShardingAttr)
    return verifySharding(op, attr.getValue(), type, what);
  if (name == kStoredAttr) {
    auto axes = dyn_cast<ArrayAttr>(attr.getValue());
    if (!axes || !llvm::all_of(axes, llvm::IsaPred<AxisRefAttr>))
      return op->emitOpError()
             << "'" << name << "' of " << what
             << " must be an array of mesh axes, but is " << attr.getValue();
    return success();
  }
  return op->emitOpError() << "unknown attribute '" << name << "' on " << what;
}

LogicalResult DistDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attr) {
  StringRef name = attr.getName();
  if (name == kWeightsAttr || name == kScopeAttr || name == kCheckpointAttr ||
      name == kPacksAttr || name == kWindowCauseAttr) {
    auto text = dyn_cast<StringAttr>(attr.getValue());
    if (!text)
      return op->emitOpError()
             << "'" << name << "' must be a string, but is " << attr.getValue();
    if (name == kWeightsAttr && !isa<ModuleOp>(op))
      return op->emitOpError() << "has '" << name << "', but is no module";
    if (name == kWeightsAttr && text.getValue().contains('\0'))
      return op->emitOpError()
             << "'" << name << "' is " << text
             << ", with a zero byte, which no file's name can have";
    return success();
  }
  if (name == kBackwardAttr || name == kRecomputedAttr ||
      name == kPaddingAttr || name == kFirstAttr) {
    if (!isa<UnitAttr>(attr.getValue()))
      return op->emitOpError() << "'" << name << "' must be a unit attribute, "
                               << "but is " << attr.getValue();
    return success();
  }
  if (name == kFixedRowsAttr) {
    if (!isa<UnitAttr>(attr.getValue()) || !isa<HaloExchangeOp>(op))
      return op->emitOpError()
             << "'" << name
             << "' is a unit attribute, on a dist.halo_exchange, "
             << "but is " << attr.getValue();
    return success();
  }
  if (name == kStreamAttr)
    return verifyStreamAttr(op, attr.getValue());
  if (name == kFuseAttr) {
    auto fuse = dyn_cast<DictionaryAttr>(attr.getValue());
    auto weight = fuse ? fuse.getAs<IntegerAttr>("weight") : IntegerAttr();
    if (!weight || !fuse.getAs<LocationAttr>("by") ||
        !fuse.getAs<IntegerAttr>("group") ||
        weight.getValue().uge(op->getNumOperands()))
      return op->emitOpError()
             << "'" << name
             << "' must be {by = loc(…), group = …, weight = …}, of which the "
                "last is the number of an operand, but is "
             << attr.getValue();
    return success();
  }
  if (name == kOverlapAttr)
    return verifyOverlapAttr(op, attr.getValue());
  if (name == kRandomStreamsAttr)
    return verifyRandomStreamsAttr(op, attr.getValue());
  if (name == kRingsAttr || name == kGraphHalosAttr)
    return verifyModuleAxesAttr(op, name, attr.getValue());
  if (name == kIdleAttr) {
    if (!isa<MeshOp>(op) || !isa<DictionaryAttr>(attr.getValue()))
      return op->emitOpError()
             << "'" << name << "' is a dictionary, on a mesh, "
             << "but is " << attr.getValue();
    return success();
  }
  if (name == kQueryLoopAttr) {
    if (!isa<IntegerAttr>(attr.getValue()))
      return op->emitOpError()
             << "'" << name << "' must be a number, but is " << attr.getValue();
    return success();
  }
  if (name == kKeyWindowAttr || name == kLikelyWindowAttr) {
    auto window = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
    if (!window || window.size() != 2)
      return op->emitOpError() << "'" << name << "' must be array<i64: LEFT, "
                               << "RIGHT>, but is " << attr.getValue();
    return success();
  }
  if (name == kRingAttr) {
    auto ring = dyn_cast<DictionaryAttr>(attr.getValue());
    auto axes = ring ? ring.getAs<ArrayAttr>("axes") : ArrayAttr();
    if (!isa<AttentionOp>(op) || !axes ||
        !llvm::all_of(axes, llvm::IsaPred<AxisRefAttr>) ||
        !ring.getAs<DenseBoolArrayAttr>("seen"))
      return op->emitOpError()
             << "'" << name
             << "' has {axes = [...], seen = array<i1: ...>}, on "
             << "an attention, but is " << attr.getValue();
    return success();
  }
  if (name == kShardingsAttr) {
    auto array = dyn_cast<ArrayAttr>(attr.getValue());
    if (!array || array.size() != op->getNumResults())
      return op->emitOpError()
             << "'" << name << "' must be an array of one "
             << "entry for each of the " << op->getNumResults()
             << " results, but is " << attr.getValue();
    for (auto [index, entry] : llvm::enumerate(array)) {
      if (isa<UnitAttr>(entry)) // a result that is no tensor
        continue;
      if (failed(verifySharding(op, entry, op->getResult(index).getType(),
                                "result " + std::to_string(index))))
        return failure();
    }
    return success();
  }
  return op->emitOpError() << "unknown attribute '" << name
                           << "' of the dist dialect";
}

LogicalResult DistDialect::verifyRegionArgAttribute(Operation *op,
                                                    unsigned region,
                                                    unsigned arg,
                                                    NamedAttribute attr) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  Type type = function.getArgumentTypes()[arg];
  if (auto global = function.getArgAttrOfType<TypeAttr>(arg, kGlobalTypeAttr))
    type = global.getValue();
  return verifyValueAttr(op, attr, type, "argument " + std::to_string(arg));
}

/// Whether results update arguments of their own, said of the first of them.
static LogicalResult verifyUpdates(Operation *op, FunctionOpInterface function,
                                   unsigned first) {
  DenseMap<int64_t, unsigned> known;
  for (unsigned i = first, end = function.getNumResults(); i < end; ++i) {
    auto number = function.getResultAttrOfType<IntegerAttr>(i, kUpdatesAttr);
    if (!number)
      continue;
    auto [other, isNew] = known.try_emplace(number.getInt(), i);
    if (!isNew)
      return op->emitOpError("results #")
             << other->second << " and #" << i
             << " are both the new value of argument #" << number.getInt()
             << " ('" << kUpdatesAttr
             << "'), which can take one; drop the attribute of the other";
  }
  return success();
}

LogicalResult DistDialect::verifyRegionResultAttribute(Operation *op,
                                                       unsigned region,
                                                       unsigned result,
                                                       NamedAttribute attr) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  Type type = function.getResultTypes()[result];
  if (attr.getName() == kUpdatesAttr) {
    auto number = dyn_cast<IntegerAttr>(attr.getValue());
    if (!number || number.getInt() < 0 ||
        number.getInt() >= function.getNumArguments() ||
        function.getArgumentTypes()[number.getInt()] != type)
      return op->emitOpError()
             << "'" << kUpdatesAttr << "' of result " << result
             << " must be the number of an argument of its type, but is "
             << attr.getValue();
    // Back to the last one only: linear in all.
    for (unsigned i = result; i-- > 0;)
      if (function.getResultAttr(i, kUpdatesAttr))
        return success();
    return verifyUpdates(op, function, result);
  }
  if (auto global =
          function.getResultAttrOfType<TypeAttr>(result, kGlobalTypeAttr))
    type = global.getValue();
  return verifyValueAttr(op, attr, type, "result " + std::to_string(result));
}
