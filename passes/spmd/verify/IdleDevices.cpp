//===- IdleDevices.cpp - Devices that have nothing to do ------------------===//
//
// A dimension of 8 that is cut over 64 devices leaves 56 of them without a
// block. All of them wait for those that have one.
//
//===----------------------------------------------------------------------===//

#include "passes/spmd/verify/IdleDevices.h"
#include "dialects/dist/IR/Attention.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/Pipeline.h"
#include "dialects/dist/Interfaces/Placement.h"
#include "dialects/dist/Interfaces/ShardingRule.h"
#include "dialects/dist/Utils/Program.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/spmd/verify/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::dist;

namespace {
/// How many blocks there are for how many devices.
struct Cut {
  int64_t devices, blocks, size;
};

class Idle {
public:
  explicit Idle(const MeshLayout &layout) : layout(layout) {}

  void visit(FunctionOpInterface function);
  /// An axis has something to do that no sharding shows.
  void use(StringRef axis) { used.insert(axis); }
  IdleDevices finish();

private:
  using Cuts = llvm::MapVector<ArrayAttr, Cut>;
  void use(ShardingAttr sharding);
  void addCuts(Value value, const TensorRule &rule, Cuts &cuts) const;
  void visitWork(Operation *op);

  const MeshLayout &layout;
  llvm::StringSet<> used;
  struct Found {
    Cut worst;
    llvm::StringSet<> modules;
    std::string first;
  };
  llvm::MapVector<ArrayAttr, Found> found;
  /// The time of all devices for products, and how much of it they work.
  double all = 0, busy = 0;
};
} // namespace

void Idle::use(ShardingAttr sharding) {
  if (!sharding)
    return;
  for (DimShardingAttr dim : sharding.getDims())
    for (AxisRefAttr axis : dim.getAllAxes())
      used.insert(axis.getName());
  for (AxisRefAttr axis : sharding.getPartialAxes())
    used.insert(axis.getName());
}

/// The blocks of a tensor's dimensions, by the axes that cut them. Of a
/// dimension that is read by windows, such as padded rows, the windows are what
/// is cut.
void Idle::addCuts(Value value, const TensorRule &rule, Cuts &cuts) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  ShardingAttr sharding = type ? getPlacement(value) : ShardingAttr();
  if (!sharding)
    return;
  for (auto [number, dim, size] :
       llvm::enumerate(sharding.getDims(), type.getShape())) {
    if (dim.isReplicated() || ShapedType::isDynamic(size) ||
        rule.getWindow(number))
      continue;
    for (const Piece &piece : layout.pieces(dim, size)) {
      int64_t devices = layout.size(piece.axes);
      if (devices == 1 || piece.size < 1)
        continue;
      int64_t extent = llvm::divideCeil(piece.size, devices);
      Cut cut{devices, int64_t(llvm::divideCeil(piece.size, extent)),
              piece.size};
      auto axes = ArrayAttr::get(
          layout.getContext(),
          SmallVector<Attribute>(piece.axes.begin(), piece.axes.end()));
      auto [entry, isNew] = cuts.insert({axes, cut});
      if (!isNew && cut.blocks < entry->second.blocks)
        entry->second = cut;
    }
  }
}

void Idle::visitWork(Operation *op) {
  Cuts cuts;
  ShardingRule rule = getShardingRule(op);
  for (auto [operand, ofOperand] :
       llvm::zip(op->getOperands(), rule.operands))
    addCuts(operand, ofOperand, cuts);
  for (auto [result, ofResult] :
       llvm::zip(op->getResults(), rule.results))
    addCuts(result, ofResult, cuts);
  // In units of one device's share of the work.
  double work = 1, part = 1;
  for (const Factor &factor : rule.factors)
    work *= ShapedType::isDynamic(factor.size) ? 1.0 : double(factor.size);
  for (auto &[axes, cut] : cuts) {
    work /= cut.blocks;
    part *= double(cut.blocks) / cut.devices;
    if (cut.blocks == cut.devices)
      continue;
    auto scope = op->getAttrOfType<StringAttr>(kScopeAttr);
    StringRef name = scope ? scope.getValue() : StringRef();
    auto [entry, isNew] = found.try_emplace(axes, Found{cut, {}, name.str()});
    Found &here = entry->second;
    here.modules.insert(name);
    if (cut.blocks < here.worst.blocks) {
      here.worst = cut;
      here.first = name.str();
    }
  }
  all += work;
  busy += work * part;
}

void Idle::visit(FunctionOpInterface function) {
  for (BlockArgument argument : function.getArguments())
    use(getPlacement(argument));
  function->walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (isa<RankedTensorType>(result.getType()))
        use(getPlacement(result));
    if (isa<AttentionLikeOpInterface, tensor::GatherOp>(op) ||
        (isa<ShardingRuleOpInterface>(op) && getShardingRule(op).isContraction))
      visitWork(op);
  });
}

IdleDevices Idle::finish() {
  IdleDevices idle;
  for (MeshAxisAttr axis : layout.getAxes())
    if (axis.getSize() > 1 && !used.contains(axis.getName()))
      idle.axes.push_back(axis.getName().str());
  for (auto &[axes, here] : found) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::interleaveComma(getAxisRefs(axes), stream);
    idle.places.push_back({text, here.first, here.worst.devices,
                           here.worst.devices - here.worst.blocks,
                           here.worst.size,
                           static_cast<int64_t>(here.modules.size())});
  }
  idle.share = all > 0 ? 1 - busy / all : 0;
  return idle;
}

IdleDevices mlir::dist::getIdleDevices(MeshOp mesh) {
  IdleDevices idle;
  auto noted =
      mesh ? mesh->getAttrOfType<DictionaryAttr>(kIdleAttr) : DictionaryAttr();
  if (!noted)
    return idle;
  // Somebody may have written it by hand.
  if (auto axes = noted.getAs<ArrayAttr>("axes"))
    for (Attribute name : axes)
      if (auto text = dyn_cast<StringAttr>(name))
        idle.axes.push_back(text.str());
  if (auto places = noted.getAs<ArrayAttr>("places"))
    for (Attribute one : places) {
      auto place = dyn_cast<DictionaryAttr>(one);
      auto getText = [&](StringRef name) {
        auto text = place ? place.getAs<StringAttr>(name) : StringAttr();
        return text ? text.str() : std::string();
      };
      auto getNumber = [&](StringRef name) -> int64_t {
        auto number = place ? place.getAs<IntegerAttr>(name) : IntegerAttr();
        return number && number.getValue().isSignedIntN(64)
                   ? number.getValue().getSExtValue()
                   : 0;
      };
      idle.places.push_back({getText("axes"), getText("first"),
                             getNumber("devices"), getNumber("idle"),
                             getNumber("size"), getNumber("modules")});
    }
  if (auto share = noted.getAs<FloatAttr>("share"))
    idle.share = share.getValueAsDouble();
  return idle;
}

/// Notes it on the mesh, if there is anything to note.
static void setIdleDevices(MeshOp mesh, const IdleDevices &idle) {
  if (idle.axes.empty() && idle.places.empty()) {
    mesh->removeAttr(kIdleAttr);
    return;
  }
  Builder builder(mesh.getContext());
  SmallVector<Attribute> axes, places;
  for (StringRef name : idle.axes)
    axes.push_back(builder.getStringAttr(name));
  for (const IdlePlace &place : idle.places) {
    NamedAttrList list;
    list.set("axes", builder.getStringAttr(place.axes));
    list.set("first", builder.getStringAttr(place.first));
    list.set("devices", builder.getI64IntegerAttr(place.devices));
    list.set("idle", builder.getI64IntegerAttr(place.idle));
    list.set("size", builder.getI64IntegerAttr(place.size));
    list.set("modules", builder.getI64IntegerAttr(place.modules));
    places.push_back(list.getDictionary(mesh.getContext()));
  }
  NamedAttrList list;
  list.set("axes", builder.getArrayAttr(axes));
  list.set("places", builder.getArrayAttr(places));
  list.set("share", builder.getF64FloatAttr(idle.share));
  mesh->setAttr(kIdleAttr, list.getDictionary(mesh.getContext()));
}

/// Looks at a placed program, warns, and notes what it found.
static void noteIdleDevices(ModuleOp module, MeshOp mesh) {
  MeshLayout layout(mesh);
  Idle all(layout);
  if (std::optional<PipelineNote> pipeline = PipelineNote::get(mesh))
    all.use(pipeline->axis.getValue());
  for (auto function : module.getOps<FunctionOpInterface>())
    if (!function.isExternal())
      all.visit(function);
  IdleDevices idle = all.finish();
  setIdleDevices(mesh, idle);
  for (const std::string &name : idle.axes)
    emitWarning(mesh.getLoc())
        << "nothing is split over axis \"" << name << "\": its "
        << mesh.getAxisSize(name) << " devices all do the same work";
  for (const IdlePlace &place : idle.places) {
    InFlightDiagnostic warning = emitWarning(mesh.getLoc());
    warning << place.idle << " of the " << place.devices << " devices along "
            << place.axes << " have nothing to do in " << place.modules
            << (place.modules == 1 ? " module" : " modules");
    if (!place.first.empty())
      warning << ", such as \"" << place.first << "\"";
    warning << ": a dimension of " << place.size << " is cut there";
  }
}

namespace mlir::dist {
#define GEN_PASS_DEF_NOTEIDLEPASS
#include "passes/spmd/verify/Passes.h.inc"
} // namespace mlir::dist

namespace {
struct NoteIdlePass : mlir::dist::impl::NoteIdlePassBase<NoteIdlePass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    FailureOr<MeshOp> mesh = findProgramMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    if (*mesh)
      noteIdleDevices(getOperation(), *mesh);
  }
};
} // namespace
