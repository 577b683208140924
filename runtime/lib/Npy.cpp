//===- Npy.cpp - NumPy's .npy files ---------------------------------------===//

#include "dist/Npy.h"
#include "MappedFile.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <regex>
#include <unistd.h>

using namespace dist;

static const char magic[] = "\x93NUMPY";

static const std::map<std::string, dist_dtype> &descriptions() {
  static const std::map<std::string, dist_dtype> types = {
      {"<f8", DIST_F64}, {"<f4", DIST_F32}, {"<f2", DIST_F16},
      {"<i8", DIST_I64}, {"<i4", DIST_I32}, {"<i2", DIST_I16},
      {"|i1", DIST_I8},  {"|u1", DIST_U8},  {"|b1", DIST_I1}};
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

namespace {
struct Header {
  dist_dtype dtype;
  bool fortran;
  Shape shape;
};
} // namespace

/// The header is a Python dictionary literal with three known keys.
static Header parseHeader(const std::string &path, const std::string &text) {
  std::smatch match;
  auto find = [&](const char *key, const char *pattern) {
    std::regex regex("'" + std::string(key) + "'\\s*:\\s*" + pattern);
    if (!std::regex_search(text, match, regex))
      throw Error(path + ": not an .npy file that dist reads: no plain '" +
                  key + "' in its header");
    return match[1].str();
  };
  Header header;
  std::string type = find("descr", "'([^']*)'");
  auto it = descriptions().find(type);
  if (it == descriptions().end())
    throw Error(path + ": element type '" + type +
                "'; save it as little-endian f64, f32, f16, i64, i32, i16, i8, "
                "u8 or bool");
  header.dtype = it->second;
  header.fortran = find("fortran_order", "(True|False)") == "True";
  std::string shape = find("shape", "\\(([0-9,\\sL]*)\\)");
  std::regex number("[0-9]+");
  for (std::sregex_iterator i(shape.begin(), shape.end(), number), end;
       i != end; ++i) {
    errno = 0;
    long long extent = std::strtoll(i->str().c_str(), nullptr, 10);
    if (errno)
      throw Error(path + ": impossible extent " + i->str());
    header.shape.push_back(extent);
  }
  return header;
}

Tensor dist::readNpy(const std::string &path) {
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
  Header header =
      parseHeader(path, std::string(file.data() + start, headerBytes));
  start += headerBytes;

  int64_t bytes;
  if (__builtin_mul_overflow(numElements(header.shape),
                             dtypeBytes(header.dtype), &bytes) ||
      bytes > file.bytes - start)
    throw Error(path + ": truncated: shape " + toString(header.shape) + " of " +
                dtypeName(header.dtype) + " needs more than the " +
                std::to_string(file.bytes - start) + " bytes there are");
  Tensor tensor = Tensor::zeros(header.dtype, header.shape);
  if (header.fortran)
    fromFortranOrder(header.shape, dtypeBytes(header.dtype),
                     file.data() + start, static_cast<char *>(tensor.data));
  else if (bytes)
    std::memcpy(tensor.data, file.data() + start, bytes);
  return tensor;
}

void dist::writeNpy(const std::string &path, const Tensor &tensor) {
  if (tensor.dtype == DIST_BF16) {
    Tensor wide = Tensor::zeros(DIST_F32, tensor.shape);
    convert(DIST_BF16, tensor.data, DIST_F32, wide.data, tensor.count());
    return writeNpy(path, wide);
  }
  std::string type;
  for (const auto &[name, dtype] : descriptions())
    if (dtype == tensor.dtype)
      type = name;
  std::string shape = "(";
  for (int64_t extent : tensor.shape)
    shape += std::to_string(extent) + ",";
  std::string header = "{'descr': '" + type +
                       "', 'fortran_order': False, 'shape': " + shape + "), }";
  // Data starts at a multiple of 64.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  uint16_t headerBytes = header.size();

  std::string temporary = path + "." + std::to_string(getpid()) + ".tmp";
  std::FILE *file = std::fopen(temporary.c_str(), "wb");
  if (!file)
    throw Error(temporary + ": cannot create: " + std::strerror(errno));
  size_t bytes = tensor.bytes();
  bool ok =
      std::fwrite(magic, 1, 6, file) == 6 &&
      std::fwrite("\x01\x00", 1, 2, file) == 2 &&
      std::fwrite(&headerBytes, 1, 2, file) == 2 &&
      std::fwrite(header.data(), 1, header.size(), file) == header.size() &&
      std::fwrite(tensor.data, 1, bytes, file) == bytes;
  ok = std::fclose(file) == 0 && ok;
  ok = ok && std::rename(temporary.c_str(), path.c_str()) == 0;
  if (!ok) {
    int error = errno;
    std::remove(temporary.c_str());
    throw Error(path + ": cannot write " + std::to_string(bytes) +
                " bytes: " + std::strerror(error));
  }
}
