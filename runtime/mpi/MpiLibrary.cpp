//===- MpiLibrary.cpp - Finds and loads MPI -------------------------------===//

#include "runtime/mpi/MpiLibrary.h"
#include "dist/Tensor.h"
#include "runtime/mpi/Starter.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <vector>

using namespace dist;
namespace fs = std::filesystem;

namespace {
struct Family {
  /// As --mpi has it, and as its authors do.
  const char *option, *name;
  const char *plugin, *library, *package;
  Starter::Kind starter;
  /// Set for a process by Slurm, too.
  const char *variable;
};
} // namespace

static constexpr Family families[] = {
    {"openmpi", "Open MPI", "dist-mpi-openmpi.so", "libmpi.so.40",
     "libopenmpi-dev", Starter::OpenMpi, "PMIX_RANK"},
    {"mpich", "MPICH", "dist-mpi-mpich.so", "libmpich.so.12", "libmpich-dev",
     Starter::Mpich, "PMI_SIZE"}};

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

/// The family to load; null if nothing tells. Another one than that of the
/// starter would make a world of one process.
static const Family *chooseFamily(const std::string &asked) {
  std::optional<Starter> starter = findStarter();
  const Family *chosen = nullptr;
  std::string known;
  for (const Family &family : families) {
    if (asked == family.option)
      chosen = &family;
    known += std::string(known.empty() ? "" : ", ") + family.option;
  }
  if (!asked.empty() && !chosen)
    throw Error("--mpi " + asked + ": known are " + known);
  for (const Family &family : families) {
    if (!starter || starter->kind != family.starter)
      continue;
    if (chosen && chosen != &family)
      throw Error("--mpi " + asked + ": " + starter->command + " of " +
                  family.name +
                  " has started this process: leave --mpi out, "
                  "or start it by " +
                  chosen->name);
    return &family;
  }
  if (chosen)
    return chosen;
  for (const Family &family : families)
    if (std::getenv(family.variable))
      return &family;
  return nullptr;
}

std::string dist::chooseMpi(const std::string &asked) {
  const Family *chosen = chooseFamily(asked);
  return chosen ? chosen->option : "";
}

std::unique_ptr<MpiLibrary> dist::loadMpi(const std::string &asked) {
  const Family *chosen = chooseFamily(asked);
  std::string all;
  for (const Family &family : families) {
    if (chosen && chosen != &family)
      continue;
    std::string why;
    if (std::unique_ptr<MpiLibrary> library = load(family, why))
      return library;
    all += std::string("\n  ") + family.name + ": " + why;
  }
  throw Error("--backend mpi: there is no MPI here:" + all);
}
