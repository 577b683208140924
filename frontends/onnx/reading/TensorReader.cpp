//===- TensorReader.cpp - Tensors of ONNX files ---------------------------===//

#include "TensorReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

#include <onnx/onnx_pb.h>

using namespace mlir::dist::frontend;
using namespace llvm;

/// The list of a TensorProto that has the elements of a type.
static StringRef listOf(DType type) {
  switch (type) {
  case DType::F32:
    return "float_data";
  case DType::F64:
    return "double_data";
  case DType::I64:
    return "int64_data";
  case DType::U32:
  case DType::U64:
    return "uint64_data";
  case DType::String:
    return "string_data";
  default:
    return "int32_data";
  }
}

Expected<HostTensor> TensorReader::read(const ::onnx::TensorProto &proto,
                                        StringRef what) {
  DType type = static_cast<DType>(proto.data_type());
  Shape shape(proto.dims().begin(), proto.dims().end());
  std::optional<int64_t> count = countElements(shape);
  if (!count)
    return error(what, " has an impossible shape ", toString(shape));
  int64_t size = sizeOf(type);
  if (size == 0 && type != DType::String)
    return error(what, " has element type ", nameOf(type),
                 ", which is not supported; export it as bool, as a floating "
                 "point type of 16 to 64 bits or an integer of 8 to 64");
  if (proto.has_segment())
    return error(what, " is a segment of a tensor, which is not supported; "
                       "save it whole");
  // The list that the type is stored in, and all that hold something.
  StringRef own = listOf(type);
  SmallVector<StringRef> filled;
  for (auto [name, size] : std::initializer_list<std::pair<StringRef, int>>{
           {"float_data", proto.float_data_size()},
           {"int32_data", proto.int32_data_size()},
           {"string_data", proto.string_data_size()},
           {"int64_data", proto.int64_data_size()},
           {"double_data", proto.double_data_size()},
           {"uint64_data", proto.uint64_data_size()}})
    if (size > 0)
      filled.push_back(name);
  bool isExternal = proto.data_location() == ::onnx::TensorProto::EXTERNAL;
  if (isExternal && proto.has_raw_data())
    filled.push_back("raw_data");
  for (StringRef name : filled)
    if (isExternal || proto.has_raw_data() || name != own)
      return error(what, " of type ", nameOf(type), " has data in ", name.str(),
                   isExternal             ? " and in another file"
                   : proto.has_raw_data() ? " and in raw_data"
                                          : ", where this type has none",
                   "; what it holds is not clear");
  if (type == DType::String) {
    // Strings occur in attributes that are never looked at. What reads one is
    // refused.
    if (proto.string_data_size() != *count)
      return error(what, " of shape ", toString(shape), " has ",
                   std::to_string(proto.string_data_size()), " strings");
    return HostTensor(type, shape, {}, nullptr);
  }
  int64_t bytes = *count * size;
  Expected<HostTensor> tensor = HostTensor();
  if (isExternal) {
    tensor = readExternal(proto, what, type, shape, bytes);
  } else if (proto.has_raw_data()) {
    const std::string &raw = proto.raw_data();
    if (static_cast<int64_t>(raw.size()) != bytes)
      return error(what, " of shape ", toString(shape), " and type ",
                   nameOf(type), " needs ", std::to_string(bytes),
                   " bytes of data, but has ", std::to_string(raw.size()));
    tensor =
        HostTensor(type, shape, ArrayRef<char>(raw.data(), raw.size()), owner);
  } else {
    tensor = readLists(proto, what, type, shape);
  }
  if (tensor && type == DType::Bool)
    if (Error failure = checkBools(what, *tensor))
      return std::move(failure);
  return tensor;
}

/// A byte other than 0 and 1 would be another truth to each who reads it.
Error TensorReader::checkBools(StringRef what, const HostTensor &tensor) {
  for (auto [i, byte] : enumerate(tensor.getBytes()))
    if (byte != 0 && byte != 1)
      return error(what, " has the value ",
                   std::to_string(static_cast<unsigned char>(byte)),
                   " as element ", std::to_string(i), ", which is no bool");
  return Error::success();
}

Expected<HostTensor> TensorReader::readLists(const ::onnx::TensorProto &proto,
                                             StringRef what, DType type,
                                             const Shape &shape) {
  int64_t count = *countElements(shape);
  // Lists of numbers; never allocate before the count is known to be real.
  auto fill = [&](const auto &values, auto setter) -> Expected<HostTensor> {
    if (values.size() != count)
      return error(what, " of shape ", toString(shape), " and type ",
                   nameOf(type), " needs ", std::to_string(count),
                   " values, but has ", std::to_string(values.size()));
    // The bits of short floating point numbers, one element a number.
    bool isShort = type == DType::F16 || type == DType::BF16;
    auto tensor =
        std::make_shared<HostTensor>(isShort ? DType::U16 : type, shape);
    for (int64_t i = 0; i < count; ++i) {
      auto value = values.Get(static_cast<int>(i));
      setter(*tensor, i, value);
      if constexpr (std::is_integral_v<decltype(value)>)
        if (tensor->getInt(i) != static_cast<int64_t>(value))
          return error(what, " has the value ", std::to_string(value),
                       " as element ", std::to_string(i), ", which is no ",
                       nameOf(type));
    }
    return isShort ? HostTensor(type, shape, tensor->getBytes(), tensor)
                   : *tensor;
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
  default:
    return fill(proto.int32_data(), setInt);
  }
}

Expected<HostTensor>
TensorReader::readExternal(const ::onnx::TensorProto &proto, StringRef what,
                           DType type, Shape shape, int64_t bytes) {
  std::string location, checksum;
  uint64_t offset = 0, length = bytes;
  StringSet<> given;
  for (const auto &entry : proto.external_data()) {
    const std::string &key = entry.key(), &value = entry.value();
    bool bad = false;
    if (key == "location")
      location = value;
    else if (key == "offset")
      bad = StringRef(value).getAsInteger(10, offset);
    else if (key == "length")
      bad = StringRef(value).getAsInteger(10, length);
    else if (key == "checksum")
      checksum = value;
    else
      return error(what, ": external data has the key '", key, "' = '", value,
                   "', which is not known; the keys are location, offset, "
                   "length and checksum");
    if (bad)
      return error(what, ": external data has ", key, " '", value,
                   "', which is not a number");
    if (!given.insert(key).second)
      return error(what, ": external data has ", key,
                   " twice, the second time '", value, "'");
  }
  if (length != static_cast<uint64_t>(bytes))
    return error(what, " of shape ", toString(shape), " and type ",
                 nameOf(type), " needs ", std::to_string(bytes),
                 " bytes, but its external data has ", std::to_string(length));
  Expected<std::shared_ptr<MemoryBuffer>> opened = externalData.open(location);
  if (!opened)
    return error(what, ": ", toString(opened.takeError()));
  std::shared_ptr<MemoryBuffer> file = *opened;
  if (given.contains("checksum"))
    if (std::string digest = externalData.digest(location);
        !StringRef(digest).equals_insensitive(checksum))
      return error(what, ": external data '", location, "' has the SHA1 ",
                   digest, ", but the checksum says '", checksum, "'");
  uint64_t available = file->getBufferSize();
  if (offset > available || length > available - offset)
    return error(what, ": external data needs bytes ", std::to_string(offset),
                 " to ", std::to_string(offset + length), " of '", location,
                 "', which has ", std::to_string(available));
  return HostTensor(type, shape,
                    ArrayRef<char>(file->getBufferStart() + offset, length),
                    file);
}
