//===- HostTensor.cpp - Tensors known while importing ---------------------===//

#include "HostTensor.h"
#include "Sizes.h"
#include "passes/bounds/Bounds.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>

using namespace mlir::dist::frontend;
using namespace llvm;

int64_t mlir::dist::frontend::sizeOf(DType type) {
  switch (type) {
  case DType::Bool:
  case DType::I8:
  case DType::U8:
    return 1;
  case DType::I16:
  case DType::U16:
  case DType::F16:
  case DType::BF16:
    return 2;
  case DType::F32:
  case DType::I32:
  case DType::U32:
    return 4;
  case DType::F64:
  case DType::I64:
  case DType::U64:
    return 8;
  default:
    return 0;
  }
}

bool mlir::dist::frontend::isFloat(DType type) {
  return type == DType::F32 || type == DType::F64 || type == DType::F16 ||
         type == DType::BF16;
}

bool mlir::dist::frontend::isUnsigned(DType type) {
  return type == DType::U8 || type == DType::U16 || type == DType::U32 ||
         type == DType::U64;
}

std::string mlir::dist::frontend::nameOf(DType type) {
  switch (type) {
  case DType::F32:
    return "float";
  case DType::F64:
    return "double";
  case DType::F16:
    return "float16";
  case DType::BF16:
    return "bfloat16";
  case DType::I8:
    return "int8";
  case DType::I16:
    return "int16";
  case DType::I32:
    return "int32";
  case DType::I64:
    return "int64";
  case DType::U8:
    return "uint8";
  case DType::U16:
    return "uint16";
  case DType::U32:
    return "uint32";
  case DType::U64:
    return "uint64";
  case DType::Bool:
    return "bool";
  case DType::String:
    return "string";
  case DType::Undefined:
    return "undefined";
  }
  // Those that no program can hold, for messages.
  static const std::pair<int, const char *> others[] = {
      {14, "complex64"},      {15, "complex128"}, {17, "float8e4m3fn"},
      {18, "float8e4m3fnuz"}, {19, "float8e5m2"}, {20, "float8e5m2fnuz"},
      {21, "uint4"},          {22, "int4"},       {23, "float4e2m1"},
      {24, "float8e8m0"},     {25, "uint2"},      {26, "int2"}};
  for (auto [number, name] : others)
    if (number == static_cast<int>(type))
      return name;
  return "type number " + std::to_string(static_cast<int>(type));
}

std::string mlir::dist::frontend::toString(ArrayRef<int64_t> shape) {
  std::string text;
  raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(shape, os, [&](int64_t size) {
    if (isOpen(size))
      os << '?';
    else
      os << size;
  });
  os << ']';
  return text;
}

std::optional<int64_t>
mlir::dist::frontend::countElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0 || dim > kMostElements)
      return std::nullopt;
    if (dim == 0) {
      empty = true;
      continue;
    }
    if (count > kMostElements / dim)
      return std::nullopt;
    count *= dim;
  }
  return empty ? 0 : count;
}

SmallVector<int64_t> mlir::dist::frontend::stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t i = static_cast<int64_t>(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

//===----------------------------------------------------------------------===//
// HostTensor
//===----------------------------------------------------------------------===//

HostTensor::HostTensor(DType type, ArrayRef<int64_t> shape)
    : type(type), shape(shape), count(countElements(shape).value_or(0)) {
  int64_t size = count * sizeOf(type);
  std::shared_ptr<char> data(new char[size + 1](),
                             std::default_delete<char[]>());
  writable = data.get();
  bytes = ArrayRef<char>(writable, size);
  owner = std::move(data);
}

HostTensor::HostTensor(DType type, ArrayRef<int64_t> shape,
                       ArrayRef<char> bytes, std::shared_ptr<const void> owner)
    : type(type), shape(shape), count(countElements(shape).value_or(0)),
      bytes(bytes), owner(std::move(owner)) {}

template <typename T> static T load(ArrayRef<char> bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T> static void store(char *bytes, int64_t index, T value) {
  std::memcpy(bytes + index * sizeof(T), &value, sizeof(T));
}

static double decodeFloat(const fltSemantics &semantics, uint16_t bits) {
  APFloat value(semantics, APInt(16, bits));
  bool lossy;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
  return value.convertToDouble();
}

static uint16_t encodeFloat(const fltSemantics &semantics, double number) {
  APFloat value(number);
  bool lossy;
  value.convert(semantics, APFloat::rmNearestTiesToEven, &lossy);
  return value.bitcastToAPInt().getZExtValue();
}

/// Casts floating point to a signed integer of `width` bits: truncates, takes
/// the nearer end for numbers out of range, and 0 for NaN
/// (--dist-saturate-casts).
static int64_t toInteger(double value, unsigned width = 64) {
  double beyond = std::ldexp(1.0, width - 1);
  if (std::isnan(value))
    return 0;
  if (value >= beyond)
    return INT64_MAX >> (64 - width);
  if (value <= -beyond)
    return INT64_MIN >> (64 - width);
  return static_cast<int64_t>(value);
}

int64_t HostTensor::getInt(int64_t index) const {
  switch (type) {
  case DType::Bool:
    return load<uint8_t>(bytes, index) != 0;
  case DType::I8:
    return load<int8_t>(bytes, index);
  case DType::U8:
    return load<uint8_t>(bytes, index);
  case DType::I16:
    return load<int16_t>(bytes, index);
  case DType::U16:
    return load<uint16_t>(bytes, index);
  case DType::I32:
    return load<int32_t>(bytes, index);
  case DType::U32:
    return load<uint32_t>(bytes, index);
  case DType::I64:
  case DType::U64:
    return load<int64_t>(bytes, index);
  default:
    return toInteger(getFloat(index));
  }
}

double HostTensor::getFloat(int64_t index) const {
  switch (type) {
  case DType::F32:
    return load<float>(bytes, index);
  case DType::F64:
    return load<double>(bytes, index);
  case DType::F16:
    return decodeFloat(APFloat::IEEEhalf(), load<uint16_t>(bytes, index));
  case DType::BF16:
    return decodeFloat(APFloat::BFloat(), load<uint16_t>(bytes, index));
  case DType::U64:
    return static_cast<double>(load<uint64_t>(bytes, index));
  default:
    return static_cast<double>(getInt(index));
  }
}

void HostTensor::setInt(int64_t index, int64_t value) {
  switch (type) {
  case DType::Bool:
    return store<uint8_t>(writable, index, value != 0);
  case DType::I8:
  case DType::U8:
    return store<uint8_t>(writable, index, value);
  case DType::I16:
  case DType::U16:
    return store<uint16_t>(writable, index, value);
  case DType::I32:
  case DType::U32:
    return store<uint32_t>(writable, index, value);
  case DType::I64:
  case DType::U64:
    return store<int64_t>(writable, index, value);
  default:
    return setFloat(index, static_cast<double>(value));
  }
}

void HostTensor::setFloat(int64_t index, double value) {
  switch (type) {
  case DType::F32:
    return store<float>(writable, index, static_cast<float>(value));
  case DType::F64:
    return store<double>(writable, index, value);
  case DType::F16:
    return store<uint16_t>(writable, index,
                           encodeFloat(APFloat::IEEEhalf(), value));
  case DType::BF16:
    return store<uint16_t>(writable, index,
                           encodeFloat(APFloat::BFloat(), value));
  case DType::Bool:
    return store<uint8_t>(writable, index, value != 0);
  case DType::I8:
  case DType::I16:
  case DType::I32:
    return setInt(index, toInteger(value, 8 * sizeOf(type)));
  case DType::U64:
    if (value >= 0x1p63)
      return store<uint64_t>(writable, index,
                             static_cast<uint64_t>(toInteger(value - 0x1p63)) ^
                                 (uint64_t(1) << 63));
    [[fallthrough]];
  default:
    return setInt(index, toInteger(value));
  }
}

SmallVector<int64_t> HostTensor::getInts() const {
  SmallVector<int64_t> values;
  values.reserve(count);
  for (int64_t i = 0; i < count; ++i)
    values.push_back(getInt(i));
  return values;
}

bool HostTensor::isSplat() const {
  int64_t size = sizeOf(type);
  if (size == 0)
    return false;
  for (int64_t i = 1; i < count; ++i)
    if (std::memcmp(bytes.data(), bytes.data() + i * size, size) != 0)
      return false;
  return count > 0;
}

bool HostTensor::hasSameData(const HostTensor &other) const {
  return type == other.type && shape == other.shape &&
         bytes.size() == other.bytes.size() &&
         (bytes.data() == other.bytes.data() ||
          std::memcmp(bytes.data(), other.bytes.data(), bytes.size()) == 0);
}

HostTensor HostTensor::reshaped(ArrayRef<int64_t> newShape) const {
  HostTensor result = *this;
  result.shape.assign(newShape.begin(), newShape.end());
  result.writable = nullptr;
  return result;
}

/// Calls `visit(i, position)` for element i of a tensor of shape `shape`.
template <typename Visit>
static void walkStrided(ArrayRef<int64_t> shape, int64_t offset,
                        ArrayRef<int64_t> strides, Visit visit) {
  int64_t count = countElements(shape).value_or(0), position = offset;
  SmallVector<int64_t> index(shape.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    visit(i, position);
    for (int64_t d = static_cast<int64_t>(shape.size()) - 1; d >= 0; --d) {
      position += strides[d];
      if (++index[d] < shape[d])
        break;
      position -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

HostTensor HostTensor::strided(ArrayRef<int64_t> newShape, int64_t offset,
                               ArrayRef<int64_t> strides) const {
  HostTensor result(type, newShape);
  int64_t element = sizeOf(type);
  walkStrided(newShape, offset, strides, [&](int64_t i, int64_t position) {
    std::memcpy(result.writable + i * element,
                bytes.data() + position * element, element);
  });
  return result;
}

void HostTensor::setStrided(const HostTensor &part, int64_t offset,
                            ArrayRef<int64_t> strides) {
  int64_t element = sizeOf(type);
  walkStrided(part.shape, offset, strides, [&](int64_t i, int64_t position) {
    std::memcpy(writable + position * element, part.bytes.data() + i * element,
                element);
  });
}

HostTensor HostTensor::transposed(ArrayRef<int64_t> permutation) const {
  Shape newShape;
  SmallVector<int64_t> oldStrides = stridesOf(shape), strides;
  for (int64_t dim : permutation) {
    newShape.push_back(shape[dim]);
    strides.push_back(oldStrides[dim]);
  }
  return strided(newShape, 0, strides);
}
