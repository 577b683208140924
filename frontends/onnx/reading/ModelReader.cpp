//===- ModelReader.cpp - ONNX files into plain data -----------------------===//
//
// With TensorReader.cpp the only file that knows protobuf. It trusts nothing:
// names, order of nodes, types of attributes.
//
//===----------------------------------------------------------------------===//

#include "Model.h"
#include "TensorReader.h"
#include "frontends/bounds/Bounds.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

using namespace mlir::dist::frontend;
using namespace llvm;

namespace {

/// Where nodes stand: in the graph itself, or in a branch of an If.
struct Block {
  const Block *outer = nullptr;
  std::shared_ptr<const Guard> guard;
  unsigned depth = 0;
  /// Names that it defines, made unique.
  StringMap<std::string> names;

  std::string rename(const std::string &name) const {
    for (const Block *block = this; block; block = block->outer)
      if (auto it = block->names.find(name); it != block->names.end())
        return it->second;
    return name;
  }
};

/// Reads one file; every member returns an error that names file and place.
class Reader {
public:
  explicit Reader(StringRef path) : path(path) {}
  Expected<Model> read();

private:
  template <typename... Parts> Error error(const Parts &...parts) {
    return makeError(path, parts...);
  }

  Error readGraph(const ::onnx::GraphProto &graph);
  Error readNode(const ::onnx::NodeProto &proto, const Block &block);
  Error readBranches(const ::onnx::NodeProto &proto, Node &node,
                     const Block &block);
  Expected<AttributeValue> readAttribute(const ::onnx::AttributeProto &proto,
                                         StringRef owner);
  Expected<ValueInfo> readValueInfo(const ::onnx::ValueInfoProto &proto);
  Error readOpsets();
  Error checkName(StringRef what, StringRef name);
  Error checkNames();
  Error checkOrder();

  StringRef path;
  std::shared_ptr<::onnx::ModelProto> proto;
  std::optional<TensorReader> tensors;
  Model model;
  unsigned branches = 0;
  /// Local functions that have the name of a standard operator's.
  StringSet<> functions;
};

} // namespace

/// Adds the entries of field `number` of type StringStringEntryProto, which
/// libonnx 1.12 does not know yet (metadata_props came with IR version 10).
static void readMetadata(const google::protobuf::UnknownFieldSet &fields,
                         int number, StringMap<std::string> &metadata) {
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField &field = fields.field(i);
    if (field.number() != number ||
        field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      continue;
    ::onnx::StringStringEntryProto entry;
    const std::string &text = field.length_delimited();
    if (entry.ParseFromArray(text.data(), static_cast<int>(text.size())))
      metadata[entry.key()] = entry.value();
  }
}

/// The standard domain has two names.
static bool isStandard(StringRef domain) {
  return domain.empty() || domain == "ai.onnx";
}

Error Reader::readOpsets() {
  bool imported = false;
  for (const auto &import : proto->opset_import()) {
    if (!isStandard(import.domain()))
      continue;
    if (imported && model.opset != import.version())
      return error("imports the standard operators twice, of opset ",
                   std::to_string(model.opset), " and of opset ",
                   std::to_string(import.version()),
                   "; export it with one opset_import");
    imported = true;
    model.opset = import.version();
  }
  return Error::success();
}

Expected<Model> Reader::read() {
  auto buffer = readRegularFile(path, INT32_MAX);
  if (!buffer)
    return error(toString(buffer.takeError()));
  StringRef data = (*buffer)->getBuffer();
  // This program reports problems itself, in its own words.
  google::protobuf::SetLogHandler(nullptr);
  proto = std::make_shared<::onnx::ModelProto>();
  if (!proto->ParseFromArray(data.data(), static_cast<int>(data.size())))
    return error("is not an ONNX model, or truncated: protobuf cannot parse "
                 "its ",
                 std::to_string(data.size()),
                 " bytes; copy or download it again and compare sizes, or "
                 "export the model anew (torch.onnx.export)");
  if (!proto->has_ir_version() || !proto->has_graph())
    return error("is not an ONNX model: it has no ",
                 proto->has_graph() ? "ir_version" : "graph");
  tensors.emplace(path, proto);
  model.file = path.str();
  model.producer = proto->producer_name() + " " + proto->producer_version();
  if (Error failure = readOpsets())
    return std::move(failure);
  for (const ::onnx::FunctionProto &function : proto->functions())
    if (isStandard(function.domain()))
      functions.insert(function.name());
  if (Error failure = readGraph(proto->graph()))
    return std::move(failure);
  if (Error failure = checkNames())
    return std::move(failure);
  if (Error failure = checkOrder())
    return std::move(failure);
  model.externalFiles = tensors->getFiles();
  return std::move(model);
}

Error Reader::readGraph(const ::onnx::GraphProto &graph) {
  readMetadata(graph.unknown_fields(), 16, model.metadata);
  if (graph.sparse_initializer_size() > 0)
    return error("has ", std::to_string(graph.sparse_initializer_size()),
                 " sparse initialisers, which are not supported; export them "
                 "dense");
  StringSet<> initialized;
  for (const ::onnx::TensorProto &tensor : graph.initializer()) {
    if (tensor.name().empty())
      return error("an initialiser has no name");
    Expected<HostTensor> value =
        tensors->read(tensor, "initialiser '" + tensor.name() + "'");
    if (!value)
      return value.takeError();
    initialized.insert(tensor.name());
    model.initializers.emplace_back(tensor.name(), std::move(*value));
  }
  auto readInfos = [&](const auto &protos, std::vector<ValueInfo> &infos,
                       bool mayBeInitialized) -> Error {
    for (const ::onnx::ValueInfoProto &info : protos) {
      Expected<ValueInfo> read = readValueInfo(info);
      if (!read)
        return read.takeError();
      bool isValue = mayBeInitialized && initialized.contains(info.name());
      (isValue ? model.values : infos).push_back(std::move(*read));
    }
    return Error::success();
  };
  if (Error failure = readInfos(graph.input(), model.inputs, true))
    return failure;
  if (Error failure = readInfos(graph.output(), model.outputs, false))
    return failure;
  if (Error failure = readInfos(graph.value_info(), model.values, false))
    return failure;
  for (const ::onnx::NodeProto &node : graph.node())
    if (Error failure = readNode(node, Block()))
      return failure;
  return Error::success();
}

/// Puts the nodes of both branches of an If before it.
Error Reader::readBranches(const ::onnx::NodeProto &proto, Node &node,
                           const Block &block) {
  if (node.inputs.size() != 1)
    return error("node '", node.label().str(), "' (If) has ",
                 std::to_string(node.inputs.size()), " inputs instead of 1");
  for (StringRef name : {"then_branch", "else_branch"}) {
    const ::onnx::GraphProto *graph = nullptr;
    for (const ::onnx::AttributeProto &attribute : proto.attribute())
      if (attribute.name() == name && attribute.has_g())
        graph = &attribute.g();
    if (!graph || graph->input_size() > 0 ||
        graph->output_size() != static_cast<int>(node.outputs.size()))
      return error("node '", node.label().str(), "' (If) has no ", name.str(),
                   " with ", std::to_string(node.outputs.size()),
                   " results and without inputs");
    Block inner{&block,
                std::make_shared<Guard>(
                    Guard{node.inputs[0], name == "then_branch", block.guard}),
                block.depth + 1,
                {}};
    // A number keeps names short that are within one another.
    std::string prefix = name.str() + " " + std::to_string(++branches) + "/";
    for (const ::onnx::NodeProto &next : graph->node())
      for (const std::string &output : next.output())
        if (!output.empty())
          inner.names[output] = prefix + output;
    for (const ::onnx::TensorProto &tensor : graph->initializer()) {
      inner.names[tensor.name()] = prefix + tensor.name();
      Expected<HostTensor> value =
          tensors->read(tensor, "initialiser '" + prefix + tensor.name() + "'");
      if (!value)
        return value.takeError();
      model.initializers.emplace_back(prefix + tensor.name(),
                                      std::move(*value));
    }
    for (const ::onnx::NodeProto &next : graph->node())
      if (Error failure = readNode(next, inner))
        return failure;
    for (const ::onnx::ValueInfoProto &output : graph->output())
      node.inputs.push_back(inner.rename(output.name()));
    for (const auto *infos : {&graph->output(), &graph->value_info()})
      for (const ::onnx::ValueInfoProto &info : *infos) {
        Expected<ValueInfo> read = readValueInfo(info);
        if (!read)
          return read.takeError();
        read->name = inner.rename(read->name);
        model.values.push_back(std::move(*read));
      }
  }
  return Error::success();
}

Error Reader::readNode(const ::onnx::NodeProto &proto, const Block &block) {
  // A limit for the recursion; models have one or two levels.
  if (block.depth > 32)
    return error("has more than 32 branches within one another");
  Node node;
  node.op = proto.op_type();
  node.domain = isStandard(proto.domain()) ? "" : proto.domain();
  node.name = proto.name();
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  for (std::string &input : node.inputs)
    input = block.rename(input);
  for (std::string &output : node.outputs)
    output = block.rename(output);
  node.guard = block.guard;
  std::string what = "node " + std::to_string(model.nodes.size() + 1) + " '" +
                     node.label().str() + "' (" + node.opName() + ")";
  if (node.op.empty())
    return error(what, " has no operator");
  if (node.outputs.empty())
    return error(what, " has no outputs");
  if (node.domain.empty() && functions.contains(node.op))
    return error(what, " calls a function of the file's own, '", node.op,
                 "'; local functions are not supported: inline them, as "
                 "onnx.inliner.inline_local_functions does");
  for (const ::onnx::AttributeProto &attribute : proto.attribute()) {
    Expected<AttributeValue> value = readAttribute(attribute, what);
    if (!value)
      return value.takeError();
    if (!node.attributes.try_emplace(attribute.name(), std::move(*value))
             .second)
      return error(what, " has two attributes '", attribute.name(), "'");
  }
  readMetadata(proto.unknown_fields(), 9, node.metadata);
  if (node.op == "If" && node.domain.empty())
    if (Error failure = readBranches(proto, node, block))
      return failure;
  node.ordinal = model.nodes.size() + 1;
  model.nodes.push_back(std::move(node));
  return Error::success();
}

Expected<AttributeValue>
Reader::readAttribute(const ::onnx::AttributeProto &proto, StringRef owner) {
  AttributeValue attribute;
  if (proto.has_ref_attr_name())
    return error("attribute '", proto.name(), "' of ", owner.str(),
                 " takes its value from a function's attribute '",
                 proto.ref_attr_name(), "', but stands in no function");
  // By type: the field that holds the value.
  const std::pair<int, const char *> held[] = {
      {proto.has_f() ? ::onnx::AttributeProto::FLOAT : 0, "f"},
      {proto.has_i() ? ::onnx::AttributeProto::INT : 0, "i"},
      {proto.has_s() ? ::onnx::AttributeProto::STRING : 0, "s"},
      {proto.has_t() ? ::onnx::AttributeProto::TENSOR : 0, "t"},
      {proto.has_g() ? ::onnx::AttributeProto::GRAPH : 0, "g"},
      {proto.floats_size() ? ::onnx::AttributeProto::FLOATS : 0, "floats"},
      {proto.ints_size() ? ::onnx::AttributeProto::INTS : 0, "ints"},
      {proto.strings_size() ? ::onnx::AttributeProto::STRINGS : 0, "strings"}};
  for (auto [type, field] : held)
    if (type != 0 && type != proto.type())
      return error("attribute '", proto.name(), "' of ", owner.str(),
                   " is of type ",
                   ::onnx::AttributeProto::AttributeType_Name(proto.type()),
                   ", but has a value in '", field, "'");
  switch (proto.type()) {
  case ::onnx::AttributeProto::INT:
    attribute.kind = AttributeValue::Int;
    attribute.integer = proto.i();
    break;
  case ::onnx::AttributeProto::FLOAT:
    attribute.kind = AttributeValue::Float;
    attribute.number = proto.f();
    break;
  case ::onnx::AttributeProto::STRING:
    attribute.kind = AttributeValue::String;
    attribute.string = proto.s();
    break;
  case ::onnx::AttributeProto::TENSOR: {
    Expected<HostTensor> tensor = tensors->read(
        proto.t(), "attribute '" + proto.name() + "' of " + owner.str());
    if (!tensor)
      return tensor.takeError();
    attribute.kind = AttributeValue::Tensor;
    attribute.tensor = std::move(*tensor);
    break;
  }
  case ::onnx::AttributeProto::INTS:
    attribute.kind = AttributeValue::Ints;
    attribute.ints.assign(proto.ints().begin(), proto.ints().end());
    break;
  case ::onnx::AttributeProto::FLOATS:
    attribute.kind = AttributeValue::Floats;
    attribute.floats.assign(proto.floats().begin(), proto.floats().end());
    break;
  case ::onnx::AttributeProto::STRINGS:
    attribute.kind = AttributeValue::Strings;
    attribute.strings.assign(proto.strings().begin(), proto.strings().end());
    break;
  default:
    attribute.kind = AttributeValue::Other;
    break;
  }
  return attribute;
}

Expected<ValueInfo> Reader::readValueInfo(const ::onnx::ValueInfoProto &proto) {
  ValueInfo info;
  info.name = proto.name();
  readMetadata(proto.unknown_fields(), 4, info.metadata);
  if (!proto.has_type() || !proto.type().has_tensor_type()) {
    info.isTensor = !proto.has_type();
    return info;
  }
  const auto &tensor = proto.type().tensor_type();
  info.type = static_cast<DType>(tensor.elem_type());
  info.ranked = tensor.has_shape();
  for (const auto &dim : tensor.shape().dim()) {
    Dim read;
    if (dim.has_dim_value())
      read.size = dim.dim_value();
    else
      read.name = dim.dim_param();
    // Some exporters write -1 for a size that is not known.
    if (read.size < -1)
      return error("value '", info.name, "' is declared with dimension ",
                   std::to_string(info.dims.size()), " of size ",
                   std::to_string(read.size),
                   "; a size is not negative, and one that is not known has a "
                   "name, nothing or -1");
    info.dims.push_back(read);
  }
  return info;
}

/// Names go into programs, files of weights and messages.
Error Reader::checkName(StringRef what, StringRef name) {
  if (!json::isUTF8(name))
    return error(what.str(), " '", json::fixUTF8(name),
                 "' has a name that is not UTF-8");
  if (name.size() > kMostNameBytes)
    return error(what.str(), " '", json::fixUTF8(name.take_front(64)),
                 "…' has a name of ", std::to_string(name.size()),
                 " bytes, more than ", std::to_string(kMostNameBytes));
  return Error::success();
}

Error Reader::checkNames() {
  for (const auto &[name, value] : model.initializers)
    if (Error failure = checkName("initialiser", name))
      return failure;
  for (const auto *infos : {&model.inputs, &model.outputs, &model.values})
    for (const ValueInfo &info : *infos) {
      if (Error failure = checkName("value", info.name))
        return failure;
      for (const Dim &dim : info.dims)
        if (Error failure = checkName(
                "a dimension of value '" + info.name + "',", dim.name))
          return failure;
    }
  for (const Node &node : model.nodes) {
    std::string what = "node " + std::to_string(node.ordinal);
    for (const std::string *name : {&node.name, &node.op, &node.domain})
      if (Error failure = checkName(what, *name))
        return failure;
    for (const auto *names : {&node.inputs, &node.outputs})
      for (const std::string &name : *names)
        if (Error failure = checkName(what + ", value", name))
          return failure;
    for (StringRef name : node.attributes.keys())
      if (Error failure = checkName(what + ", attribute", name))
        return failure;
  }
  return Error::success();
}

/// Values are defined once, and before use.
Error Reader::checkOrder() {
  auto describe = [](const Node &node) {
    return "node '" + node.label().str() + "' (" + node.opName() + ")";
  };
  /// The definition of a value: a node, or else `other`.
  struct Definer {
    const Node *node;
    const char *other;
  };
  StringMap<Definer> definedBy;
  auto define = [&](const std::string &name, Definer by) -> Error {
    auto [it, fresh] = definedBy.try_emplace(name, by);
    if (fresh)
      return Error::success();
    auto text = [&](Definer definer) {
      return definer.node ? describe(*definer.node)
                          : std::string(definer.other);
    };
    return error("value '", name, "' is defined twice: by ", text(it->second),
                 " and by ", text(by));
  };
  StringMap<const Node *> definedLater;
  for (const Node &node : model.nodes)
    for (const std::string &output : node.outputs)
      if (!output.empty())
        definedLater[output] = &node;
  for (const auto &[name, value] : model.initializers)
    if (Error failure = define(name, {nullptr, "an initialiser"}))
      return failure;
  for (const ValueInfo &input : model.inputs) {
    if (input.name.empty())
      return error("a graph input has no name");
    if (Error failure = define(input.name, {nullptr, "a graph input"}))
      return failure;
  }
  for (const Node &node : model.nodes) {
    for (const std::string &input : node.inputs) {
      if (input.empty() || definedBy.contains(input))
        continue;
      if (const Node *later = definedLater.lookup(input))
        return error(describe(node), " reads '", input, "' before node '",
                     later->label().str(),
                     "' defines it: the nodes are not in order, or in a cycle");
      return error(describe(node), " reads '", input,
                   "', which nothing defines");
    }
    for (const std::string &output : node.outputs)
      if (!output.empty())
        if (Error failure = define(output, {&node, nullptr}))
          return failure;
  }
  if (model.outputs.empty())
    return error("the graph has no outputs");
  for (const ValueInfo &output : model.outputs)
    if (!definedBy.contains(output.name))
      return error("graph output '", output.name, "' is defined by nothing");
  return Error::success();
}

/// Sets Node::placeAxes.
static void findPlaceAxes(Model &model) {
  StringMap<std::vector<int64_t>> largest, smallest; // by input
  auto getInt = [](const Node &node, StringRef name) {
    auto found = node.attributes.find(name);
    return found == node.attributes.end() ? 0 : found->second.integer;
  };
  for (const Node &node : model.nodes)
    if ((node.op == "ArgMax" || node.op == "ArgMin") && !node.inputs.empty() &&
        getInt(node, "select_last_index") == 0)
      (node.op == "ArgMax" ? largest : smallest)[node.inputs.front()].push_back(
          getInt(node, "axis"));
  for (Node &node : model.nodes)
    if ((node.op == "ReduceMax" || node.op == "ReduceMin") &&
        !node.inputs.empty())
      node.placeAxes = (node.op == "ReduceMax" ? largest : smallest)
                           .lookup(node.inputs.front());
}

Expected<Model> mlir::dist::frontend::readModel(StringRef path) {
  Expected<Model> model = Reader(path).read();
  if (model)
    findPlaceAxes(*model);
  return model;
}
