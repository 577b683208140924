//===- AxisInTime.cpp - An axis of the mesh that is done in time ----------===//

#include "passes/overlap/AxisInTime.h"
#include "dialects/dist/Interfaces/Placement.h"
#include "dialects/dist/Utils/FunctionAttrs.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace mlir::dist;

FailureOr<ShardingAttr>
AxisInTime::removeAxis(ShardingAttr sharding, int64_t &dim, const Twine &what) {
  dim = -1;
  SmallVector<DimShardingAttr> dims(sharding.getDims());
  for (auto [number, entry] : llvm::enumerate(dims)) {
    SmallVector<AxisRefAttr> axes = entry.getAllAxes();
    if (llvm::none_of(axes, [&](AxisRefAttr ref) {
          return ref.getName() == axis.getName();
        }))
      continue;
    if (dim >= 0 || entry.getSubDims().size() != 1 ||
        axes.back().getName() != axis.getName() || axes.back().isSubAxis())
      return function.emitOpError()
             << what << " is placed as " << sharding << "; to do axis '"
             << axis.getName()
             << "' in turns it must shard a dimension as the last of its axes";
    dim = number;
    axes.pop_back();
    entry = DimShardingAttr::get(mesh.getContext(), axes);
  }
  return ShardingAttr::get(mesh.getContext(), sharding.getMesh(), dims,
                           sharding.getPartialKind(),
                           sharding.getPartialAxes());
}

LogicalResult AxisInTime::checkModule() {
  auto names = [&](Attribute attr) {
    bool found = false;
    if (attr)
      attr.walk(
          [&](AxisRefAttr ref) { found |= ref.getName() == axis.getName(); });
    return found;
  };
  for (auto other :
       function->getParentOfType<ModuleOp>().getOps<FunctionOpInterface>())
    if (other != function && names(other->getAttrDictionary()))
      return other.emitOpError()
             << "takes or returns what axis '" << axis.getName()
             << "' shards; only a function that calls no such function can "
                "be done in turns: inline it first (--inline)";
  if (names(mesh->getAttr(kRandomStreamsAttr)))
    return function.emitOpError()
           << "draws random numbers from streams of devices' own "
              "(dist.random_streams) of what axis '"
           << axis.getName()
           << "' shards, which in turns would be the same ones in each: "
              "leave out the directive, or the turns";
  return success();
}

LogicalResult
AxisInTime::changeSignature(SmallVectorImpl<int64_t> &argumentDims,
                            SmallVectorImpl<int64_t> &resultDims) {
  MeshLayout layout(mesh);
  Block &entry = function.getFunctionBody().front();
  LogicalResult result = success();
  SmallVector<Type> arguments(function.getArgumentTypes()),
      results(function.getResultTypes());
  auto change = [&](const Twine &what, NamedAttrList &list, Type &type) {
    auto sharding = dyn_cast_or_null<ShardingAttr>(list.get(kShardingAttr));
    auto global = dyn_cast_or_null<TypeAttr>(list.get(kGlobalTypeAttr));
    int64_t dim = -1;
    if (failed(result) || !sharding || !global)
      return dim;
    FailureOr<ShardingAttr> left = removeAxis(sharding, dim, what);
    if (failed(left)) {
      result = failure();
      return dim;
    }
    if (dim < 0)
      return dim;
    auto local = cast<RankedTensorType>(type);
    RankedTensorType whole =
        layout.localType(cast<RankedTensorType>(global.getValue()), *left);
    if (whole.isDynamicDim(dim)) {
      result = function.emitOpError()
               << what << " has a number of rows in dimension " << dim
               << " that is not known, so that it is not known whether axis '"
               << axis.getName() << "' = " << axis.getSize()
               << " divides it: give sizes (--bind batch=8, "
                  "--dist-bind-sizes=sizes=batch=8)";
      return dim;
    }
    if (whole.getDimSize(dim) != axis.getSize() * local.getDimSize(dim)) {
      result = function.emitOpError()
               << what << " has " << whole.getDimSize(dim)
               << " rows in dimension " << dim << ", which axis '"
               << axis.getName() << "' = " << axis.getSize()
               << " does not divide";
      return dim;
    }
    list.set(kShardingAttr, *left);
    type = whole;
    return dim;
  };
  auto describe = [](StringRef kind, unsigned number,
                     const NamedAttrList &list) -> std::string {
    for (StringRef name : {kInputAttr, kParameterAttr, kOutputAttr})
      if (auto given = dyn_cast_or_null<StringAttr>(list.get(name)))
        return (kind + " '" + given.getValue() + "'").str();
    return (kind + " " + Twine(number)).str();
  };
  updateArgAttrs(function, [&](unsigned number, NamedAttrList &list) {
    argumentDims.push_back(
        change(describe("argument", number, list), list, arguments[number]));
    entry.getArgument(number).setType(arguments[number]);
  });
  updateResultAttrs(function, [&](unsigned number, NamedAttrList &list) {
    resultDims.push_back(
        change(describe("result", number, list), list, results[number]));
  });
  function.setType(FunctionType::get(mesh.getContext(), arguments, results));
  return result;
}

bool mlir::dist::speaksOfAxes(Operation *op) {
  return isa<CollectiveOpInterface, AxisIndexOp, LocalConstantOp>(op);
}

bool AxisInTime::speaksOfAxis(Operation *op) const {
  bool found = false;
  op->walk([&](Operation *inner) {
    if (speaksOfAxes(inner))
      inner->getAttrDictionary().walk(
          [&](AxisRefAttr ref) { found |= ref.getName() == axis.getName(); });
  });
  return found;
}

std::optional<SmallVector<AxisRefAttr>>
AxisInTime::getOthers(ArrayAttr axes) const {
  SmallVector<AxisRefAttr> refs = getAxisRefs(axes);
  if (refs.empty() || refs.back().getName() != axis.getName() ||
      refs.back().isSubAxis())
    return std::nullopt;
  refs.pop_back();
  return refs;
}
