//===- Outputs.cpp - Results as files -------------------------------------===//

#include "dist/Outputs.h"
#include "dist/Timeline.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

using namespace dist;
namespace fs = std::filesystem;

/// A folder for results. Those on the way to it that this makes go again,
/// unless something is in them.
static std::list<TemporaryPath> makeFolder(const std::string &folder) {
  std::list<TemporaryPath> made;
  std::error_code error;
  std::vector<fs::path> missing;
  for (fs::path path = folder;
       !path.empty() && !fs::exists(fs::symlink_status(path, error));
       path = path.parent_path())
    missing.push_back(path);
  for (; !missing.empty(); missing.pop_back())
    made.emplace_front(missing.back(), TemporaryPath::IfEmpty);
  fs::create_directories(folder, error);
  if (!error && !fs::is_directory(folder))
    error = std::make_error_code(std::errc::not_a_directory);
  if (error)
    throw Error("--output " + folder + ": " + error.message());
  return made;
}

/// The file of each result. Throws Error where two would be one.
static std::vector<std::string> nameFiles(const std::string &folder,
                                          const std::vector<Output> &outputs) {
  std::map<std::string, const Output *> known;
  std::vector<std::string> files;
  for (const Output &output : outputs) {
    std::string file = output.name + ".npy";
    std::replace(file.begin(), file.end(), '/', '_');
    auto [other, isNew] = known.try_emplace(file, &output);
    if (!isNew)
      throw Error("--output " + folder + ": results '" + other->second->name +
                  "' and '" + output.name + "' would both be " + file);
    files.push_back((fs::path(folder) / file).string());
  }
  return files;
}

std::string dist::describeRun(const Program &program, const RunResult &result,
                              bool areWritten) {
  std::string text;
  for (const Output &output : result.outputs)
    text += output.name + ": " + dtypeName(output.tensor.dtype) +
            toString(output.tensor.shape) + (areWritten ? " written\n" : "\n");
  if (result.profile)
    text += formatProfile(*result.profile);
  int64_t ranks = program.manifest.mesh.size();
  size_t runs = result.seconds.size();
  char best[64];
  std::snprintf(best, sizeof(best), "%.3f",
                1e3 * *std::min_element(result.seconds.begin(),
                                        result.seconds.end()));
  return text + std::to_string(ranks) + (ranks == 1 ? " rank, " : " ranks, ") +
         (runs == 1 ? "1 run, " + std::string(best) +
                          " ms with what only the first takes (--repeat)\n"
                    : std::to_string(runs) + " runs, best " + best + " ms\n");
}

ResultFiles::ResultFiles(const std::string &folder, const std::string &trace,
                         const Manifest &manifest)
    : tracePath(trace) {
  if (!isRoot())
    return;
  if (!folder.empty()) {
    std::vector<Output> outputs = describeOutputs(manifest);
    std::vector<std::string> names = nameFiles(folder, outputs);
    made = makeFolder(folder);
    for (size_t i = 0; i < outputs.size(); ++i) {
      OutputFile &file = files.emplace_back(names[i]);
      writers.emplace_back(file, outputs[i].tensor);
      file.rest();
    }
  }
  if (!trace.empty())
    traceFile.emplace(trace);
}

void ResultFiles::begin(const Output &) {
  if (begun > 0)
    files[begun - 1].rest();
  writers[begun++].begin();
}

void ResultFiles::write(const void *data, int64_t count) {
  writers[begun - 1].write(data, count);
}

void ResultFiles::commit(const std::string &trace) {
  std::vector<OutputFile *> all;
  for (OutputFile &file : files)
    all.push_back(&file);
  if (traceFile) {
    std::string text = formatTimeline(trace, tracePath);
    traceFile->write(text.data(), text.size());
    all.push_back(&*traceFile);
  }
  OutputFile::commit(all);
}
