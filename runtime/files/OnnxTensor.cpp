//===- OnnxTensor.cpp - Tensors in ONNX's .pb files -----------------------===//

#include "dist/OnnxTensor.h"
#include "runtime/files/Booleans.h"
#include "runtime/host/MappedFile.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <cstring>

using namespace dist;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

namespace {

/// Fields of TensorProto, and the types that its data_type may name.
enum Field {
  Dims = 1,
  DataType = 2,
  Segment = 3,
  FloatData = 4,
  Int32Data = 5,
  Int64Data = 7,
  Name = 8,
  RawData = 9,
  DoubleData = 10,
  Uint64Data = 11,
  DataLocation = 14
};

struct Proto {
  Shape dims;
  int32_t dataType = 0;
  std::vector<float> floats;
  std::vector<int32_t> ints;
  std::vector<int64_t> longs;
  std::vector<uint64_t> unsignedLongs;
  std::vector<double> doubles;
  std::string name, raw;
  bool external = false, isSegment = false;
};

} // namespace

static dist_dtype dtypeOf(const std::string &path, int32_t dataType) {
  switch (dataType) {
  case 1:
    return DIST_F32;
  case 2:
    return DIST_U8;
  case 3:
    return DIST_I8;
  case 4:
    return DIST_U16;
  case 5:
    return DIST_I16;
  case 6:
    return DIST_I32;
  case 7:
    return DIST_I64;
  case 9:
    return DIST_I1;
  case 10:
    return DIST_F16;
  case 11:
    return DIST_F64;
  case 12:
    return DIST_U32;
  case 13:
    return DIST_U64;
  case 16:
    return DIST_BF16;
  default:
    throw Error(path + ": TensorProto of data type " +
                std::to_string(dataType) + ", which dist does not know");
  }
}

/// A repeated number: one value, or a packed run of them.
template <class T, WireFormatLite::FieldType type>
static bool readNumbers(CodedInputStream &in, uint32_t tag,
                        std::vector<T> &values) {
  auto readOne = [&] {
    T value;
    if (!WireFormatLite::ReadPrimitive<T, type>(&in, &value))
      return false;
    values.push_back(value);
    return true;
  };
  if (WireFormatLite::GetTagWireType(tag) !=
      WireFormatLite::WIRETYPE_LENGTH_DELIMITED)
    return readOne();
  uint32_t bytes;
  if (!in.ReadVarint32(&bytes))
    return false;
  auto limit = in.PushLimit(bytes);
  while (in.BytesUntilLimit() > 0)
    if (!readOne())
      return false;
  in.PopLimit(limit);
  return true;
}

static bool readField(CodedInputStream &in, uint32_t tag, Proto &proto) {
  auto readBytes = [&](std::string &text) {
    uint32_t bytes;
    return in.ReadVarint32(&bytes) && in.ReadString(&text, bytes);
  };
  switch (WireFormatLite::GetTagFieldNumber(tag)) {
  case Dims:
    return readNumbers<int64_t, WireFormatLite::TYPE_INT64>(in, tag,
                                                            proto.dims);
  case FloatData:
    return readNumbers<float, WireFormatLite::TYPE_FLOAT>(in, tag,
                                                          proto.floats);
  case Int32Data:
    return readNumbers<int32_t, WireFormatLite::TYPE_INT32>(in, tag,
                                                            proto.ints);
  case Int64Data:
    return readNumbers<int64_t, WireFormatLite::TYPE_INT64>(in, tag,
                                                            proto.longs);
  case DoubleData:
    return readNumbers<double, WireFormatLite::TYPE_DOUBLE>(in, tag,
                                                            proto.doubles);
  case Uint64Data:
    return readNumbers<uint64_t, WireFormatLite::TYPE_UINT64>(
        in, tag, proto.unsignedLongs);
  case Name:
    return readBytes(proto.name);
  case RawData:
    return readBytes(proto.raw);
  case Segment:
    proto.isSegment = true;
    return WireFormatLite::SkipField(&in, tag);
  case DataType:
  case DataLocation: {
    std::vector<int32_t> value;
    if (!readNumbers<int32_t, WireFormatLite::TYPE_INT32>(in, tag, value) ||
        value.empty())
      return false;
    if (WireFormatLite::GetTagFieldNumber(tag) == DataType)
      proto.dataType = value.back();
    else
      proto.external = value.back() != 0;
    return true;
  }
  default:
    return WireFormatLite::SkipField(&in, tag);
  }
}

/// The field of numbers that a type is stored in.
static Field fieldOf(dist_dtype dtype) {
  switch (dtype) {
  case DIST_F32:
    return FloatData;
  case DIST_F64:
    return DoubleData;
  case DIST_I64:
    return Int64Data;
  case DIST_U32:
  case DIST_U64:
    return Uint64Data;
  default:
    return Int32Data;
  }
}

/// One field has data, and it is the type's; else it is not clear what counts.
static void checkFields(const std::string &path, const Proto &proto,
                        dist_dtype dtype) {
  struct {
    Field field;
    const char *name;
    size_t size;
  } const lists[] = {{FloatData, "float_data", proto.floats.size()},
                     {Int32Data, "int32_data", proto.ints.size()},
                     {Int64Data, "int64_data", proto.longs.size()},
                     {DoubleData, "double_data", proto.doubles.size()},
                     {Uint64Data, "uint64_data", proto.unsignedLongs.size()}};
  for (const auto &list : lists)
    if (list.size > 0 && (!proto.raw.empty() || list.field != fieldOf(dtype)))
      throw Error(path + ": TensorProto of " + dtypeName(dtype) +
                  " with data in " + list.name +
                  (proto.raw.empty() ? ", where this type has none"
                                     : " and in raw_data"));
}

/// Whether `value` is one of the type `dtype` of up to 32 bits, of floating
/// point the bits.
static bool holds(dist_dtype dtype, int32_t value) {
  switch (dtype) {
  case DIST_I1:
    return value == 0 || value == 1;
  case DIST_U8:
    return value == static_cast<uint8_t>(value);
  case DIST_I8:
    return value == static_cast<int8_t>(value);
  case DIST_U16:
  case DIST_F16:
  case DIST_BF16:
    return value == static_cast<uint16_t>(value);
  case DIST_I16:
    return value == static_cast<int16_t>(value);
  default:
    return true;
  }
}

Tensor dist::readOnnxTensor(const std::string &path, std::string *name) {
  // Protobuf's own limit.
  MappedFile file = mapFile(path, INT32_MAX);
  std::string_view text = file.text();

  Proto proto;
  CodedInputStream in(reinterpret_cast<const uint8_t *>(text.data()),
                      text.size());
  while (uint32_t tag = in.ReadTag())
    if (!readField(in, tag, proto))
      throw Error(path + ": not a TensorProto, or cut short, at byte " +
                  std::to_string(in.CurrentPosition()));
  if (static_cast<size_t>(in.CurrentPosition()) != text.size())
    throw Error(path + ": not a TensorProto: garbage at byte " +
                std::to_string(in.CurrentPosition()));
  if (proto.external)
    throw Error(path + ": TensorProto with external data; save it with its "
                       "data inside");
  if (proto.isSegment)
    throw Error(path + ": TensorProto that is a segment of a tensor; save it "
                       "whole");
  if (name)
    *name = proto.name;

  dist_dtype dtype = dtypeOf(path, proto.dataType);
  int64_t count = elementsIn(path, proto.dims);
  if (count > static_cast<int64_t>(text.size()))
    throw Error(path + ": shape " + toString(proto.dims) + " in a file of " +
                std::to_string(text.size()) + " bytes");
  checkFields(path, proto, dtype);
  auto refuse = [&](size_t element, auto value) {
    throw Error(path + ": element " + std::to_string(element) + " is " +
                std::to_string(value) + ", which is no " + dtypeName(dtype));
  };
  Tensor tensor = Tensor::zeros(dtype, proto.dims);
  auto checkCount = [&](size_t have, const char *unit) {
    throw Error(path + ": shape " + toString(proto.dims) + " of " +
                dtypeName(dtype) + " does not have " + std::to_string(have) +
                " " + unit);
  };
  auto fill = [&](const auto &values, dist_dtype from) {
    if (static_cast<int64_t>(values.size()) != count)
      checkCount(values.size(), "elements");
    convert(from, values.data(), dtype, tensor.data, count);
  };
  if (!proto.raw.empty() || count == 0) {
    if (static_cast<int64_t>(proto.raw.size()) != tensor.bytes())
      checkCount(proto.raw.size(), "bytes");
    if (count)
      std::memcpy(tensor.data, proto.raw.data(), proto.raw.size());
    checkBooleans(path + ": ", tensor);
  } else if (dtype == DIST_F32) {
    fill(proto.floats, DIST_F32);
  } else if (dtype == DIST_F64) {
    fill(proto.doubles, DIST_F64);
  } else if (dtype == DIST_I64) {
    fill(proto.longs, DIST_I64);
  } else if (dtype == DIST_U64 || dtype == DIST_U32) {
    for (size_t i = 0; i < proto.unsignedLongs.size(); ++i)
      if (dtype == DIST_U32 && proto.unsignedLongs[i] > UINT32_MAX)
        refuse(i, proto.unsignedLongs[i]);
    fill(proto.unsignedLongs, DIST_U64);
  } else {
    for (size_t i = 0; i < proto.ints.size(); ++i)
      if (!holds(dtype, proto.ints[i]))
        refuse(i, proto.ints[i]);
    // Bits of short floating point numbers are no numbers to convert.
    if (dtype == DIST_F16 || dtype == DIST_BF16) {
      if (static_cast<int64_t>(proto.ints.size()) != count)
        checkCount(proto.ints.size(), "elements");
      std::copy(proto.ints.begin(), proto.ints.end(),
                static_cast<uint16_t *>(tensor.data));
    } else {
      fill(proto.ints, DIST_I32);
    }
  }
  file.checkUnchanged();
  return tensor;
}
