//===- Program.cpp - A compiled program, loaded from its bundle -----------===//

#include "dist/Program.h"

#include <dlfcn.h>
#include <filesystem>

using namespace dist;
namespace fs = std::filesystem;

Program dist::loadBundle(const std::string &folder) {
  Program program;
  program.folder = folder;
  program.manifest =
      Manifest::read((fs::path(folder) / "manifest.json").string());
  if (program.manifest.target != "cpu")
    throw Error(folder + ": compiled for target " + program.manifest.target +
                ", which this program does not run");
  std::string path =
      fs::absolute(fs::path(folder) / program.manifest.program).string();
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    throw Error("cannot load the program: " + std::string(dlerror()));
  program.code = {handle, [](void *handle) { dlclose(handle); }};
  program.entry = reinterpret_cast<dist_main_fn>(dlsym(handle, "dist_main"));
  if (!program.entry)
    throw Error(path + ": exports no dist_main");
  if (!program.manifest.constants.empty())
    program.constants = std::make_shared<Safetensors>(
        (fs::path(folder) / program.manifest.constants).string());
  return program;
}
