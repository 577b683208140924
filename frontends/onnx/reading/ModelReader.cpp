//===- ModelReader.cpp - ONNX files into plain data -----------------------===//
//
// The only file that knows protobuf. It trusts nothing: sizes of tensors
// against their data, offsets into external files, names, order of nodes.
//
//===----------------------------------------------------------------------===//

#include "ExternalData.h"
#include "Model.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

#include <cstring>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

using namespace mlir::dist::frontend;
using namespace llvm;

namespace {

/// Where nodes stand: in the graph itself, or in a branch of an If.
struct Block {
  const Block *outer = nullptr;
  std::vector<Guard> guards;
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
    std::string text = path.str() + ": ";
    ((text += parts), ...);
    return createStringError(inconvertibleErrorCode(), Twine(text));
  }

  Error readGraph(const ::onnx::GraphProto &graph);
  Error readNode(const ::onnx::NodeProto &proto, const Block &block);
  Error readBranches(const ::onnx::NodeProto &proto, Node &node,
                     const Block &block);
  Expected<AttributeValue> readAttribute(const ::onnx::AttributeProto &proto,
                                         StringRef owner);
  Expected<HostTensor> readTensor(const ::onnx::TensorProto &proto,
                                  StringRef what);
  Expected<HostTensor> readExternal(const ::onnx::TensorProto &proto,
                                    StringRef what, DType type, Shape shape,
                                    int64_t bytes);
  Expected<ValueInfo> readValueInfo(const ::onnx::ValueInfoProto &proto);
  Error checkNames();

  StringRef path;
  std::shared_ptr<::onnx::ModelProto> proto;
  ExternalData externalData{path};
  Model model;
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

Expected<Model> Reader::read() {
  auto buffer = readRegularFile(path, INT32_MAX);
  if (!buffer)
    return error(toString(buffer.takeError()));
  StringRef data = (*buffer)->getBuffer();
  // What is wrong is said by this program, in its own words.
  google::protobuf::SetLogHandler(nullptr);
  proto = std::make_shared<::onnx::ModelProto>();
  if (!proto->ParseFromArray(data.data(), static_cast<int>(data.size())))
    return error("is not an ONNX model, or truncated: protobuf cannot parse "
                 "its ",
                 std::to_string(data.size()), " bytes");
  if (!proto->has_ir_version() || !proto->has_graph())
    return error("is not an ONNX model: it has no ",
                 proto->has_graph() ? "ir_version" : "graph");
  model.file = path.str();
  model.producer = proto->producer_name() + " " + proto->producer_version();
  for (const auto &import : proto->opset_import())
    if (import.domain().empty() || import.domain() == "ai.onnx")
      model.opset = import.version();
  if (Error failure = readGraph(proto->graph()))
    return std::move(failure);
  if (Error failure = checkNames())
    return std::move(failure);
  model.files = externalData.opened();
  model.files.push_back(model.file);
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
        readTensor(tensor, "initialiser '" + tensor.name() + "'");
    if (!value)
      return value.takeError();
    initialized.insert(tensor.name());
    model.initializers.emplace_back(tensor.name(), std::move(*value));
  }
  auto readInfos = [&](const auto &protos, std::vector<ValueInfo> &infos,
                       bool skipInitialized) -> Error {
    for (const ::onnx::ValueInfoProto &info : protos) {
      if (skipInitialized && initialized.contains(info.name()))
        continue;
      Expected<ValueInfo> read = readValueInfo(info);
      if (!read)
        return read.takeError();
      infos.push_back(std::move(*read));
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
    Block inner{&block, block.guards, {}};
    inner.guards.push_back({node.inputs[0], name == "then_branch"});
    std::string prefix = node.outputs[0] + "/" + name.str() + "/";
    for (const ::onnx::NodeProto &next : graph->node())
      for (const std::string &output : next.output())
        if (!output.empty())
          inner.names[output] = prefix + output;
    for (const ::onnx::TensorProto &tensor : graph->initializer()) {
      inner.names[tensor.name()] = prefix + tensor.name();
      Expected<HostTensor> value =
          readTensor(tensor, "initialiser '" + prefix + tensor.name() + "'");
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
  }
  return Error::success();
}

Error Reader::readNode(const ::onnx::NodeProto &proto, const Block &block) {
  // A limit for the recursion; models have one or two levels.
  if (block.guards.size() > 32)
    return error("has more than 32 branches within one another");
  Node node;
  node.op = proto.op_type();
  node.domain = proto.domain() == "ai.onnx" ? "" : proto.domain();
  node.name = proto.name();
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  for (std::string &input : node.inputs)
    input = block.rename(input);
  for (std::string &output : node.outputs)
    output = block.rename(output);
  node.guards = block.guards;
  std::string what = "node " + std::to_string(model.nodes.size() + 1) + " '" +
                     node.label().str() + "' (" + node.opName() + ")";
  if (node.op.empty())
    return error(what, " has no operator");
  if (node.outputs.empty())
    return error(what, " has no outputs");
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
    Expected<HostTensor> tensor = readTensor(
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

Expected<HostTensor> Reader::readTensor(const ::onnx::TensorProto &proto,
                                        StringRef what) {
  DType type = static_cast<DType>(proto.data_type());
  Shape shape(proto.dims().begin(), proto.dims().end());
  std::optional<int64_t> count = countElements(shape);
  if (!count)
    return error(what, " has an impossible shape ", toString(shape));
  if (type == DType::String) {
    // Strings occur in attributes that are never looked at.
    HostTensor text(DType::U8, {0});
    return text;
  }
  int64_t size = sizeOf(type);
  if (size == 0)
    return error(what, " has element type ", nameOf(type),
                 ", which is not supported; export it as bool, as a floating "
                 "point type of 16 to 64 bits or an integer of 8 to 64");
  int64_t bytes = *count * size;
  if (proto.data_location() == ::onnx::TensorProto::EXTERNAL)
    return readExternal(proto, what, type, shape, bytes);
  if (proto.has_raw_data()) {
    const std::string &raw = proto.raw_data();
    if (static_cast<int64_t>(raw.size()) != bytes)
      return error(what, " of shape ", toString(shape), " and type ",
                   nameOf(type), " needs ", std::to_string(bytes),
                   " bytes of data, but has ", std::to_string(raw.size()));
    return HostTensor(type, shape, ArrayRef<char>(raw.data(), raw.size()),
                      this->proto);
  }

  auto checkCount = [&](int64_t have) -> Error {
    if (have == *count)
      return Error::success();
    return error(what, " of shape ", toString(shape), " and type ",
                 nameOf(type), " needs ", std::to_string(*count),
                 " values, but has ", std::to_string(have));
  };
  // Lists of numbers; never allocate before the count is known to be real.
  auto fill = [&](const auto &values, auto setter) -> Expected<HostTensor> {
    if (Error failure = checkCount(values.size()))
      return std::move(failure);
    HostTensor tensor(type, shape);
    for (int64_t i = 0; i < *count; ++i)
      setter(tensor, i, values.Get(static_cast<int>(i)));
    return tensor;
  };
  auto setInt = [](HostTensor &t, int64_t i, auto v) {
    t.setInt(i, static_cast<int64_t>(v));
  };
  auto setFloat = [](HostTensor &t, int64_t i, auto v) { t.setFloat(i, v); };
  switch (type) {
  case DType::F32:
    return fill(proto.float_data(), setFloat);
  case DType::F64:
    return fill(proto.double_data(), setFloat);
  case DType::I64:
    return fill(proto.int64_data(), setInt);
  case DType::U32:
  case DType::U64:
    return fill(proto.uint64_data(), setInt);
  case DType::F16:
  case DType::BF16: {
    // The bits, one element a number.
    if (Error failure = checkCount(proto.int32_data_size()))
      return std::move(failure);
    HostTensor bits(DType::U16, shape);
    for (int64_t i = 0; i < *count; ++i)
      bits.setInt(i, proto.int32_data(static_cast<int>(i)));
    auto owner = std::make_shared<HostTensor>(bits);
    return HostTensor(type, shape, owner->getBytes(), owner);
  }
  default:
    return fill(proto.int32_data(), setInt);
  }
}

Expected<HostTensor> Reader::readExternal(const ::onnx::TensorProto &proto,
                                          StringRef what, DType type,
                                          Shape shape, int64_t bytes) {
  std::string location;
  uint64_t offset = 0, length = bytes;
  for (const auto &entry : proto.external_data()) {
    bool bad = false;
    if (entry.key() == "location")
      location = entry.value();
    else if (entry.key() == "offset")
      bad = StringRef(entry.value()).getAsInteger(10, offset);
    else if (entry.key() == "length")
      bad = StringRef(entry.value()).getAsInteger(10, length);
    if (bad)
      return error(what, ": external data has ", entry.key(), " '",
                   entry.value(), "', which is not a number");
  }
  if (length != static_cast<uint64_t>(bytes))
    return error(what, " of shape ", toString(shape), " and type ",
                 nameOf(type), " needs ", std::to_string(bytes),
                 " bytes, but its external data has ", std::to_string(length));
  Expected<std::shared_ptr<MemoryBuffer>> opened = externalData.open(location);
  if (!opened)
    return error(what, ": ", toString(opened.takeError()));
  std::shared_ptr<MemoryBuffer> file = *opened;
  uint64_t available = file->getBufferSize();
  if (offset > available || length > available - offset)
    return error(what, ": external data needs bytes ", std::to_string(offset),
                 " to ", std::to_string(offset + length), " of '", location,
                 "', which has ", std::to_string(available));
  return HostTensor(type, shape,
                    ArrayRef<char>(file->getBufferStart() + offset, length),
                    file);
}

Expected<ValueInfo> Reader::readValueInfo(const ::onnx::ValueInfoProto &proto) {
  ValueInfo info;
  info.name = proto.name();
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
    info.dims.push_back(read);
  }
  return info;
}

/// Values are defined once, and before use.
Error Reader::checkNames() {
  // They go into programs, files of weights and messages.
  auto isText = [](StringRef name) { return json::isUTF8(name); };
  auto notText = [&](StringRef what, StringRef name) {
    return error(what.str(), " '", json::fixUTF8(name),
                 "' has a name that is not UTF-8");
  };
  for (const auto &[name, value] : model.initializers)
    if (!isText(name))
      return notText("initialiser", name);
  for (const auto *infos : {&model.inputs, &model.outputs, &model.values})
    for (const ValueInfo &info : *infos)
      if (!isText(info.name) ||
          any_of(info.dims, [&](const Dim &dim) { return !isText(dim.name); }))
        return notText("value", info.name);
  for (const Node &node : model.nodes) {
    bool good = isText(node.name) && isText(node.op) && isText(node.domain);
    for (const auto *names : {&node.inputs, &node.outputs})
      good &= all_of(*names, isText);
    good &= all_of(node.attributes.keys(), isText);
    if (!good)
      return notText("node " + std::to_string(node.ordinal), node.label());
  }
  StringMap<std::string> definedBy;
  auto define = [&](const std::string &name, std::string by) -> Error {
    auto [it, fresh] = definedBy.try_emplace(name, by);
    if (fresh)
      return Error::success();
    return error("value '", name, "' is defined twice: by ", it->second,
                 " and by ", by);
  };
  StringMap<std::string> definedLater;
  for (const Node &node : model.nodes)
    for (const std::string &output : node.outputs)
      if (!output.empty())
        definedLater[output] = node.label().str();
  for (const auto &[name, value] : model.initializers)
    if (Error failure = define(name, "an initialiser"))
      return failure;
  for (const ValueInfo &input : model.inputs) {
    if (input.name.empty())
      return error("a graph input has no name");
    if (Error failure = define(input.name, "a graph input"))
      return failure;
  }
  for (const Node &node : model.nodes) {
    std::string what =
        "node '" + node.label().str() + "' (" + node.opName() + ")";
    for (const std::string &input : node.inputs) {
      if (input.empty() || definedBy.contains(input))
        continue;
      auto later = definedLater.find(input);
      if (later != definedLater.end())
        return error(what, " reads '", input, "' before node '", later->second,
                     "' defines it: the nodes are not in order, or in a cycle");
      return error(what, " reads '", input, "', which nothing defines");
    }
    for (const std::string &output : node.outputs)
      if (!output.empty())
        if (Error failure = define(output, what))
          return failure;
  }
  if (model.outputs.empty())
    return error("the graph has no outputs");
  for (const ValueInfo &output : model.outputs)
    if (!definedBy.contains(output.name))
      return error("graph output '", output.name, "' is defined by nothing");
  return Error::success();
}

Expected<Model> mlir::dist::frontend::readModel(StringRef path) {
  return Reader(path).read();
}
