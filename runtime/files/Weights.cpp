//===- Weights.cpp - Parameters by name, in one file or several -----------===//

#include "dist/Weights.h"
#include "runtime/files/Entries.h"
#include "runtime/host/Json.h"
#include "runtime/host/MappedFile.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace dist;
namespace fs = std::filesystem;
using Json = nlohmann::json;

//===----------------------------------------------------------------------===//
// Samples
//===----------------------------------------------------------------------===//

/// Tells a file from others at the cost of a few pages: the size and 64 blocks
/// of 4 KiB, evenly spaced, the first and the last among them; as 16 hex
/// digits. A file of other parameters differs in nearly all of them.
static std::string sampleOf(const MappedFile &file) {
  constexpr int64_t kBlocks = 64, kBlock = 4096;
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, &file.bytes, sizeof file.bytes);
  if (file.bytes <= kBlocks * kBlock) {
    XXH3_64bits_update(&state, file.data(), file.bytes);
  } else {
    // In two steps, as the product may be too large.
    int64_t room = file.bytes - kBlock, step = room / (kBlocks - 1),
            rest = room % (kBlocks - 1);
    for (int64_t i = 0; i < kBlocks; ++i)
      XXH3_64bits_update(
          &state, file.data() + i * step + i * rest / (kBlocks - 1), kBlock);
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx",
                static_cast<unsigned long long>(XXH3_64bits_digest(&state)));
  return text;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// JSON, and not the eight bytes of a length that a header can have.
static bool isIndex(const MappedFile &file) {
  std::string_view text = file.text();
  // Behind a mark of the order of bytes, if there is one.
  size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  uint64_t headerBytes = UINT64_MAX;
  if (file.bytes >= 8)
    std::memcpy(&headerBytes, file.data(), 8);
  return first != text.npos && (text[first] == '{' || text[first] == '[') &&
         headerBytes > uint64_t(kMostHeaderBytes);
}

namespace {

/// The files that an index names, opened once each.
class IndexReader {
public:
  IndexReader(const std::string &path, const Json &index)
      : folder(fs::path(path).parent_path()), index(index) {}

  Tensor read(const std::string &name, const Json &entry) {
    if (entry.is_string())
      return readWhole(name, entry.get<std::string>());
    if (!entry.is_object())
      throw Error("the name of a file, or an object with file, dtype, shape "
                  "and offset is expected");
    for (const auto &[key, value] : entry.items())
      if (key != "file" && key != "dtype" && key != "shape" && key != "offset")
        throw Error("'" + key + "' is not known; known are file, dtype, shape "
                                "and offset");
    return tensorInFile(open(entry.at("file").get<std::string>()),
                        dtypeOfEntry(entry.at("dtype").get<std::string>()),
                        integersOf(entry.at("shape")),
                        integerOf(entry.at("offset")));
  }

private:
  /// A tensor of a safetensors file, which lies below the index: one that was
  /// downloaded can name no others.
  Tensor readWhole(const std::string &name, const std::string &file) {
    fs::path path(file);
    if (path.empty() || path.is_absolute() ||
        std::find(path.begin(), path.end(), "..") != path.end())
      throw Error("'" + file + "' is no file below the folder of the index");
    auto known = shards.find(file);
    if (known == shards.end())
      known = shards.try_emplace(file, (folder / path).string()).first;
    const Tensor *tensor = known->second.find(name);
    if (!tensor)
      throw Error(known->second.path() + " has no tensor of this name");
    return *tensor;
  }

  /// A file of anything, if it is the one that the index was made of.
  const std::shared_ptr<const MappedFile> &open(const std::string &file) {
    std::shared_ptr<const MappedFile> &known = opened[file];
    if (known)
      return known;
    auto files = index.find("files");
    if (files == index.end() || !files->is_object() || !files->contains(file))
      throw Error("\"files\" has no sample of '" + file + "'");
    std::string wanted = files->at(file).at("sample").get<std::string>();
    auto mapped = std::make_shared<const MappedFile>(
        mapFile((folder / fs::path(file)).string()));
    if (sampleOf(*mapped) != wanted)
      throw Error(mapped->path + " is not the file that this index was made "
                                 "of: it was written anew since, or is another "
                                 "one; import the model again");
    return known = std::move(mapped);
  }

  fs::path folder;
  const Json &index;
  std::map<std::string, Safetensors> shards;
  std::map<std::string, std::shared_ptr<const MappedFile>> opened;
};

} // namespace

static constexpr char kIndex[] = "model.safetensors.index.json";

/// In a folder, as Hugging Face and checkpoints name it: the index, or the only
/// file.
static std::string findFile(const std::string &path) {
  std::error_code error;
  if (!fs::is_directory(path, error))
    return path;
  // Also a link that leads nowhere, which is told then.
  for (const char *name : {kIndex, "model.safetensors"})
    if (std::string file = fs::path(path) / name;
        fs::exists(fs::symlink_status(file, error)))
      return file;
  throw Error(path + ": has neither model.safetensors.index.json nor "
                     "model.safetensors; name a file in it");
}

/// The tensors of a safetensors file, or of an index.
static std::map<std::string, Tensor> readTensors(const std::string &path) {
  MappedFile file = mapFile(path);
  if (!isIndex(file))
    return Safetensors(path).tensors();
  auto fail = [&](const std::string &what) {
    throw Error(path + ": not an index of weights: " + what);
  };
  if (file.bytes > kMostHeaderBytes)
    fail("it has " + std::to_string(file.bytes) + " bytes; at most " +
         std::to_string(kMostHeaderBytes) + " are allowed");
  Json index;
  try {
    index = parseJson<Json>(file.text());
  } catch (const Error &error) {
    fail(error.what());
  }
  if (!index.is_object() || !index.contains("weight_map") ||
      !index["weight_map"].is_object())
    fail("it has no \"weight_map\", an object of names and files");
  IndexReader reader(path, index);
  std::map<std::string, Tensor> byName;
  for (const auto &[name, entry] : index["weight_map"].items()) {
    try {
      byName[name] = reader.read(name, entry);
    } catch (const Json::exception &error) {
      throw Error(path + ": tensor '" + name + "': " + error.what());
    } catch (const Error &error) {
      throw Error(path + ": tensor '" + name + "': " + error.what());
    }
  }
  file.checkUnchanged();
  return byName;
}

Weights::Weights(const std::string &where)
    : given(findFile(where)), byName(readTensors(given)) {
  // Of a checkpoint: what a step takes beside the model's own.
  std::error_code error;
  if (fs::path states = fs::path(where) / "optimizer" / kIndex;
      fs::exists(states, error))
    byName.merge(readTensors(states.string()));
}

const Tensor *Weights::find(const std::string &name) const {
  auto it = byName.find(name);
  return it == byName.end() ? nullptr : &it->second;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

std::string dist::makeWeightsIndex(const std::string &folder,
                                   const std::vector<WeightsEntry> &entries) {
  Json files = Json::object(), map = Json::object();
  for (const WeightsEntry &entry : entries) {
    const SafetensorsEntry &tensor = entry.tensor;
    if (!entry.offset) {
      map[tensor.name] = entry.file;
      continue;
    }
    if (!files.contains(entry.file))
      files[entry.file]["sample"] =
          sampleOf(mapFile((fs::path(folder) / entry.file).string()));
    map[tensor.name] = {{"file", entry.file},
                        {"dtype", nameOfEntry(tensor.dtype)},
                        {"shape", tensor.shape},
                        {"offset", *entry.offset}};
  }
  Json index = {{"metadata", Json::object()}, {"weight_map", std::move(map)}};
  if (!files.empty())
    index["files"] = std::move(files);
  try {
    return index.dump(/*indent=*/1) + "\n";
  } catch (const Json::exception &error) {
    throw Error("the names of files of weights: " + std::string(error.what()));
  }
}
