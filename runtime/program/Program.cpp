//===- Program.cpp - A compiled program, loaded from its bundle -----------===//

#include "dist/Program.h"
#include "runtime/host/MappedFile.h"

#include <dlfcn.h>
#include <filesystem>

using namespace dist;
namespace fs = std::filesystem;

/// Throws Error unless `data` is what dist-compile wrote.
static void check(const std::string &path, std::string_view data,
                  const Checksum &expected) {
  Checksum found = checksumOf(data);
  if (found.bytes != expected.bytes)
    throw Error(path + ": has " + std::to_string(found.bytes) +
                " bytes, but the manifest says " +
                std::to_string(expected.bytes) +
                ": the bundle is incomplete or mixed with another; copy or "
                "compile it again");
  if (!(found == expected))
    throw Error(path + ": is not the file that the manifest describes (its "
                       "checksum differs): the bundle is damaged or mixed "
                       "with another; copy or compile it again");
}

/// Where the bundle's file `name` really is. Throws Error for a link that leads
/// out of the bundle.
static std::string findFile(const std::string &folder,
                            const std::string &name) {
  std::error_code error;
  fs::path path = fs::path(folder) / name;
  fs::path real = fs::canonical(path, error);
  if (error)
    throw Error(path.string() + ": cannot open: " + error.message());
  if (real.parent_path() != fs::canonical(folder))
    throw Error(path.string() + ": is a link to '" + real.string() +
                "', which is not in the bundle; copy the file there");
  return real.string();
}

Program dist::loadBundle(const std::string &folder) {
  if (fs::is_regular_file(folder))
    throw Error(folder +
                " is no bundle, which is a folder: dist-compile MODEL.mlir -o "
                "OUT.dist makes one of a program, and dist-run runs a program "
                "at once");
  Program program;
  program.folder = folder;
  const Manifest &manifest = program.manifest =
      Manifest::read((fs::path(folder) / "manifest.json").string());
  std::string path = findFile(folder, manifest.program);
  check(path, mapFile(path).text(), manifest.programChecksum);
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    throw Error("cannot load the program: " + std::string(dlerror()));
  program.code = {handle, [](void *handle) { dlclose(handle); }};
  auto find = [&](const std::string &name) {
    void *symbol = dlsym(handle, name.c_str());
    if (!symbol)
      throw Error(path + ": exports no " + name);
    return symbol;
  };
  if (manifest.pipeline) {
    for (size_t i = 0; i < manifest.pipeline->tasks.size(); ++i)
      program.tasks.push_back(reinterpret_cast<dist_main_fn>(
          find("dist_task_" + std::to_string(i))));
    program.entry = program.tasks.empty() ? nullptr : program.tasks.front();
  } else {
    program.entry = reinterpret_cast<dist_main_fn>(find("dist_main"));
  }
  auto said = static_cast<const char *>(find("dist_manifest"));
  std::string agreement = manifest.agreement();
  if (agreement != said)
    throw Error(folder +
                ": manifest.json and the program do not belong together: they "
                "differ in " +
                differingKeys(agreement, said) +
                "; copy or compile the bundle again");
  if (manifest.constantsChecksum) {
    program.constants =
        std::make_shared<Safetensors>(findFile(folder, manifest.constants));
    check(program.constants->path(), program.constants->text(),
          *manifest.constantsChecksum);
  }
  return program;
}
