//===- Library.cpp - Where NVIDIA's libraries are found -------------------===//

#include "runtime/cuda/Library.h"
#include "dist/Tensor.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

using namespace dist;
using namespace dist::cuda;
namespace fs = std::filesystem;

static std::string valueOf(const char *variable) {
  const char *value = std::getenv(variable);
  return value ? value : "";
}

/// Folders, in order; "" is the loader's own.
static std::vector<std::string> foldersOf(const LibraryName &name) {
  std::vector<std::string> folders;
  std::string own = valueOf("DIST_CUDA_PATH");
  if (!own.empty())
    folders.insert(folders.end(), {own, own + "/lib64", own + "/lib"});
  folders.push_back("");
  std::string home = valueOf("CUDA_HOME");
  if (!home.empty())
    folders.push_back(home + "/lib64");
  folders.push_back("/usr/local/cuda/lib64");
  std::string environment = valueOf("VIRTUAL_ENV");
  std::error_code error;
  if (!environment.empty())
    for (const fs::directory_entry &python :
         fs::directory_iterator(environment + "/lib", error))
      if (python.path().filename().string().starts_with("python3"))
        for (const std::string &wheel : name.wheels)
          folders.push_back(python.path() / "site-packages" / "nvidia" / wheel /
                            "lib");
  return folders;
}

void *cuda::loadLibrary(const LibraryName &name) {
  std::string looked, problem;
  for (const std::string &folder : foldersOf(name)) {
    looked += (looked.empty() ? "" : ", ") +
              (folder.empty() ? "the loader's folders" : folder);
    for (const std::string &file : name.files) {
      std::string path = folder.empty() ? file : folder + "/" + file;
      std::error_code error;
      if (!folder.empty() && !fs::exists(path, error))
        continue;
      if (void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
        return library;
      // There, but damaged; or what it needs is not.
      std::string why = dlerror();
      if (!why.starts_with(file + ": cannot open"))
        problem = ": " + why;
    }
  }
  std::string files;
  for (const std::string &file : name.files)
    files += (files.empty() ? "" : " or ") + file;
  throw Error("--backend cuda: " + files + " is not found in " + looked +
              problem + ": install " + name.packages +
              ", or name its folder in DIST_CUDA_PATH");
}
