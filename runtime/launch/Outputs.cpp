//===- Outputs.cpp - Results as files -------------------------------------===//

#include "dist/Outputs.h"
#include "dist/Npy.h"
#include "dist/OutputFile.h"
#include "dist/Timeline.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <list>
#include <map>

using namespace dist;
namespace fs = std::filesystem;

namespace {

/// A folder for results. Those on the way to it that this makes go again,
/// unless it is kept.
class ResultFolder {
public:
  explicit ResultFolder(const std::string &folder) {
    std::error_code error;
    for (fs::path path = folder;
         !path.empty() && !fs::exists(fs::symlink_status(path, error));
         path = path.parent_path())
      made.push_back(path);
    fs::create_directories(folder, error);
    if (!error && !fs::is_directory(folder))
      error = std::make_error_code(std::errc::not_a_directory);
    if (!error)
      return;
    remove();
    throw Error("--output " + folder + ": " + error.message());
  }
  ~ResultFolder() { remove(); }
  void keep() { made.clear(); }

private:
  void remove() {
    std::error_code error;
    for (const fs::path &path : made)
      fs::remove(path, error); // not if something is in it
  }

  std::vector<fs::path> made; // the innermost first
};

} // namespace

/// The file of each result. Throws Error where two would be one.
static std::map<std::string, const Tensor *>
nameFiles(const std::string &folder, const RunResult &result) {
  std::map<std::string, const RunResult::Output *> outputs;
  std::map<std::string, const Tensor *> files;
  for (const RunResult::Output &output : result.outputs) {
    std::string file = output.name + ".npy";
    std::replace(file.begin(), file.end(), '/', '_');
    auto [other, isNew] = outputs.try_emplace(file, &output);
    if (!isNew)
      throw Error("--output " + folder + ": results '" + other->second->name +
                  "' and '" + output.name + "' would both be " + file);
    files[(fs::path(folder) / file).string()] = &output.tensor;
  }
  return files;
}

std::string dist::describeRun(const Program &program, const RunResult &result,
                              bool areWritten) {
  std::string text;
  for (const RunResult::Output &output : result.outputs)
    text += output.name + ": " + dtypeName(output.tensor.dtype) +
            toString(output.tensor.shape) + (areWritten ? " written\n" : "\n");
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

void dist::writeOutputs(const std::string &folder, const std::string &trace,
                        const RunResult &result) {
  std::optional<ResultFolder> made;
  std::list<OutputFile> files;
  if (!folder.empty()) {
    std::map<std::string, const Tensor *> results = nameFiles(folder, result);
    made.emplace(folder);
    for (const auto &[file, tensor] : results) {
      writeNpy(files.emplace_back(file), *tensor);
      files.back().close();
    }
  }
  if (!trace.empty()) {
    OutputFile &file = files.emplace_back(trace);
    std::string text = formatTimeline(result.trace, trace);
    file.write(text.data(), text.size());
  }
  std::vector<OutputFile *> all;
  for (OutputFile &file : files)
    all.push_back(&file);
  OutputFile::commit(all);
  if (made)
    made->keep();
}
