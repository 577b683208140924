//===- Driver.cpp - NVIDIA's driver, loaded when it is asked for ----------===//

#include "runtime/cuda/Driver.h"
#include "dist/Tensor.h"

#include <dlfcn.h>
#include <filesystem>

using namespace dist;
using namespace dist::cuda;
namespace fs = std::filesystem;

/// Of --driver emulated:ORDER.
static constexpr std::string_view kEmulated = "emulated";

static bool namesEmulated(const std::string &name) {
  return name.starts_with(kEmulated) &&
         (name.size() == kEmulated.size() || name[kEmulated.size()] == ':');
}

static std::string pathOf(const std::string &name) {
  if (name.empty())
    return "libcuda.so.1";
  if (!namesEmulated(name))
    return name;
  return fs::read_symlink("/proc/self/exe").parent_path() /
         "dist-driver-emulated.so";
}

static void *load(const std::string &name) {
  std::string path = pathOf(name);
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw Error(
        "--backend cuda: " + std::string(dlerror()) +
        (name.empty() ? ": NVIDIA's driver is not installed here; --driver "
                        "emulated runs without a GPU"
         : namesEmulated(name)
             ? ": it belongs beside this program"
             : ": --driver takes emulated, emulated:reverse, emulated:SEED or "
               "a library's path"));
  if (!dlsym(library, "cuGetProcAddress_v2"))
    throw Error(path + " has no cuGetProcAddress_v2: it is no driver of CUDA "
                       "12 or later");
  if (!namesEmulated(name) || name.size() == kEmulated.size())
    return library;
  auto set = reinterpret_cast<int (*)(const char *, const char *)>(
      dlsym(library, "distEmulatedSet"));
  std::string order = name.substr(kEmulated.size() + 1);
  if (!set || !set("order", order.c_str()))
    throw Error("--driver " + name +
                ": after the colon stands an order: issue, reverse, or a "
                "number to begin random ones with");
  return library;
}

void Driver::checkThere(const std::string &name) { load(name); }

Driver::Driver(const std::string &name) : loaded(load(name)) {
  isStandIn = dlsym(loaded, "distEmulatedSet") != nullptr;
  auto find =
      reinterpret_cast<GetProcAddress>(dlsym(loaded, "cuGetProcAddress_v2"));
#define DIST_CUDA_FIND(function, parameters)                                   \
  if (Result result = find(#function, reinterpret_cast<void **>(&function),    \
                           kApiVersion, 0, nullptr);                           \
      result == StubLibrary)                                                   \
    throw Error(pathOf(name) + " is the stub of NVIDIA's toolkit, for "        \
                               "linking: it is no driver");                    \
  else if (result != Success || !function)                                     \
    throw Error("NVIDIA's driver has no " #function                            \
                ": it is older than CUDA 12");
  DIST_CUDA_FUNCTIONS(DIST_CUDA_FIND)
#undef DIST_CUDA_FIND
  Result result = cuInit(0);
  if (result == NoDevice)
    throw Error("the driver knows of no GPU on this machine");
  check(result, "cuInit");
}

void Driver::check(Result result, const std::string &doing) const {
  if (result == Success)
    return;
  const char *text = nullptr;
  if (cuGetErrorString(result, &text) != Success || !text)
    text = "unknown error";
  throw Error(doing + ": " + text + " (" + std::to_string(result) + ")");
}
