//===- WeightsFuzz.cpp - Any bytes as an index of weights -----------------===//

#include "dist/Weights.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace fs = std::filesystem;

static volatile char sink;

namespace {
/// A folder with the files that the seeds name: `data`, 64 bytes, and
/// `two.safetensors`, whose tensor `a` is two numbers.
struct Folder {
  Folder() {
    fs::path base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    path = base / ("dist-fuzz-" + std::to_string(getpid()) + ".weights");
    fs::create_directory(path);
    std::ofstream(path / "data") << std::string(64, 'd');
    float numbers[2] = {1, 2};
    dist::Tensor tensor;
    tensor.shape = {2};
    tensor.data = numbers;
    dist::writeSafetensors((path / "two.safetensors").string(),
                           {{"a", tensor}});
  }
  ~Folder() { fs::remove_all(path); }
  fs::path path;
};
} // namespace

/// Error is what a malformed index may give; nothing else. What is accepted can
/// be read to its last byte.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static Folder folder;
  std::string path = (folder.path / "index.json").string();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(data), size);
  try {
    dist::Weights weights(path);
    for (const auto &[name, tensor] : weights.tensors())
      for (int64_t i = 0; i < tensor.bytes(); ++i)
        sink = static_cast<const char *>(tensor.data)[i];
  } catch (const dist::Error &) {
  }
  return 0;
}
