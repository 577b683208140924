//===- Manifest.cpp - What a bundle says about its program ----------------===//

#include "dist/Manifest.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace dist;
using Json = nlohmann::ordered_json;

static constexpr int manifestVersion = 1;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static Mesh readMesh(const Json &json) {
  Mesh mesh;
  int64_t ranks = 1;
  for (const Json &axis : json.at("axes")) {
    MeshAxis read{axis.at(0).get<std::string>(), axis.at(1).get<int64_t>()};
    if (read.size < 1 || __builtin_mul_overflow(ranks, read.size, &ranks))
      throw Error("mesh axis " + read.name + " has size " +
                  std::to_string(read.size));
    if (mesh.find(read.name) >= 0)
      throw Error("mesh axis " + read.name + " is there twice");
    mesh.axes.push_back(read);
  }
  return mesh;
}

static AxisRef readAxisRef(const Mesh &mesh, const Json &json) {
  std::string name = json.at("name").get<std::string>();
  int32_t axis = mesh.find(name);
  if (axis < 0)
    throw Error("the mesh has no axis " + name);
  int64_t whole = mesh.axes[axis].size;
  AxisRef ref = mesh.whole(axis);
  ref.pre = json.value("pre", int64_t(1));
  ref.size = json.value("size", whole);
  int64_t product;
  if (ref.pre < 1 || ref.size < 1 ||
      __builtin_mul_overflow(ref.pre, ref.size, &product) ||
      whole % product != 0)
    throw Error("axis " + name + " of size " + std::to_string(whole) +
                " has no part of size " + std::to_string(ref.size) + " after " +
                std::to_string(ref.pre));
  ref.rest = whole / product;
  return ref;
}

static std::vector<AxisRef> readAxisRefs(const Mesh &mesh, const Json &json) {
  std::vector<AxisRef> refs;
  for (const Json &ref : json)
    refs.push_back(readAxisRef(mesh, ref));
  return refs;
}

static TensorDesc::Kind readKind(const std::string &kind) {
  if (kind == "parameter")
    return TensorDesc::Parameter;
  if (kind == "constant")
    return TensorDesc::Constant;
  if (kind == "input")
    return TensorDesc::Input;
  if (kind == "output")
    return TensorDesc::Output;
  throw Error("kind '" + kind +
              "'; known are parameter, constant, input, "
              "output");
}

static TensorDesc readTensor(const Mesh &mesh, const Json &json) {
  TensorDesc desc;
  desc.name = json.at("name").get<std::string>();
  try {
    desc.kind = readKind(json.at("kind").get<std::string>());
    desc.dtype = dtypeFromName(json.at("dtype").get<std::string>());
    desc.globalShape = json.at("global_shape").get<Shape>();
    desc.localShape = json.at("local_shape").get<Shape>();
    numElements(desc.globalShape);
    for (const Json &dim : json.at("dims")) {
      std::vector<SubDim> subDims;
      for (const Json &sub : dim)
        subDims.push_back({sub.at("size").get<int64_t>(),
                           readAxisRefs(mesh, sub.at("axes"))});
      desc.dims.push_back(std::move(subDims));
    }
    if (desc.dims.size() != desc.globalShape.size())
      throw Error(std::to_string(desc.dims.size()) + " dims for shape " +
                  toString(desc.globalShape));
    for (size_t d = 0; d < desc.dims.size(); ++d) {
      if (desc.dims[d].empty())
        desc.dims[d].push_back({desc.globalShape[d], {}});
      Shape sizes;
      for (const SubDim &sub : desc.dims[d])
        sizes.push_back(sub.size);
      if (numElements(sizes) != desc.globalShape[d])
        throw Error("sub-dimensions " + toString(sizes) +
                    " do not make dimension " + std::to_string(d) + " of " +
                    toString(desc.globalShape));
    }
    Shape expected = localShapeOf(desc);
    if (desc.localShape != expected)
      throw Error("local shape " + toString(desc.localShape) +
                  ", but the slices of " + toString(desc.globalShape) +
                  " have shape " + toString(expected));
  } catch (const std::exception &e) {
    throw Error("'" + desc.name + "': " + e.what());
  }
  return desc;
}

static CollectiveDesc readCollective(const Json &json) {
  CollectiveDesc desc;
  desc.op = json.at("op").get<std::string>();
  desc.comm = json.value("comm", -1);
  desc.axes = json.value("axes", std::vector<std::string>());
  desc.reduce = json.value("reduce", "");
  desc.dtype = json.value("dtype", "");
  desc.shape = json.value("shape", Shape());
  desc.bytesSentPerRank = json.value("bytes_sent_per_rank", int64_t(0));
  desc.scope = json.value("scope", "");
  desc.cause = json.value("cause", "");
  desc.location = json.value("location", "");
  return desc;
}

Shape dist::localShapeOf(const TensorDesc &desc) {
  Shape shape;
  for (const std::vector<SubDim> &dim : desc.dims) {
    int64_t extent = 1;
    for (const SubDim &sub : dim) {
      std::vector<int64_t> sizes;
      int64_t parts = 1;
      for (const AxisRef &ref : sub.axes) {
        sizes.push_back(ref.size);
        parts *= ref.size;
      }
      if (dim.size() > 1 && sub.size % parts != 0)
        throw Error("a sub-dimension of size " + std::to_string(sub.size) +
                    " cannot be cut into " + std::to_string(parts) +
                    " parts beside others");
      extent *= blockRows(sizes, sub.size);
    }
    shape.push_back(extent);
  }
  return shape;
}

static Manifest readManifest(const Json &json) {
  int version = json.at("version").get<int>();
  if (version != manifestVersion)
    throw Error("version " + std::to_string(version) + "; this program reads " +
                std::to_string(manifestVersion) + ": compile the bundle again");
  int abi = json.at("abi").get<int>();
  if (abi != DIST_ABI_VERSION)
    throw Error("compiled for runtime interface " + std::to_string(abi) +
                "; this is " + std::to_string(DIST_ABI_VERSION) +
                ": compile the bundle again");
  Manifest manifest;
  manifest.target = json.value("target", manifest.target);
  manifest.program = json.value("program", manifest.program);
  manifest.mesh = readMesh(json.at("mesh"));
  for (const Json &refs : json.at("communicators"))
    manifest.communicators.push_back(readAxisRefs(manifest.mesh, refs));
  for (const Json &tensor : json.at("arguments"))
    manifest.arguments.push_back(readTensor(manifest.mesh, tensor));
  for (const Json &tensor : json.at("results"))
    manifest.results.push_back(readTensor(manifest.mesh, tensor));
  manifest.arenaBytes = json.at("arena_bytes").get<int64_t>();
  if (manifest.arenaBytes < 0)
    throw Error("arena_bytes is " + std::to_string(manifest.arenaBytes));
  if (json.contains("weights") && !json.at("weights").is_null())
    manifest.weights = json.at("weights").get<std::string>();
  if (json.contains("constants") && !json.at("constants").is_null())
    manifest.constants = json.at("constants").get<std::string>();
  if (json.contains("collectives"))
    for (const Json &collective : json.at("collectives"))
      manifest.collectives.push_back(readCollective(collective));
  if (json.contains("checks"))
    for (const Json &check : json.at("checks"))
      manifest.checks.push_back({check.at("message").get<std::string>(),
                                 check.value("value", false)});
  return manifest;
}

Manifest Manifest::parse(const std::string &text, const std::string &source) {
  try {
    return readManifest(Json::parse(text));
  } catch (const std::exception &e) {
    throw Error(source + ": " + e.what());
  }
}

Manifest Manifest::read(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  if (!file || !(text << file.rdbuf()))
    throw Error(path + ": cannot read; is this a bundle (OUT.dist)?");
  return parse(text.str(), path);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static Json writeAxisRefs(const Mesh &mesh, const std::vector<AxisRef> &refs) {
  Json json = Json::array();
  for (const AxisRef &ref : refs) {
    Json one = {{"name", mesh.axes[ref.axis].name}};
    if (ref.size != mesh.axes[ref.axis].size) {
      one["pre"] = ref.pre;
      one["size"] = ref.size;
    }
    json.push_back(std::move(one));
  }
  return json;
}

static Json writeTensor(const Mesh &mesh, const TensorDesc &desc) {
  static const char *const kinds[] = {"parameter", "constant", "input",
                                      "output"};
  Json dims = Json::array();
  for (const std::vector<SubDim> &dim : desc.dims) {
    Json subDims = Json::array();
    for (const SubDim &sub : dim)
      subDims.push_back(
          {{"size", sub.size}, {"axes", writeAxisRefs(mesh, sub.axes)}});
    dims.push_back(std::move(subDims));
  }
  return {{"name", desc.name},
          {"kind", kinds[desc.kind]},
          {"dtype", dtypeName(desc.dtype)},
          {"global_shape", desc.globalShape},
          {"local_shape", desc.localShape},
          {"dims", std::move(dims)}};
}

static Json writeCollective(const CollectiveDesc &desc) {
  Json json = {{"op", desc.op}, {"comm", desc.comm}, {"axes", desc.axes}};
  if (!desc.reduce.empty())
    json["reduce"] = desc.reduce;
  json["dtype"] = desc.dtype;
  json["shape"] = desc.shape;
  json["bytes_sent_per_rank"] = desc.bytesSentPerRank;
  json["scope"] = desc.scope;
  json["cause"] = desc.cause;
  json["location"] = desc.location;
  return json;
}

std::string Manifest::toJson() const {
  Json axes = Json::array();
  for (const MeshAxis &axis : mesh.axes)
    axes.push_back(Json::array({axis.name, axis.size}));
  Json json = {{"version", manifestVersion},
               {"abi", DIST_ABI_VERSION},
               {"target", target},
               {"program", program},
               {"mesh", {{"axes", std::move(axes)}}},
               {"communicators", Json::array()},
               {"arguments", Json::array()},
               {"results", Json::array()},
               {"arena_bytes", arenaBytes},
               {"weights", weights.empty() ? Json() : Json(weights)},
               {"constants", constants.empty() ? Json() : Json(constants)},
               {"collectives", Json::array()},
               {"checks", Json::array()}};
  for (const std::vector<AxisRef> &refs : communicators)
    json["communicators"].push_back(writeAxisRefs(mesh, refs));
  for (const TensorDesc &desc : arguments)
    json["arguments"].push_back(writeTensor(mesh, desc));
  for (const TensorDesc &desc : results)
    json["results"].push_back(writeTensor(mesh, desc));
  for (const CollectiveDesc &desc : collectives)
    json["collectives"].push_back(writeCollective(desc));
  for (const CheckDesc &desc : checks)
    json["checks"].push_back(
        {{"message", desc.message}, {"value", desc.hasValue}});
  return json.dump(1) + "\n";
}
