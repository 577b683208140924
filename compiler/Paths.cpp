//===- Paths.cpp - Where a module finds its weights -----------------------===//

#include "compiler/Paths.h"
#include "dialects/dist/IR/Dist.h"
#include <filesystem>

using namespace mlir;
using namespace mlir::dist;
namespace fs = std::filesystem;

std::string mlir::dist::folderOf(StringRef file) {
  if (file == "-")
    return ".";
  std::string folder = fs::path(file.str()).parent_path().string();
  return folder.empty() ? "." : folder;
}

std::string mlir::dist::weightsPath(ModuleOp module, StringRef moduleFile,
                                    StringRef given) {
  if (!given.empty())
    return given.str();
  auto named = module->getAttrOfType<StringAttr>(kWeightsAttr);
  if (!named || named.getValue().empty())
    return "";
  fs::path path(named.getValue().str());
  std::string folder = folderOf(moduleFile);
  return path.is_absolute() || folder == "." ? path.string()
                                             : (folder / path).string();
}

/// The folder as it really is, without symbolic links; what does not exist yet
/// counts as folders.
static fs::path realFolder(const fs::path &folder) {
  std::error_code error;
  fs::path absolute = fs::absolute(folder, error);
  fs::path real = fs::weakly_canonical(absolute, error);
  return error ? absolute.lexically_normal() : real;
}

std::string mlir::dist::relocate(StringRef path, StringRef folder,
                                 StringRef newFolder) {
  fs::path file(path.str());
  fs::path from = realFolder(folder.str()), to = realFolder(newFolder.str());
  if (path.empty() || file.is_absolute() || from == to)
    return path.str();
  // The file itself may be a link, whose name is kept.
  fs::path real = realFolder((from / file).parent_path()) / file.filename();
  fs::path relative = real.lexically_relative(to);
  return relative.empty() ? real.string() : relative.string();
}

std::string mlir::dist::relocateWeights(ModuleOp module, StringRef moduleFile,
                                        StringRef given, StringRef newFolder) {
  if (!given.empty())
    return relocate(given, ".", newFolder);
  auto named = module->getAttrOfType<StringAttr>(kWeightsAttr);
  return named ? relocate(named.getValue(), folderOf(moduleFile), newFolder)
               : "";
}
