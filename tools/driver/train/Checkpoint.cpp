//===- Checkpoint.cpp - Parameters and state on disk ----------------------===//

#include "tools/driver/train/Checkpoint.h"
#include "dist/OutputFile.h"
#include "dist/Safetensors.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

using namespace mlir::dist;
namespace host = ::dist;
namespace fs = std::filesystem;

static constexpr char kPosition[] = "training.json";

namespace {
/// A tensor of the checkpoint: whole, of one argument or of several parts.
struct Entry {
  host::SafetensorsEntry what;
  std::vector<size_t> arguments;
};
} // namespace

[[noreturn]] static void fail(const std::string &path) {
  throw host::Error(path + ": " + std::strerror(errno));
}

/// Makes sure that it is on the disk.
static void sync(const std::string &path) {
  int file = open(path.c_str(), O_RDONLY);
  if (file < 0 || fsync(file) != 0)
    fail(path);
  close(file);
}

static void writeText(const std::string &path, const std::string &text) {
  host::OutputFile file(path);
  file.write(text.data(), text.size());
  file.commit();
  sync(path);
}

static void writeJson(const std::string &path, llvm::json::Object object) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << llvm::formatv("{0:2}", llvm::json::Value(std::move(object)))
         << "\n";
  writeText(path, text);
}

/// Entries in the order of their arguments, without doubles.
static std::vector<Entry> findEntries(const host::Manifest &manifest,
                                      const std::set<std::string> &states,
                                      bool ofStates) {
  std::vector<Entry> entries;
  std::map<std::string, size_t> known;
  for (size_t i = 0; i < manifest.arguments.size(); ++i) {
    const host::TensorDesc &desc = manifest.arguments[i];
    if (desc.kind != host::TensorDesc::Parameter ||
        (states.count(desc.name) != 0) != ofStates)
      continue;
    auto [place, isNew] = known.try_emplace(desc.name, entries.size());
    if (isNew)
      entries.push_back({{desc.name, desc.dtype, desc.sourceShape()}, {}});
    entries[place->second].arguments.push_back(i);
  }
  return entries;
}

static int64_t bytesOf(const Entry &entry) {
  return host::numElements(entry.what.shape) *
         host::dtypeBytes(entry.what.dtype);
}

/// One tensor after the other, so that the host holds one at a time.
static void writeShard(const std::string &path,
                       const std::vector<const Entry *> &entries,
                       const host::Holdings &held) {
  std::vector<host::SafetensorsEntry> header;
  for (const Entry *entry : entries)
    header.push_back(entry->what);
  std::string text = host::makeSafetensorsHeader(header);
  host::OutputFile file(path);
  file.write(text.data(), text.size());
  for (const Entry *entry : entries) {
    host::Tensor whole =
        host::Tensor::zeros(entry->what.dtype, entry->what.shape);
    for (size_t argument : entry->arguments)
      held.copyArgument(argument, whole);
    file.write(whole.data, whole.bytes());
  }
  file.commit();
  sync(path);
}

/// As transformers names and describes shards.
static void writeShards(const std::string &folder,
                        const std::vector<Entry> &entries,
                        const host::Holdings &held, int64_t shardBytes) {
  std::vector<std::vector<const Entry *>> shards;
  int64_t room = 0, total = 0;
  for (const Entry &entry : entries) {
    int64_t bytes = bytesOf(entry);
    total += bytes;
    if (shards.empty() || bytes > room) {
      shards.emplace_back();
      room = shardBytes;
    }
    shards.back().push_back(&entry);
    room -= bytes;
  }
  llvm::json::Object places;
  for (size_t i = 0; i < shards.size(); ++i) {
    char name[64];
    std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", i + 1,
                  shards.size());
    writeShard(folder + "/" + name, shards[i], held);
    for (const Entry *entry : shards[i])
      places[entry->what.name] = std::string(name);
  }
  writeJson(folder + "/model.safetensors.index.json",
            llvm::json::Object{
                {"metadata", llvm::json::Object{{"total_size", total}}},
                {"weight_map", std::move(places)}});
}

std::string mlir::dist::saveCheckpoint(const std::string &folder,
                                       const Position &position,
                                       const host::Manifest &manifest,
                                       const std::set<std::string> &states,
                                       const host::Holdings &held,
                                       int64_t shardBytes) {
  std::string path = folder + "/step-" + std::to_string(position.step);
  fs::create_directories(folder);
  host::TemporaryPath made(host::TemporaryPath::beside(path));
  fs::create_directory(made.path());
  writeShards(made.path(), findEntries(manifest, states, false), held,
              shardBytes);
  std::vector<Entry> kept = findEntries(manifest, states, true);
  if (!kept.empty()) {
    std::string below = made.path() + "/optimizer";
    fs::create_directory(below);
    writeShards(below, kept, held, shardBytes);
    sync(below);
  }
  writeJson(made.path() + "/" + kPosition,
            llvm::json::Object{{"step", position.step},
                               {"seed", static_cast<int64_t>(position.seed)},
                               {"optimizer", position.optimizer}});
  sync(made.path());
  // An earlier one of that name changes places with it, and goes.
  unsigned flags = fs::exists(path) ? RENAME_EXCHANGE : 0;
  host::withoutSignals([&] {
    if (renameat2(AT_FDCWD, made.path().c_str(), AT_FDCWD, path.c_str(),
                  flags) != 0)
      fail(path);
  });
  sync(folder);
  return path;
}

static llvm::json::Object readJson(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    throw host::Error(path + ": " + buffer.getError().message());
  host::noteInput(path);
  llvm::Expected<llvm::json::Value> value =
      llvm::json::parse((*buffer)->getBuffer());
  if (!value)
    throw host::Error(path + ": " + llvm::toString(value.takeError()));
  if (llvm::json::Object *object = value->getAsObject())
    return std::move(*object);
  throw host::Error(path + ": is no JSON object");
}

static void loadShards(const std::string &folder, host::Inputs &tensors) {
  std::string path = folder + "/model.safetensors.index.json";
  llvm::json::Object index = readJson(path);
  const llvm::json::Object *places = index.getObject("weight_map");
  if (!places)
    throw host::Error(path + ": has no weight_map");
  std::map<std::string, host::Safetensors> files;
  for (const auto &[key, value] : *places) {
    std::string name = key.str();
    auto file = value.getAsString();
    if (!file || file->contains('/'))
      throw host::Error(path + ": '" + name + "' is in no file beside it");
    std::string shard = folder + "/" + file->str();
    auto found = files.find(shard);
    if (found == files.end()) {
      host::noteInput(shard);
      found =
          files
              .emplace(std::piecewise_construct, std::forward_as_tuple(shard),
                       std::forward_as_tuple(shard))
              .first;
    }
    const host::Tensor *tensor = found->second.find(name);
    if (!tensor)
      throw host::Error(path + ": '" + name + "' is not in " + shard);
    tensors[name] = *tensor;
  }
}

/// The folder itself, or its step of the largest number.
static std::string findCheckpoint(const std::string &folder) {
  if (fs::exists(folder + "/" + kPosition))
    return folder;
  std::string best;
  int64_t most = -1;
  std::error_code error;
  for (const fs::directory_entry &entry :
       fs::directory_iterator(folder, error)) {
    llvm::StringRef name = entry.path().filename().native();
    int64_t step;
    if (name.consume_front("step-") && !name.getAsInteger(10, step) &&
        step > most && fs::exists(entry.path() / kPosition)) {
      most = step;
      best = entry.path();
    }
  }
  if (best.empty())
    throw host::Error("--resume " + folder +
                      ": no checkpoint, nor a folder with one (step-N with " +
                      kPosition + ")");
  return best;
}

Position mlir::dist::loadCheckpoint(const std::string &folder,
                                    host::Inputs &tensors) {
  std::string path = findCheckpoint(folder);
  llvm::json::Object object = readJson(path + "/" + kPosition);
  auto step = object.getInteger("step"), seed = object.getInteger("seed");
  if (!step || *step < 0 || !seed)
    throw host::Error(path + "/" + kPosition + ": says no step or no seed");
  loadShards(path, tensors);
  if (fs::exists(path + "/optimizer"))
    loadShards(path + "/optimizer", tensors);
  return {*step, static_cast<uint64_t>(*seed),
          object.getString("optimizer").value_or("").str()};
}
