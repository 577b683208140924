//===- ModuleManifest.cpp - The manifest of a module ----------------------===//

#include "lowering/bundle/ModuleManifest.h"
#include "dialects/dist/IR/Attributes.h"
#include "dialects/dist/IR/Random.h"
#include "dialects/dist/Utils/Program.h"
#include "lowering/buffers/Passes.h"
#include "lowering/buffers/Updates.h"
#include "lowering/rt/Rt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::dist;
// The runtime's namespace, of its host side.
namespace host = ::dist;

//===----------------------------------------------------------------------===//
// Manifest
//===----------------------------------------------------------------------===//

static FailureOr<host::AxisRef>
convertAxis(Operation *op, const host::Mesh &mesh, AxisRefAttr ref) {
  int32_t axis = mesh.find(ref.getName().str());
  if (axis < 0)
    return op->emitError("the mesh has no axis \"") << ref.getName() << "\"";
  host::AxisRef result = mesh.whole(axis);
  if (ref.isSubAxis()) {
    result.pre = ref.getPre();
    result.rest = result.size / (ref.getPre() * ref.getSize());
    result.size = ref.getSize();
  }
  return result;
}

static FailureOr<std::vector<host::AxisRef>>
convertAxes(Operation *op, const host::Mesh &mesh, ArrayRef<AxisRefAttr> refs) {
  std::vector<host::AxisRef> axes;
  for (AxisRefAttr ref : refs) {
    FailureOr<host::AxisRef> axis = convertAxis(op, mesh, ref);
    if (failed(axis))
      return failure();
    axes.push_back(*axis);
  }
  return axes;
}

/// Which part of a tensor of `shape` each rank has.
static LogicalResult
describeDims(Operation *op, const host::Mesh &mesh, ArrayRef<int64_t> shape,
             ShardingAttr sharding,
             std::vector<std::vector<host::SubDim>> &dims) {
  for (auto [dim, size] : llvm::enumerate(shape)) {
    std::vector<host::SubDim> subDims;
    int64_t known = 1;
    if (sharding)
      for (SubDimAttr sub : sharding.getDims()[dim].getSubDims()) {
        FailureOr<std::vector<host::AxisRef>> axes =
            convertAxes(op, mesh, sub.getAxes());
        if (failed(axes))
          return failure();
        known *= std::max<int64_t>(sub.getSize(), 1);
        subDims.push_back({sub.getSize(), std::move(*axes)});
      }
    // Size 0 stands for the rest.
    for (host::SubDim &subDim : subDims)
      if (subDim.size == 0)
        subDim.size = size / known;
    if (subDims.empty())
      subDims.push_back({size, {}});
    dims.push_back(std::move(subDims));
  }
  return success();
}

/// Shapes of `desc`, and which part of the whole each rank has.
static LogicalResult describeSlices(Operation *op, const host::Mesh &mesh,
                                    RankedTensorType local,
                                    RankedTensorType global,
                                    ShardingAttr sharding,
                                    host::TensorDesc &desc) {
  desc.localShape.assign(local.getShape().begin(), local.getShape().end());
  desc.globalShape.assign(global.getShape().begin(), global.getShape().end());
  return describeDims(op, mesh, desc.globalShape, sharding, desc.dims);
}

static FailureOr<host::TensorDesc>
describeTensor(func::FuncOp function, const host::Mesh &mesh, Type type,
               DictionaryAttr attrs, std::string fallback,
               host::TensorDesc::Kind kind, StringRef what) {
  host::TensorDesc desc;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() ||
      failed(rt::getDtype(tensor.getElementType())))
    return function.emitError()
           << what << " has type " << type
           << "; a program takes and gives tensors of static shape, of floats "
              "or integers of 8 to 64 bits or i1";
  auto text = [&](StringRef name) {
    return attrs ? attrs.getAs<StringAttr>(name) : StringAttr();
  };
  desc.kind = kind;
  desc.name = std::move(fallback);
  if (StringAttr name = text(kParameterAttr)) {
    desc.kind = host::TensorDesc::Parameter;
    desc.name = name.getValue().str();
  } else if (StringAttr name = text(kInputAttr)) {
    desc.name = name.getValue().str();
  } else if (StringAttr name = text(kOutputAttr)) {
    desc.name = name.getValue().str();
  }
  Type element = tensor.getElementType();
  if (attrs && attrs.contains(kUnsignedAttr))
    element =
        IntegerType::get(function.getContext(), element.getIntOrFloatBitWidth(),
                         IntegerType::Unsigned);
  desc.dtype = static_cast<dist_dtype>(*rt::getDtype(element));
  if (auto part = attrs ? attrs.getAs<PartAttr>(kPartAttr) : PartAttr()) {
    desc.partOf.assign(part.getShape().begin(), part.getShape().end());
    desc.partAt.assign(part.getOffsets().begin(), part.getOffsets().end());
    if (desc.kind != host::TensorDesc::Parameter &&
        desc.kind != host::TensorDesc::Output)
      return function.emitError()
             << what << " has '" << kPartAttr << "' but no '" << kParameterAttr
             << "' that it is a part of";
  }
  if (auto stage = attrs ? attrs.getAs<IntegerAttr>(kStageAttr) : IntegerAttr())
    desc.held.emplace().stage = stage.getInt();
  auto global = attrs ? attrs.getAs<TypeAttr>(kGlobalTypeAttr) : TypeAttr();
  if (failed(describeSlices(
          function, mesh, tensor,
          global ? cast<RankedTensorType>(global.getValue()) : tensor,
          attrs ? attrs.getAs<ShardingAttr>(kShardingAttr) : ShardingAttr(),
          desc)))
    return failure();
  return desc;
}

/// The parts of an argument, one after the other.
static LogicalResult describePieces(func::FuncOp function,
                                    const host::Mesh &mesh, Type whole,
                                    DictionaryAttr joined,
                                    host::Manifest &manifest) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(whole).getShape();
  int64_t dim = joined.getAs<IntegerAttr>("dim").getInt(), at = 0;
  for (DictionaryAttr piece :
       joined.getAs<ArrayAttr>("pieces").getAsRange<DictionaryAttr>()) {
    Type type = piece.getAs<TypeAttr>("type").getValue();
    FailureOr<host::TensorDesc> desc =
        describeTensor(function, mesh, type, piece, "",
                       host::TensorDesc::Parameter, "a joined parameter");
    if (failed(desc))
      return failure();
    desc->joinedShape.assign(shape.begin(), shape.end());
    desc->joinedAt.resize(shape.size());
    desc->joinedAt[dim] = at;
    at += cast<RankedTensorType>(type).getDimSize(dim);
    manifest.arguments.push_back(std::move(*desc));
  }
  return success();
}

/// Names tell inputs and results apart, on the command line and in files.
static LogicalResult checkNames(func::FuncOp function,
                                ArrayRef<host::TensorDesc> descs,
                                StringRef what) {
  llvm::StringMap<size_t> seen;
  for (auto [number, desc] : llvm::enumerate(descs)) {
    if (desc.name.empty())
      return function.emitError()
             << what << " #" << number << " has an empty name";
    if (desc.name.find('\0') != std::string::npos)
      return function.emitError()
             << what << " #" << number << " has the name "
             << StringAttr::get(function.getContext(), desc.name)
             << ", with a zero byte, which options and files cannot have";
    auto [known, isNew] = seen.try_emplace(desc.name, number);
    // Parameters of one name are one tensor of the weights file, and results of
    // one name are parts of a tensor.
    auto isSame = [&desc = desc](const host::TensorDesc &other) {
      bool isBlock = (!desc.partOf.empty() && other.partOf == desc.partOf) ||
                     (desc.held && other.held && desc.updates && other.updates);
      return (desc.kind == host::TensorDesc::Parameter || isBlock) &&
             other.kind == desc.kind &&
             other.sourceShape() == desc.sourceShape() &&
             other.dtype == desc.dtype;
    };
    if (!isNew && !isSame(descs[known->second]))
      return function.emitError()
             << what << " #" << known->second << " and #" << number
             << " have the same name, '" << desc.name
             << "', and are not the same parameter; give each its own";
  }
  return success();
}

/// Arguments and results, and which of these are new values of those.
static LogicalResult describeTensors(func::FuncOp function,
                                     host::Manifest &manifest) {
  SmallVector<int64_t> places; // of the function's arguments in the manifest's
  for (unsigned i = 0, end = function.getNumArguments(); i < end; ++i) {
    places.push_back(manifest.arguments.size());
    if (auto joined =
            function.getArgAttrOfType<DictionaryAttr>(i, kJoinedAttr)) {
      if (failed(describePieces(function, manifest.mesh,
                                function.getArgumentTypes()[i], joined,
                                manifest)))
        return failure();
      continue;
    }
    FailureOr<host::TensorDesc> desc = describeTensor(
        function, manifest.mesh, function.getArgumentTypes()[i],
        function.getArgAttrDict(i), "arg" + std::to_string(i),
        host::TensorDesc::Input, "argument #" + std::to_string(i));
    if (failed(desc))
      return failure();
    manifest.arguments.push_back(std::move(*desc));
  }
  Updates updates = getUpdates(function);
  for (unsigned i = 0, end = function.getNumResults(); i < end; ++i) {
    FailureOr<host::TensorDesc> desc = describeTensor(
        function, manifest.mesh, function.getResultTypes()[i],
        function.getResultAttrDict(i), "result" + std::to_string(i),
        host::TensorDesc::Output, "result #" + std::to_string(i));
    if (failed(desc))
      return failure();
    if (std::optional<unsigned> argument = updates[i])
      desc->updates = places[*argument];
    manifest.results.push_back(std::move(*desc));
  }
  std::string problem = host::findUpdateProblem(manifest);
  if (!problem.empty())
    return function.emitError(problem);
  return success();
}

/// Operators that draw from devices' own streams, which partitioning has noted
/// on the mesh.
static LogicalResult describeStreams(MeshOp mesh, host::Manifest &manifest) {
  auto streams = mesh->getAttrOfType<ArrayAttr>(kRandomStreamsAttr);
  if (!streams)
    return success();
  for (DictionaryAttr entry : streams.getAsRange<DictionaryAttr>()) {
    host::RandomStreamsDesc desc;
    desc.number = entry.getAs<IntegerAttr>("number").getInt();
    ArrayRef<int64_t> sizes = entry.getAs<DenseI64ArrayAttr>("sizes");
    desc.globalShape.assign(sizes.begin(), sizes.end());
    FailureOr<std::vector<host::AxisRef>> axes = convertAxes(
        mesh, manifest.mesh, getAxisRefs(entry.getAs<ArrayAttr>("axes")));
    if (failed(axes) ||
        failed(describeDims(mesh, manifest.mesh, sizes,
                            entry.getAs<ShardingAttr>("sharding"), desc.dims)))
      return failure();
    desc.axes = std::move(*axes);
    manifest.randomStreams.push_back(std::move(desc));
  }
  return success();
}

FailureOr<host::Manifest> mlir::dist::describeProgram(ModuleOp module) {
  host::Manifest manifest;
  FailureOr<FunctionOpInterface> entry = findEntryFunction(module);
  FailureOr<MeshOp> mesh = findProgramMesh(module);
  if (failed(entry) || failed(mesh))
    return failure();
  auto function = dyn_cast<func::FuncOp>(entry->getOperation());
  if (!function)
    return entry->emitError(
        "is no func.func, which the entry function must be");
  if (*mesh && mesh->getNumDevices() > host::maxRanks)
    return mesh->emitError("has ")
           << mesh->getNumDevices() << " devices; a bundle is for at most "
           << host::maxRanks << " (--mesh gives an axis another size)";
  if (*mesh)
    for (MeshAxisAttr axis : mesh->getAxes())
      manifest.mesh.axes.push_back({axis.getName().str(), axis.getSize()});
  if (failed(describeTensors(function, manifest)) ||
      failed(checkNames(function, manifest.arguments, "argument")) ||
      failed(checkNames(function, manifest.results, "result")) ||
      (*mesh && failed(describeStreams(*mesh, manifest))))
    return failure();
  if (auto weights = module->getAttrOfType<StringAttr>(kWeightsAttr))
    manifest.weights = weights.getValue().str();
  if (!llvm::json::isUTF8(manifest.weights))
    return module.emitError("the path of the weights, '")
           << manifest.weights
           << "', is not UTF-8, which a manifest is written in; put them where "
              "it is, or beside the bundle";
  return manifest;
}

LogicalResult mlir::dist::describeLowered(ModuleOp module,
                                          host::Manifest &manifest) {
  if (auto bytes = module->getAttrOfType<IntegerAttr>(kArenaBytesAttr))
    manifest.arenaBytes = bytes.getInt();
  if (auto comms = module->getAttrOfType<ArrayAttr>(rt::kCommunicatorsAttr))
    for (ArrayAttr axes : comms.getAsRange<ArrayAttr>()) {
      FailureOr<std::vector<host::AxisRef>> refs =
          convertAxes(module, manifest.mesh, getAxisRefs(axes));
      if (failed(refs))
        return failure();
      manifest.communicators.push_back(std::move(*refs));
    }
  if (auto checks = module->getAttrOfType<ArrayAttr>(rt::kChecksAttr))
    for (DictionaryAttr check : checks.getAsRange<DictionaryAttr>())
      manifest.checks.push_back(
          {check.getAs<StringAttr>("message").getValue().str(),
           check.getAs<BoolAttr>("value").getValue()});
  auto sites = module->getAttrOfType<ArrayAttr>(rt::kCollectivesAttr);
  if (!sites)
    return success();
  for (DictionaryAttr site : sites.getAsRange<DictionaryAttr>()) {
    auto text = [&](StringRef name) -> std::string {
      auto value = site.getAs<StringAttr>(name);
      return value ? value.getValue().str() : "";
    };
    host::CollectiveDesc desc;
    desc.op = text("op");
    desc.comm = site.getAs<IntegerAttr>("comm").getInt();
    for (StringAttr axis :
         site.getAs<ArrayAttr>("axes").getAsRange<StringAttr>())
      desc.axes.push_back(axis.getValue().str());
    desc.reduce = text("reduce");
    desc.dtype = text("dtype");
    ArrayRef<int64_t> shape =
        site.getAs<DenseI64ArrayAttr>("shape").asArrayRef();
    desc.shape.assign(shape.begin(), shape.end());
    desc.bytesSentPerRank =
        site.getAs<IntegerAttr>("bytes_sent_per_rank").getInt();
    if (auto count = site.getAs<IntegerAttr>("count"))
      desc.count = count.getInt();
    desc.inUnknownLoop = site.contains("in_unknown_loop");
    desc.scope = text("scope");
    desc.cause = text("cause");
    // The path of a file may be any bytes, a manifest may not.
    desc.location = llvm::json::fixUTF8(text("location"));
    manifest.collectives.push_back(std::move(desc));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// The data of a constant as in a file, in `bytes`; `owner` owns data that is
/// created for that.
static void *getData(ElementsAttr constant, int64_t bytes,
                     std::shared_ptr<void> &owner) {
  auto dense = dyn_cast<DenseElementsAttr>(constant);
  ArrayRef<char> raw =
      dense ? dense.getRawData()
            : cast<DenseResourceElementsAttr>(constant).getData();
  // Bits that are packed, one element for all, elements of odd sizes.
  bool isPacked = dense && dense.getElementType().isInteger(1);
  if (!isPacked && static_cast<int64_t>(raw.size()) == bytes)
    return const_cast<char *>(raw.data());
  owner = host::allocate(bytes);
  char *data = static_cast<char *>(owner.get());
  if (isPacked) {
    llvm::copy(dense.getValues<bool>(), data);
    return data;
  }
  int64_t count = constant.getNumElements();
  int64_t step = dense && dense.isSplat() ? 0 : raw.size() / count;
  int64_t size = step ? step : raw.size();
  for (int64_t i = 0; i < count; ++i)
    std::copy_n(raw.data() + i * step, size, data + i * (bytes / count));
  return data;
}

LogicalResult mlir::dist::describeConstants(ModuleOp module,
                                            host::Manifest &manifest,
                                            NamedTensors &tensors) {
  auto list = module->getAttrOfType<ArrayAttr>(rt::kConstantsAttr);
  if (!list)
    return success();
  manifest.constants = kConstantsFile;
  llvm::DenseMap<Attribute, std::string> names;
  for (DictionaryAttr entry : list.getAsRange<DictionaryAttr>()) {
    auto value = entry.getAs<ElementsAttr>("value");
    auto global = cast<RankedTensorType>(value.getShapedType());
    host::TensorDesc desc;
    desc.kind = host::TensorDesc::Constant;
    desc.dtype =
        static_cast<dist_dtype>(*rt::getStorageDtype(global.getElementType()));
    if (failed(describeSlices(
            module, manifest.mesh,
            cast<RankedTensorType>(
                entry.getAs<TypeAttr>("local_type").getValue()),
            global, entry.getAs<ShardingAttr>(kShardingAttr), desc)))
      return failure();
    std::string &name = names[value];
    if (name.empty()) {
      name = "constant" + std::to_string(tensors.size());
      host::Tensor tensor{desc.dtype, desc.globalShape, nullptr, nullptr};
      tensor.data = getData(value, tensor.bytes(), tensor.owner);
      tensors.emplace_back(name, tensor);
    }
    desc.name = name;
    manifest.arguments.push_back(std::move(desc));
  }
  // In order of decreasing element size, all are aligned.
  llvm::stable_sort(tensors, [](const auto &a, const auto &b) {
    return host::dtypeBytes(a.second.dtype) > host::dtypeBytes(b.second.dtype);
  });
  return success();
}
