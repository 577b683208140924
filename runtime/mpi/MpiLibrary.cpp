//===- MpiLibrary.cpp - Finds and loads MPI -------------------------------===//

#include "runtime/mpi/MpiLibrary.h"
#include "dist/Tensor.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <vector>

using namespace dist;
namespace fs = std::filesystem;

namespace {
struct Family {
  const char *name, *plugin, *library, *package;
  /// Set by its own starter of processes.
  const char *variable;
};
} // namespace

static constexpr Family families[] = {
    {"Open MPI", "dist-mpi-openmpi.so", "libmpi.so.40", "libopenmpi-dev",
     "OMPI_COMM_WORLD_SIZE"},
    {"MPICH", "dist-mpi-mpich.so", "libmpich.so.12", "libmpich-dev",
     "PMI_SIZE"}};

/// Beside this program, or in lib/dist beside its folder.
static std::vector<fs::path> folders() {
  std::error_code error;
  fs::path own = fs::read_symlink("/proc/self/exe", error).parent_path();
  return {own, own.parent_path() / "lib" / "dist"};
}

static std::unique_ptr<MpiLibrary> load(const Family &family,
                                        std::string &why) {
  // All of its symbols, which its own parts look for.
  if (!dlopen(family.library, RTLD_NOW | RTLD_GLOBAL)) {
    why = dlerror();
    return nullptr;
  }
  for (const fs::path &folder : folders()) {
    fs::path path = folder / family.plugin;
    if (!fs::exists(path))
      continue;
    void *plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
      why = dlerror();
      return nullptr;
    }
    auto *make =
        reinterpret_cast<MakeMpiLibrary *>(dlsym(plugin, "makeMpiLibrary"));
    if (make)
      return std::unique_ptr<MpiLibrary>(make());
    why = path.string() + " was built without its headers (" + family.package +
          ")";
    return nullptr;
  }
  why = std::string(family.plugin) + " is not beside this program";
  return nullptr;
}

std::unique_ptr<MpiLibrary> dist::loadMpi() {
  const Family *started = nullptr;
  for (const Family &family : families)
    if (!started && std::getenv(family.variable))
      started = &family;
  std::string all;
  for (const Family &family : families) {
    // Another one would start a world of one process.
    if (started && started != &family)
      continue;
    std::string why;
    if (std::unique_ptr<MpiLibrary> library = load(family, why))
      return library;
    all += std::string("\n  ") + family.name + ": " + why;
  }
  throw Error("--backend mpi: there is no MPI here:" + all);
}
