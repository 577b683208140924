//===- Attributes.cpp - Checks of discardable attributes ------------------===//
//
// One function for each carrier and kind of Attributes.inc.
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/IR/Attention.h"
#include "dialects/dist/IR/Collectives.h"
#include "dialects/dist/IR/Halo.h"
#include "dialects/dist/IR/Overlap.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// What has an attribute: an op, or an argument or result of a function.
struct Place {
  Operation *op;
  enum { Op, Argument, Result } what = Op;
  unsigned number = 0;

  bool isOp() const { return what == Op; }
  FunctionOpInterface getFunction() const {
    return cast<FunctionOpInterface>(op);
  }
  Attribute getAttr(StringRef name) const;
  /// That of an argument or result, as the model has it.
  Type getType() const;
  std::string getText() const {
    return (what == Argument ? "argument " : "result ") +
           std::to_string(number);
  }
};

/// Whether an attribute is what it has to be. If not, the error may have been
/// told already.
enum class Fit { No, Yes, Told };

struct Declaration {
  StringRef name;
  bool (*carries)(const Place &);
  StringRef carrier;
  Fit (*fits)(const Place &, Attribute);
  StringRef kind;
};
} // namespace

Attribute Place::getAttr(StringRef name) const {
  return what == Argument ? getFunction().getArgAttr(number, name)
                          : getFunction().getResultAttr(number, name);
}

Type Place::getType() const {
  if (auto global = dyn_cast_or_null<TypeAttr>(getAttr(kGlobalTypeAttr)))
    return global.getValue();
  return what == Argument ? getFunction().getArgumentTypes()[number]
                          : getFunction().getResultTypes()[number];
}

//===----------------------------------------------------------------------===//
// What may have an attribute
//===----------------------------------------------------------------------===//

static bool carriesOp(const Place &place) { return place.isOp(); }

static bool carriesOpOfOneResult(const Place &place) {
  return place.isOp() && place.op->getNumResults() == 1;
}

static bool carriesLinalgOp(const Place &place) {
  return place.isOp() && place.op->getName().getDialectNamespace() == "linalg";
}

static bool carriesCollective(const Place &place) {
  return place.isOp() && isa<CollectiveOpInterface>(place.op) &&
         !isa<AllSliceOp>(place.op);
}

static bool carriesHaloExchange(const Place &place) {
  return place.isOp() && isa<HaloExchangeOp>(place.op);
}

static bool carriesAttention(const Place &place) {
  return place.isOp() && isa<AttentionOp>(place.op);
}

static bool carriesModule(const Place &place) {
  return place.isOp() && isa<ModuleOp>(place.op);
}

static bool carriesMesh(const Place &place) {
  return place.isOp() && isa<MeshOp>(place.op);
}

static bool carriesArgument(const Place &place) {
  return place.what == Place::Argument;
}

static bool carriesParameter(const Place &place) {
  return carriesArgument(place) && place.getAttr(kParameterAttr);
}

static bool carriesInput(const Place &place) {
  return carriesArgument(place) && place.getAttr(kInputAttr);
}

static bool carriesResult(const Place &place) {
  return place.what == Place::Result;
}

static bool carriesArgumentOrResult(const Place &place) {
  return !place.isOp();
}

//===----------------------------------------------------------------------===//
// What an attribute is
//===----------------------------------------------------------------------===//

static Fit fit(bool isFit) { return isFit ? Fit::Yes : Fit::No; }

template <typename Attr> static bool isArrayOf(Attribute attr) {
  auto array = dyn_cast_or_null<ArrayAttr>(attr);
  return array && llvm::all_of(array, llvm::IsaPred<Attr>);
}

/// The entry of a dictionary; null if the attribute is none.
template <typename Attr> static Attr getEntry(Attribute attr, StringRef name) {
  auto dictionary = dyn_cast<DictionaryAttr>(attr);
  return dictionary ? dictionary.getAs<Attr>(name) : Attr();
}

static Fit fitsText(const Place &, Attribute attr) {
  return fit(isa<StringAttr>(attr));
}

static Fit fitsUnit(const Place &, Attribute attr) {
  return fit(isa<UnitAttr>(attr));
}

static Fit fitsNumber(const Place &, Attribute attr) {
  return fit(isa<IntegerAttr>(attr));
}

static Fit fitsDictionary(const Place &, Attribute attr) {
  return fit(isa<DictionaryAttr>(attr));
}

static Fit fitsTexts(const Place &, Attribute attr) {
  return fit(isArrayOf<StringAttr>(attr));
}

static Fit fitsAxes(const Place &, Attribute attr) {
  return fit(isArrayOf<AxisRefAttr>(attr));
}

static Fit fitsTensorType(const Place &, Attribute attr) {
  auto type = dyn_cast<TypeAttr>(attr);
  return fit(type && isa<RankedTensorType>(type.getValue()));
}

static Fit fitsFileName(const Place &place, Attribute attr) {
  auto text = dyn_cast<StringAttr>(attr);
  if (!text || !text.getValue().contains('\0'))
    return fit(text != nullptr);
  place.op->emitOpError()
      << "'" << kWeightsAttr << "' is " << text
      << ", with a zero byte, which no file's name can have";
  return Fit::Told;
}

static Fit fitsAskedFor(const Place &, Attribute attr) {
  auto text = dyn_cast<StringAttr>(attr);
  return fit(text && (text == kAskedForPlacement ||
                      text == kAskedForCollective || text == kAskedForReshard));
}

static Fit fitsStream(const Place &place, Attribute attr) {
  static_assert(kMaxStream == 15, "as Attributes.inc says");
  auto stream = dyn_cast<IntegerAttr>(attr);
  if (!stream || !stream.getType().isSignlessInteger(32) ||
      stream.getInt() < 1 || stream.getInt() > kMaxStream)
    return Fit::No;
  if (llvm::all_of(place.op->getUsers(), [&](Operation *user) {
        return place.op->getBlock()->findAncestorOpInBlock(*user);
      }))
    return Fit::Yes;
  place.op->emitOpError() << "has '" << kStreamAttr
                          << "', but its result is used in another block";
  return Fit::Told;
}

static Fit fitsWindow(const Place &, Attribute attr) {
  auto window = dyn_cast<DenseI64ArrayAttr>(attr);
  return fit(window && window.size() == 2);
}

static Fit fitsFusion(const Place &place, Attribute attr) {
  auto weight = getEntry<IntegerAttr>(attr, "weight");
  return fit(weight && getEntry<LocationAttr>(attr, "by") &&
             getEntry<IntegerAttr>(attr, "group") &&
             weight.getValue().ult(place.op->getNumOperands()));
}

static Fit fitsRingStep(const Place &, Attribute attr) {
  return fit(isArrayOf<AxisRefAttr>(getEntry<ArrayAttr>(attr, "axes")) &&
             getEntry<DenseBoolArrayAttr>(attr, "seen"));
}

static Fit fitsModules(const Place &, Attribute attr) {
  auto modules = dyn_cast<DictionaryAttr>(attr);
  return fit(modules && llvm::all_of(modules, [](NamedAttribute module) {
               Attribute note = module.getValue();
               return isArrayOf<AxisRefAttr>(
                          getEntry<ArrayAttr>(note, "axes")) &&
                      getEntry<LocationAttr>(note, "by");
             }));
}

static Fit fitsOverlap(const Place &, Attribute attr) {
  auto modules = dyn_cast<DictionaryAttr>(attr);
  return fit(modules && llvm::all_of(modules, [](NamedAttribute module) {
               Attribute wish = module.getValue();
               auto chunks = getEntry<IntegerAttr>(wish, "chunks");
               bool isSplit = chunks && chunks.getType().isInteger(64) &&
                              chunks.getInt() > 1;
               bool isRing = !chunks && getEntry<UnitAttr>(wish, "ring");
               return isa<BoolAttr>(wish) ||
                      ((isRing || isSplit) &&
                       getEntry<LocationAttr>(wish, "by"));
             }));
}

static Fit fitsPipeline(const Place &, Attribute attr) {
  auto chunks = getEntry<IntegerAttr>(attr, "chunks");
  auto stages = getEntry<ArrayAttr>(attr, "stages");
  Attribute balance = getEntry<Attribute>(attr, "balance");
  auto count = dyn_cast_or_null<IntegerAttr>(balance);
  if (balance && (!count || !count.getType().isInteger(64) || !stages ||
                  count.getInt() < 1 ||
                  count.getInt() > static_cast<int64_t>(stages.size())))
    return Fit::No;
  return fit(getEntry<StringAttr>(attr, "table") &&
             getEntry<StringAttr>(attr, "axis") &&
             getEntry<LocationAttr>(attr, "by") && chunks &&
             chunks.getType().isInteger(64) && chunks.getInt() >= 1 && stages &&
             !stages.empty() && llvm::all_of(stages, [](Attribute stage) {
               auto modules = dyn_cast<ArrayAttr>(stage);
               return isArrayOf<StringAttr>(stage) && !modules.empty();
             }));
}

static Fit fitsRandomStreams(const Place &, Attribute attr) {
  auto streams = dyn_cast<ArrayAttr>(attr);
  return fit(
      streams && llvm::all_of(streams, [](Attribute stream) {
        auto sharding = getEntry<ShardingAttr>(stream, "sharding");
        auto sizes = getEntry<DenseI64ArrayAttr>(stream, "sizes");
        return isArrayOf<AxisRefAttr>(getEntry<ArrayAttr>(stream, "axes")) &&
               getEntry<IntegerAttr>(stream, "number") && sharding && sizes &&
               sizes.size() == static_cast<int64_t>(sharding.getDims().size());
      }));
}

/// Checks a `#dist.sharding` on a value of `type`.
static LogicalResult verifySharding(Operation *op, ShardingAttr sharding,
                                    Type type, StringRef what) {
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

static Fit fitsSharding(const Place &place, Attribute attr) {
  auto sharding = dyn_cast<ShardingAttr>(attr);
  if (!sharding)
    return Fit::No;
  return succeeded(verifySharding(place.op, sharding, place.getType(),
                                  place.getText()))
             ? Fit::Yes
             : Fit::Told;
}

static Fit fitsShardings(const Place &place, Attribute attr) {
  auto array = dyn_cast<ArrayAttr>(attr);
  if (!array || array.size() != place.op->getNumResults())
    return Fit::No;
  for (auto [result, entry] : llvm::zip_equal(place.op->getResults(), array)) {
    if (isa<UnitAttr>(entry)) // a result that is no tensor
      continue;
    auto sharding = dyn_cast<ShardingAttr>(entry);
    if (!sharding)
      return Fit::No;
    if (failed(verifySharding(place.op, sharding, result.getType(),
                              "result " +
                                  std::to_string(result.getResultNumber()))))
      return Fit::Told;
  }
  return Fit::Yes;
}

static Fit fitsPart(const Place &place, Attribute attr) {
  auto tensor = dyn_cast<RankedTensorType>(place.getType());
  auto part = dyn_cast<PartAttr>(attr);
  if (!tensor || !part)
    return Fit::No;
  size_t rank = tensor.getRank();
  if (part.getOffsets().size() != rank || part.getShape().size() != rank) {
    place.op->emitOpError()
        << "'" << kPartAttr << "' of " << place.getText() << ", " << part
        << ", does not have the dimensions of " << tensor;
    return Fit::Told;
  }
  for (auto [offset, whole, size] :
       llvm::zip_equal(part.getOffsets(), part.getShape(), tensor.getShape()))
    if (offset < 0 || whole < 0 || ShapedType::isDynamic(size) ||
        size > whole - offset) {
      place.op->emitOpError() << "'" << kPartAttr << "' of " << place.getText()
                              << ": " << tensor << " is not within " << part;
      return Fit::Told;
    }
  return Fit::Yes;
}

static Fit fitsPieces(const Place &place, Attribute attr) {
  auto pieces = getEntry<ArrayAttr>(attr, "pieces");
  auto isPiece = [](Attribute piece) {
    auto type = getEntry<TypeAttr>(piece, "type");
    return type && isa<RankedTensorType>(type.getValue());
  };
  return fit(isa<RankedTensorType>(place.getType()) && pieces &&
             getEntry<IntegerAttr>(attr, "dim") &&
             llvm::all_of(pieces, isPiece));
}

static Fit fitsUnitOfIntegers(const Place &place, Attribute attr) {
  auto tensor = dyn_cast<RankedTensorType>(place.getType());
  return fit(isa<UnitAttr>(attr) && tensor &&
             isa<IntegerType>(tensor.getElementType()) &&
             !tensor.getElementType().isInteger(1));
}

static Fit fitsUnitOfFloats(const Place &place, Attribute attr) {
  return fit(isa<UnitAttr>(attr) &&
             isa<FloatType>(getElementTypeOrSelf(place.getType())));
}

static Fit fitsClasses(const Place &place, Attribute attr) {
  auto classes = dyn_cast<IntegerAttr>(attr);
  return fit(classes && classes.getInt() >= 0 &&
             isa<IntegerType>(getElementTypeOrSelf(place.getType())));
}

static Fit fitsRange(const Place &place, Attribute attr) {
  auto range = dyn_cast<DenseI64ArrayAttr>(attr);
  return fit(range && range.size() == 2 &&
             isa<IntegerType>(getElementTypeOrSelf(place.getType())));
}

static Fit fitsRandomKey(const Place &place, Attribute attr) {
  auto text = dyn_cast<StringAttr>(attr);
  Type type = place.getType();
  return fit(text && (text == kRandomSeed || text == kRandomStep) &&
             type == RankedTensorType::get(
                         {}, IntegerType::get(type.getContext(), 64)));
}

static Fit fitsDimensionNames(const Place &place, Attribute attr) {
  auto tensor = dyn_cast<RankedTensorType>(place.getType());
  return fit(tensor && isArrayOf<StringAttr>(attr) &&
             static_cast<int64_t>(cast<ArrayAttr>(attr).size()) ==
                 tensor.getRank());
}

/// Results that update arguments update one each: said of the first of them.
static Fit fitsArgumentNumber(const Place &place, Attribute attr) {
  FunctionOpInterface function = place.getFunction();
  auto number = dyn_cast<IntegerAttr>(attr);
  if (!number || number.getInt() < 0 ||
      number.getInt() >= function.getNumArguments() ||
      function.getArgumentTypes()[number.getInt()] !=
          function.getResultTypes()[place.number])
    return Fit::No;
  // Back to the last one only: linear in all.
  for (unsigned i = place.number; i-- > 0;)
    if (function.getResultAttr(i, kUpdatesAttr))
      return Fit::Yes;
  DenseMap<int64_t, unsigned> known;
  for (unsigned i = place.number, end = function.getNumResults(); i < end;
       ++i) {
    auto other = function.getResultAttrOfType<IntegerAttr>(i, kUpdatesAttr);
    if (!other)
      continue;
    auto [first, isNew] = known.try_emplace(other.getInt(), i);
    if (isNew)
      continue;
    place.op->emitOpError("results #")
        << first->second << " and #" << i
        << " are both the new value of argument #" << other.getInt() << " ('"
        << kUpdatesAttr
        << "'), which can take one; drop the attribute of the other";
    return Fit::Told;
  }
  return Fit::Yes;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

#define DIST_CARRIER(NAME, WORDS)                                              \
  static constexpr StringLiteral kCarrier##NAME = WORDS;
#define DIST_KIND(NAME, WORDS)                                                 \
  static constexpr StringLiteral kKind##NAME = WORDS;
#include "dialects/dist/IR/Attributes.inc"

static constexpr Declaration kDeclarations[] = {
#define DIST_ATTRIBUTE(NAME, TEXT, CARRIER, KIND, MEANING)                     \
  {k##NAME##Attr, carries##CARRIER, kCarrier##CARRIER, fits##KIND, kKind##KIND},
#include "dialects/dist/IR/Attributes.inc"
};

static LogicalResult verifyAttribute(const Place &place, NamedAttribute attr) {
  StringRef name = attr.getName();
  const Declaration *found =
      llvm::find_if(kDeclarations, [&](const Declaration &declaration) {
        return declaration.name == name;
      });
  if (found == std::end(kDeclarations)) {
    InFlightDiagnostic error = place.op->emitOpError()
                               << "unknown attribute '" << name
                               << "' of the dist dialect";
    if (!place.isOp())
      error << " on " << place.getText();
    return error;
  }
  if (!found->carries(place)) {
    InFlightDiagnostic error = place.op->emitOpError();
    if (!place.isOp())
      error << place.getText() << " ";
    return error << "has '" << name << "', which belongs on " << found->carrier;
  }
  Fit fit = found->fits(place, attr.getValue());
  if (fit == Fit::Yes)
    return success();
  if (fit == Fit::Told)
    return failure();
  InFlightDiagnostic error = place.op->emitOpError() << "'" << name << "'";
  if (!place.isOp())
    error << " of " << place.getText();
  error << " must be " << found->kind << ", but is " << attr.getValue();
  if (!place.isOp())
    error << " of type " << place.getType();
  return error;
}

LogicalResult DistDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attr) {
  return verifyAttribute({op}, attr);
}

LogicalResult DistDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                    unsigned argument,
                                                    NamedAttribute attr) {
  return isa<FunctionOpInterface>(op)
             ? verifyAttribute({op, Place::Argument, argument}, attr)
             : success();
}

LogicalResult DistDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                       unsigned result,
                                                       NamedAttribute attr) {
  return isa<FunctionOpInterface>(op)
             ? verifyAttribute({op, Place::Result, result}, attr)
             : success();
}
