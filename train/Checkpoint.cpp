//===- Checkpoint.cpp - Parameters and state on disk ----------------------===//

#include "train/Checkpoint.h"
#include "dist/OutputFile.h"
#include "dist/Weights.h"
#include "runtime/host/Json.h"
#include "runtime/host/MappedFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

using namespace mlir::dist;
namespace host = ::dist;
namespace fs = std::filesystem;

/// With names in their order.
using Json = nlohmann::json;

static constexpr char kPosition[] = "training.json";
static constexpr char kIndex[] = "model.safetensors.index.json";
static constexpr char kStates[] = "optimizer";

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

static void writeJson(const std::string &path, const Json &object) {
  writeText(path, object.dump(/*indent=*/2) + "\n");
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

/// Distinguishes a saved checkpoint from a damaged one, or one of another step.
static std::string checksumOf(const host::Tensor &tensor) {
  host::Checksum sum = host::checksumOf(
      {static_cast<const char *>(tensor.data), size_t(tensor.bytes())});
  return llvm::utohexstr(sum.xxh3, /*LowerCase=*/true);
}

/// One tensor after the other, so that the host holds one at a time. Their
/// checksums are added to `sums`, by name.
static void writeShard(const std::string &path,
                       const std::vector<const Entry *> &entries,
                       const host::Holdings &held, Json &sums) {
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
    sums[entry->what.name] = checksumOf(whole);
  }
  file.commit();
  sync(path);
}

/// As transformers names and describes shards.
static void writeShards(const std::string &folder,
                        const std::vector<Entry> &entries,
                        const host::Holdings &held, int64_t shardBytes,
                        Json &sums) {
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
  auto places = Json::object();
  for (size_t i = 0; i < shards.size(); ++i) {
    char name[64];
    std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", i + 1,
                  shards.size());
    writeShard(folder + "/" + name, shards[i], held, sums);
    for (const Entry *entry : shards[i])
      places[entry->what.name] = std::string(name);
  }
  writeJson(folder + "/" + kIndex, {{"metadata", {{"total_size", total}}},
                                    {"weight_map", std::move(places)}});
}

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

/// Whether a checkpoint has a file of this name, or a folder of states.
static bool isPart(llvm::StringRef name, bool isFolder, bool isInner) {
  if (isFolder)
    return name == kStates && !isInner;
  return name == kIndex || (name == kPosition && !isInner) ||
         (name.starts_with("model-") && name.ends_with(".safetensors"));
}

/// Throws Error where `path`, which a checkpoint is to replace, holds anything
/// that is no part of one.
static void checkHoldsParts(const fs::path &path, bool isInner) {
  for (const fs::directory_entry &entry : fs::directory_iterator(path)) {
    std::string name = entry.path().filename();
    bool isFolder = entry.symlink_status().type() == fs::file_type::directory;
    if (!isPart(name, isFolder, isInner))
      throw host::Error(path.string() + ": exists and holds '" + name +
                        "', which is no part of a checkpoint; remove it or "
                        "choose another --save");
    if (isFolder)
      checkHoldsParts(entry.path(), true);
  }
}

/// Throws Error where `path` is there and is no checkpoint.
static void checkReplaceable(const fs::path &path) {
  if (!fs::exists(path))
    return;
  if (!fs::is_directory(path) || !fs::exists(path / kPosition))
    throw host::Error(path.string() +
                      ": exists and is no checkpoint; remove it or choose "
                      "another --save");
  checkHoldsParts(path, false);
  host::checkHoldsNoInput(path);
}

static std::string nameStep(const std::string &folder, int64_t step) {
  return folder + "/step-" + std::to_string(step);
}

/// What runs that were killed while they saved have left there, on this
/// machine.
static void removeLeftOvers(const std::string &folder) {
  std::error_code error;
  std::vector<fs::path> found;
  // Other machines that save there have processes of their own.
  std::string machine = host::machineName();
  for (const fs::directory_entry &entry :
       fs::directory_iterator(folder, error)) {
    std::string file = entry.path().filename().native();
    auto [name, rest] = llvm::StringRef(file).split(".tmp-");
    auto [number, made] = rest.split('-');
    int64_t step, process;
    if (name.consume_front("step-") && !name.getAsInteger(10, step) &&
        !number.getAsInteger(10, process) && process > 0 &&
        made.split('-').second == machine && kill(process, 0) != 0 &&
        errno == ESRCH)
      found.push_back(entry.path());
  }
  for (const fs::path &path : found)
    fs::remove_all(path, error);
}

CheckpointFolder::CheckpointFolder(std::string given)
    : folder(std::move(given)) {
  std::error_code error;
  for (fs::path path = folder;
       !path.empty() && !fs::exists(fs::symlink_status(path, error));
       path = path.parent_path())
    made.push_back(path);
  try {
    fs::create_directories(folder);
    host::TemporaryPath probe(host::TemporaryPath::beside(folder + "/step"));
    fs::create_directory(probe.path());
    removeLeftOvers(folder);
  } catch (const fs::filesystem_error &problem) {
    removeMade();
    throw host::Error("--save " + folder +
                      ": cannot be written: " + problem.code().message());
  }
}

CheckpointFolder::~CheckpointFolder() { removeMade(); }

void CheckpointFolder::removeMade() {
  std::error_code error;
  for (const fs::path &path : made)
    fs::remove(path, error); // not if something is in it
}

void CheckpointFolder::checkStep(int64_t step) const {
  std::string path = nameStep(folder, step);
  host::OutputFolder whole(path);
  checkReplaceable(whole.target());
}

std::string CheckpointFolder::save(const Position &position,
                                   const host::Manifest &manifest,
                                   const std::set<std::string> &states,
                                   const host::Holdings &held,
                                   int64_t shardBytes) const {
  std::string path = nameStep(folder, position.step);
  host::OutputFolder whole(path);
  const std::string &target = whole.target();
  host::TemporaryPath made(host::TemporaryPath::beside(target));
  fs::create_directory(made.path());
  auto sums = Json::object();
  writeShards(made.path(), findEntries(manifest, states, false), held,
              shardBytes, sums);
  std::vector<Entry> kept = findEntries(manifest, states, true);
  if (!kept.empty()) {
    std::string below = made.path() + "/" + kStates;
    fs::create_directory(below);
    writeShards(below, kept, held, shardBytes, sums);
    sync(below);
  }
  writeJson(made.path() + "/" + kPosition,
            {{"step", position.step},
             {"seed", static_cast<int64_t>(position.seed)},
             {"optimizer", position.optimizer},
             {"accumulate", position.accumulate},
             {"in_order", position.inOrder},
             {"checksums", std::move(sums)}});
  sync(made.path());
  checkReplaceable(target);
  // An earlier one of that name changes places with it, and goes.
  unsigned flags = fs::exists(target) ? RENAME_EXCHANGE : 0;
  host::withoutSignals([&] {
    if (renameat2(AT_FDCWD, made.path().c_str(), AT_FDCWD, target.c_str(),
                  flags) != 0)
      fail(path);
  });
  sync(fs::path(target).parent_path());
  return path;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// The result of `take` for the JSON file `path`. Throws Error, which names it.
template <class Take> static void readJson(const std::string &path, Take take) {
  constexpr int64_t kMostBytes = int64_t(1) << 30;
  host::MappedFile file = host::mapFile(path, kMostBytes);
  try {
    take(host::parseJson<Json>(file.text()));
  } catch (const Json::exception &error) {
    throw host::Error(path + ": " + error.what());
  } catch (const host::Error &error) {
    throw host::Error(path + ": " + error.what());
  }
  file.checkUnchanged();
}

static void loadShards(const std::string &folder, host::Inputs &tensors) {
  host::Weights weights(folder + "/" + kIndex);
  for (const auto &[name, tensor] : weights.tensors())
    if (!tensors.try_emplace(name, tensor).second)
      throw host::Error(folder + ": '" + name +
                        "' is a parameter and a state");
}

std::string Position::findConflict(const Position &asked) const {
  if (asked.seed != seed)
    return "--seed " + std::to_string(asked.seed) + ": it was trained with " +
           std::to_string(seed) + ", and goes on so";
  if (asked.accumulate != accumulate)
    return "--accumulate " + std::to_string(asked.accumulate) +
           ": it was trained with " + std::to_string(accumulate) +
           ", and goes on so; say it again";
  if (asked.inOrder != inOrder)
    return inOrder ? "--in-order: it was trained with it; say it again"
                   : "--in-order: it was trained without it, and goes on so";
  return "";
}

std::vector<int64_t> mlir::dist::findSteps(const std::string &folder) {
  std::vector<int64_t> steps;
  std::error_code error;
  for (const fs::directory_entry &entry :
       fs::directory_iterator(folder, error)) {
    std::string file = entry.path().filename().native();
    llvm::StringRef name = file;
    int64_t step;
    if (name.consume_front("step-") && !name.getAsInteger(10, step) &&
        name == std::to_string(step))
      steps.push_back(step);
  }
  return steps;
}

/// The folder itself, or its step of the largest number.
static std::string findCheckpoint(const std::string &folder) {
  if (fs::exists(folder + "/" + kPosition))
    return folder;
  int64_t last = -1;
  for (int64_t step : findSteps(folder))
    if (fs::exists(nameStep(folder, step) + "/" + kPosition))
      last = std::max(last, step);
  if (last < 0)
    throw host::Error("--resume " + folder +
                      ": no checkpoint, nor a folder with one (step-N with " +
                      kPosition + ")");
  return nameStep(folder, last);
}

/// Throws Error if `tensors` are not those that were saved.
static void checkSums(const std::string &path,
                      const std::map<std::string, std::string> &sums,
                      const host::Inputs &tensors) {
  auto fail = [&](const std::string &name, const char *what) {
    throw host::Error(path + ": '" + name + "' " + what +
                      ": the checkpoint is damaged, or mixed with another; "
                      "other parameters begin a run of their own, with "
                      "--weights");
  };
  for (const auto &[name, tensor] : tensors) {
    auto sum = sums.find(name);
    if (sum == sums.end())
      fail(name, "was not saved with it");
    if (sum->second != checksumOf(tensor))
      fail(name, "is not what was saved (its checksum differs)");
  }
  for (const auto &[name, sum] : sums)
    if (!tensors.count(name))
      fail(name, "was saved with it and is not there");
}

Position mlir::dist::loadCheckpoint(const std::string &folder,
                                    host::Inputs &tensors) {
  std::string path = findCheckpoint(folder);
  Position position;
  std::map<std::string, std::string> sums;
  readJson(path + "/" + kPosition, [&](const Json &json) {
    for (const auto &[key, value] : json.items())
      if (!llvm::is_contained({"step", "seed", "optimizer", "accumulate",
                               "in_order", "checksums"},
                              llvm::StringRef(key)))
        throw host::Error("'" + key + "' means nothing here");
    position.step = host::integerOf(json.at("step"));
    position.seed = static_cast<uint64_t>(host::integerOf(json.at("seed")));
    position.optimizer = json.at("optimizer").get<std::string>();
    position.accumulate = host::integerOf(json.at("accumulate"));
    position.inOrder = json.at("in_order").get<bool>();
    sums = json.at("checksums").get<std::map<std::string, std::string>>();
    if (position.step < 0)
      throw host::Error("'step' is " + std::to_string(position.step));
  });
  loadShards(path, tensors);
  if (fs::exists(path + "/" + kStates))
    loadShards(path + "/" + kStates, tensors);
  checkSums(path, sums, tensors);
  return position;
}
