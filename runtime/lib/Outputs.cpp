//===- Outputs.cpp - Results as files -------------------------------------===//

#include "dist/Outputs.h"
#include "dist/Npy.h"

#include <algorithm>
#include <filesystem>
#include <map>

using namespace dist;
namespace fs = std::filesystem;

void dist::writeOutputs(const std::string &folder, const RunResult &result) {
  std::map<std::string, const RunResult::Output *> files;
  for (const RunResult::Output &output : result.outputs) {
    std::string file = output.name + ".npy";
    std::replace(file.begin(), file.end(), '/', '_');
    auto [other, isNew] = files.try_emplace(file, &output);
    if (!isNew)
      throw Error("--output " + folder + ": results '" + other->second->name +
                  "' and '" + output.name + "' would both be " + file);
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw Error("--output " + folder + ": " + error.message());
  for (const auto &[file, output] : files)
    writeNpy((fs::path(folder) / file).string(), output->tensor);
}
