//===- Safetensors.cpp - Parameters in a mapped file ----------------------===//

#include "dist/Safetensors.h"
#include "dist/OutputFile.h"
#include "runtime/files/Booleans.h"
#include "runtime/files/Entries.h"
#include "runtime/host/Json.h"
#include "runtime/host/MappedFile.h"

#include <algorithm>
#include <cstring>

using namespace dist;

/// The format's name of each dist_dtype.
static const std::map<std::string, dist_dtype> &getDtypes() {
  static const std::map<std::string, dist_dtype> dtypes = {
      {"F64", DIST_F64},   {"F32", DIST_F32}, {"F16", DIST_F16},
      {"BF16", DIST_BF16}, {"I64", DIST_I64}, {"I32", DIST_I32},
      {"I16", DIST_I16},   {"I8", DIST_I8},   {"U64", DIST_U64},
      {"U32", DIST_U32},   {"U16", DIST_U16}, {"U8", DIST_U8},
      {"BOOL", DIST_I1}};
  return dtypes;
}

dist_dtype dist::dtypeOfEntry(const std::string &name) {
  auto it = getDtypes().find(name);
  if (it == getDtypes().end())
    throw Error("element type " + name +
                "; known are F64 F32 F16 BF16 I64 I32 I16 I8 U64 U32 U16 U8 "
                "BOOL");
  return it->second;
}

std::string dist::nameOfEntry(dist_dtype dtype) {
  for (const auto &[name, one] : getDtypes())
    if (one == dtype)
      return name;
  throw Error(std::string("element type ") + dtypeName(dtype) +
              " has no name in safetensors files");
}

Tensor dist::tensorInFile(const std::shared_ptr<const MappedFile> &file,
                          dist_dtype dtype, const Shape &shape,
                          int64_t offset) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape = shape;
  int64_t bytes, end;
  if (__builtin_mul_overflow(tensor.count(), dtypeBytes(dtype), &bytes) ||
      __builtin_add_overflow(offset, bytes, &end) || offset < 0 ||
      end > file->bytes)
    throw Error(std::string(dtypeName(dtype)) + " of shape " + toString(shape) +
                " at byte " + std::to_string(offset) + " does not fit " +
                file->path + ", which has " + std::to_string(file->bytes) +
                " bytes");
  tensor.data = static_cast<char *>(file->memory.get()) + offset;
  tensor.owner = file->memory;
  tensor.file = file;
  checkBooleans("", tensor);
  return tensor;
}

/// One entry of the header; `data` is what follows the header.
static Tensor readEntry(const nlohmann::json &entry,
                        const std::shared_ptr<const MappedFile> &file,
                        int64_t dataStart) {
  dist_dtype dtype = dtypeOfEntry(entry.at("dtype").get<std::string>());
  Shape shape = integersOf(entry.at("shape"));
  auto offsets = integersOf(entry.at("data_offsets"));
  int64_t available = file->bytes - dataStart;
  if (offsets.size() != 2 || offsets[0] < 0 || offsets[0] > offsets[1])
    throw Error("data_offsets are no range");
  if (offsets[1] > available)
    throw Error("data ends at byte " + std::to_string(offsets[1]) +
                ", but the file holds " + std::to_string(available) +
                " bytes of data: it is truncated");
  int64_t given = offsets[1] - offsets[0], bytes;
  if (__builtin_mul_overflow(Tensor{dtype, shape}.count(), dtypeBytes(dtype),
                             &bytes) ||
      bytes != given)
    throw Error(std::string(dtypeName(dtype)) + " of shape " + toString(shape) +
                " does not take the " + std::to_string(given) +
                " bytes it has");
  return tensorInFile(file, dtype, shape, dataStart + offsets[0]);
}

/// No byte belongs to two tensors. Throws Error.
static void checkApart(const std::string &path,
                       const std::map<std::string, Tensor> &tensors) {
  std::vector<std::pair<const std::string *, const Tensor *>> byPlace;
  for (const auto &[name, tensor] : tensors)
    if (tensor.bytes() > 0)
      byPlace.emplace_back(&name, &tensor);
  std::sort(byPlace.begin(), byPlace.end(), [](const auto &a, const auto &b) {
    return a.second->data < b.second->data;
  });
  for (size_t i = 1; i < byPlace.size(); ++i) {
    const auto &[name, tensor] = byPlace[i - 1];
    if (static_cast<const char *>(tensor->data) + tensor->bytes() >
        byPlace[i].second->data)
      throw Error(path + ": not a safetensors file: tensors '" + *name +
                  "' and '" + *byPlace[i].first +
                  "' have bytes in common; write it again");
  }
}

Safetensors::~Safetensors() = default;

Safetensors::Safetensors(const std::string &path)
    : mapping(std::make_shared<const MappedFile>(mapFile(path))) {
  const MappedFile &mapped = *mapping;
  auto fail = [&](const std::string &what) {
    throw Error(path + ": not a safetensors file: " + what);
  };
  uint64_t headerBytes = 0;
  if (mapped.bytes < 8)
    fail("it has only " + std::to_string(mapped.bytes) + " bytes");
  std::memcpy(&headerBytes, mapped.data(), 8);
  if (headerBytes > static_cast<uint64_t>(mapped.bytes) - 8)
    fail("a header of " + std::to_string(headerBytes) + " bytes in a file of " +
         std::to_string(mapped.bytes));
  if (headerBytes > kMostHeaderBytes)
    fail("a header of " + std::to_string(headerBytes) + " bytes; at most " +
         std::to_string(kMostHeaderBytes) + " are allowed");
  nlohmann::json header;
  try {
    header = parseJson<nlohmann::json>(mapped.text().substr(8, headerBytes));
  } catch (const Error &error) {
    fail(std::string("its header: ") + error.what());
  }
  if (!header.is_object())
    fail("the header is not a JSON object");
  for (const auto &[name, entry] : header.items()) {
    if (name == "__metadata__")
      continue;
    try {
      byName[name] = readEntry(entry, mapping, 8 + headerBytes);
    } catch (const nlohmann::json::exception &e) {
      throw Error(path + ": tensor '" + name + "': " + e.what());
    } catch (const Error &e) {
      throw Error(path + ": tensor '" + name + "': " + e.what());
    }
  }
  checkApart(path, byName);
}

const std::string &Safetensors::path() const { return mapping->path; }

void Safetensors::checkUnchanged() const { mapping->checkUnchanged(); }

std::string_view Safetensors::text() const { return mapping->text(); }

const Tensor *Safetensors::find(const std::string &name) const {
  auto it = byName.find(name);
  return it == byName.end() ? nullptr : &it->second;
}

std::string
dist::makeSafetensorsHeader(const std::vector<SafetensorsEntry> &entries) {
  // PyTorch's readers ask for the format. (One entry after the other: a JSON
  // object that keeps its order looks through all for each.)
  std::string text = R"({"__metadata__":{"format":"pt"})";
  int64_t offset = 0;
  for (const SafetensorsEntry &entry : entries) {
    int64_t bytes = numElements(entry.shape) * dtypeBytes(entry.dtype);
    nlohmann::json value = {{"dtype", nameOfEntry(entry.dtype)},
                            {"shape", entry.shape},
                            {"data_offsets", {offset, offset + bytes}}};
    text += "," + nlohmann::json(entry.name).dump() + ":" + value.dump();
    offset += bytes;
  }
  text += "}";
  // The data starts aligned.
  text.append((8 - text.size() % 8) % 8, ' ');
  uint64_t bytes = text.size();
  return std::string(reinterpret_cast<const char *>(&bytes), 8) + text;
}

void dist::writeSafetensors(
    const std::string &path,
    const std::vector<std::pair<std::string, Tensor>> &tensors) {
  std::vector<SafetensorsEntry> entries;
  for (const auto &[name, tensor] : tensors)
    entries.push_back({name, tensor.dtype, tensor.shape});
  std::string header = makeSafetensorsHeader(entries);
  OutputFile file(path);
  file.write(header.data(), header.size());
  for (const auto &[name, tensor] : tensors)
    file.write(tensor.data, tensor.bytes());
  file.commit();
}
