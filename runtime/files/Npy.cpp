//===- Npy.cpp - NumPy's .npy files ---------------------------------------===//

#include "dist/Npy.h"
#include "dist/OutputFile.h"
#include "runtime/files/Booleans.h"
#include "runtime/host/MappedFile.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

using namespace dist;

static const char magic[] = "\x93NUMPY";

static const std::map<std::string, dist_dtype> &descriptions() {
  static const std::map<std::string, dist_dtype> types = {
      {"<f8", DIST_F64}, {"<f4", DIST_F32}, {"<f2", DIST_F16},
      {"<i8", DIST_I64}, {"<i4", DIST_I32}, {"<i2", DIST_I16},
      {"|i1", DIST_I8},  {"<u8", DIST_U64}, {"<u4", DIST_U32},
      {"<u2", DIST_U16}, {"|u1", DIST_U8},  {"|b1", DIST_I1}};
  return types;
}

/// out (row-major) = in (column-major).
static void fromFortranOrder(const Shape &shape, int64_t bytes, const char *in,
                             char *out) {
  int64_t count = numElements(shape);
  std::vector<int64_t> strides(shape.size()), at(shape.size(), 0);
  int64_t stride = bytes;
  for (size_t i = 0; i < shape.size(); ++i) {
    strides[i] = stride;
    stride *= shape[i];
  }
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(out + i * bytes, in, bytes);
    for (size_t d = shape.size(); d-- > 0;) {
      in += strides[d];
      if (++at[d] < shape[d])
        break;
      in -= strides[d] * shape[d];
      at[d] = 0;
    }
  }
}

//===----------------------------------------------------------------------===//
// The header
//===----------------------------------------------------------------------===//

namespace {

struct Header {
  dist_dtype dtype = DIST_F32;
  bool fortran = false;
  Shape shape;
};

/// Reads the header: a Python dictionary literal with three known keys, each
/// once. In one pass, without going back.
class HeaderParser {
public:
  HeaderParser(const std::string &path, std::string_view text)
      : path(path), rest(text) {}

  Header parse() {
    Header header;
    std::map<std::string, bool> seen;
    expect('{', "descr");
    while (!take('}')) {
      std::string key = parseText("descr");
      if (key != "descr" && key != "fortran_order" && key != "shape")
        fail("an unknown '" + key + "'");
      if (std::exchange(seen[key], true))
        fail("two '" + key + "'");
      expect(':', key);
      if (key == "descr")
        header.dtype = parseType();
      else if (key == "shape")
        header.shape = parseShape();
      else
        header.fortran = parseBool();
      if (!take(',')) {
        expect('}', key);
        break;
      }
    }
    for (const char *key : {"descr", "fortran_order", "shape"})
      if (!seen[key])
        failAt(key);
    skipSpace();
    if (!rest.empty())
      fail("more than a dictionary");
    return header;
  }

private:
  static constexpr size_t maxRank = 64; // NumPy's

  [[noreturn]] void fail(const std::string &what) const {
    throw Error(path + ": not an .npy file that dist reads: " + what +
                " in its header");
  }
  [[noreturn]] void failAt(const std::string &key) const {
    fail("no plain '" + key + "'");
  }
  void skipSpace() {
    size_t at = rest.find_first_not_of(" \t\r\n");
    rest.remove_prefix(at == std::string_view::npos ? rest.size() : at);
  }
  bool take(char c) {
    skipSpace();
    if (rest.empty() || rest[0] != c)
      return false;
    rest.remove_prefix(1);
    return true;
  }
  bool takeWord(std::string_view word) {
    skipSpace();
    if (rest.substr(0, word.size()) != word)
      return false;
    rest.remove_prefix(word.size());
    return true;
  }
  void expect(char c, const std::string &key) {
    if (!take(c))
      failAt(key);
  }

  std::string parseText(const char *key) {
    skipSpace();
    char quote = rest.empty() ? '\0' : rest[0];
    size_t end = quote == '\'' || quote == '"' ? rest.find(quote, 1)
                                               : std::string_view::npos;
    if (end == std::string_view::npos)
      failAt(key);
    std::string text(rest.substr(1, end - 1));
    rest.remove_prefix(end + 1);
    return text;
  }
  dist_dtype parseType() {
    std::string type = parseText("descr");
    // NumPy's own types lack bf16. That of ml_dtypes is saved as two bytes
    // without a meaning.
    if (type == "<V2" || type == "|V2")
      return DIST_BF16;
    auto it = descriptions().find(type);
    if (it == descriptions().end())
      throw Error(path + ": element type '" + type +
                  "'; save it as little-endian f64, f32, f16, bf16 (of "
                  "ml_dtypes), i64, i32, i16, i8, u8 or bool");
    return it->second;
  }
  bool parseBool() {
    if (takeWord("True"))
      return true;
    if (!takeWord("False"))
      failAt("fortran_order");
    return false;
  }
  int64_t parseExtent() {
    skipSpace();
    size_t digits = rest.find_first_not_of("0123456789");
    digits = std::min(digits, rest.size());
    if (digits == 0)
      failAt("shape");
    int64_t extent = 0;
    for (char c : rest.substr(0, digits))
      if (__builtin_mul_overflow(extent, 10, &extent) ||
          __builtin_add_overflow(extent, c - '0', &extent))
        throw Error(path + ": impossible extent " +
                    std::string(rest.substr(0, std::min<size_t>(digits, 40))));
    rest.remove_prefix(digits);
    takeWord("L"); // Python 2's
    return extent;
  }
  Shape parseShape() {
    Shape shape;
    expect('(', "shape");
    while (!take(')')) {
      shape.push_back(parseExtent());
      if (shape.size() > maxRank)
        fail("more than " + std::to_string(maxRank) + " dimensions");
      if (take(','))
        continue;
      // (3) is a number.
      if (shape.size() == 1)
        failAt("shape");
      expect(')', "shape");
      break;
    }
    return shape;
  }

  const std::string &path;
  std::string_view rest;
};

} // namespace

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static Tensor read(const std::string &path, bool maps) {
  MappedFile file = mapFile(path);
  if (file.bytes < 10 || std::memcmp(file.data(), magic, 6) != 0)
    throw Error(path + ": not an .npy file");
  int version = file.data()[6];
  if (version < 1 || version > 3)
    throw Error(path + ": .npy version " + std::to_string(version) +
                "; known are 1 to 3");
  int64_t start = version == 1 ? 10 : 12, headerBytes = 0;
  if (file.bytes >= start)
    std::memcpy(&headerBytes, file.data() + 8, version == 1 ? 2 : 4);
  if (file.bytes < start || headerBytes > file.bytes - start)
    throw Error(path + ": truncated in its header");
  constexpr int64_t maxHeaderBytes = 1 << 20;
  if (headerBytes > maxHeaderBytes)
    throw Error(path + ": a header of " + std::to_string(headerBytes) +
                " bytes; at most " + std::to_string(maxHeaderBytes) +
                " are read");
  Header header =
      HeaderParser(path, file.text().substr(start, headerBytes)).parse();
  start += headerBytes;

  int64_t bytes;
  if (__builtin_mul_overflow(elementsIn(path, header.shape),
                             dtypeBytes(header.dtype), &bytes) ||
      bytes > file.bytes - start)
    throw Error(path + ": truncated: shape " + toString(header.shape) + " of " +
                dtypeName(header.dtype) + " needs more than the " +
                std::to_string(file.bytes - start) + " bytes there are");
  constexpr int64_t kLeastMapped = 1 << 20;
  if (maps && bytes >= kLeastMapped && !header.fortran) {
    Tensor tensor{header.dtype, header.shape,
                  static_cast<char *>(file.memory.get()) + start, file.memory,
                  std::make_shared<const MappedFile>(file)};
    checkBooleans(path + ": ", tensor);
    return tensor;
  }
  Tensor tensor = Tensor::zeros(header.dtype, header.shape);
  if (header.fortran)
    fromFortranOrder(header.shape, dtypeBytes(header.dtype),
                     file.data() + start, static_cast<char *>(tensor.data));
  else if (bytes)
    std::memcpy(tensor.data, file.data() + start, bytes);
  file.checkUnchanged();
  checkBooleans(path + ": ", tensor);
  return tensor;
}

Tensor dist::readNpy(const std::string &path) { return read(path, false); }
Tensor dist::mapNpy(const std::string &path) { return read(path, true); }

/// The element type that a file has in place of `dtype`.
static dist_dtype writtenType(dist_dtype dtype) {
  return dtype == DIST_BF16 ? DIST_F32 : dtype;
}

NpyWriter::NpyWriter(OutputFile &file, const Tensor &tensor)
    : file(file), dtype(tensor.dtype) {
  std::string type;
  for (const auto &[name, known] : descriptions())
    if (known == writtenType(dtype))
      type = name;
  std::string shape = "(";
  for (int64_t extent : tensor.shape)
    shape += std::to_string(extent) + ",";
  header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " +
           shape + "), }";
  // Data starts at a multiple of 64.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';

  int64_t bytes;
  if (__builtin_mul_overflow(tensor.count(), dtypeBytes(writtenType(dtype)),
                             &bytes))
    throw Error("a result of more bytes than can be counted");
  file.makeRoom(10 + header.size() + bytes);
}

void NpyWriter::begin() {
  uint16_t headerBytes = header.size();
  file.write(magic, 6);
  file.write("\x01\x00", 2);
  file.write(&headerBytes, 2);
  file.write(header.data(), header.size());
}

void NpyWriter::write(const void *data, int64_t count) {
  dist_dtype written = writtenType(dtype);
  std::vector<char> wide;
  if (written != dtype) {
    wide.resize(count * dtypeBytes(written));
    convert(dtype, data, written, wide.data(), count);
    data = wide.data();
  }
  file.write(data, count * dtypeBytes(written));
}

void dist::writeNpy(const std::string &path, const Tensor &tensor) {
  OutputFile file(path);
  NpyWriter writer(file, tensor);
  writer.begin();
  writer.write(tensor.data, tensor.count());
  file.commit();
}
