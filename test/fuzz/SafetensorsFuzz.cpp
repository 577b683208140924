//===- SafetensorsFuzz.cpp - Any bytes as a safetensors file --------------===//

#include "dist/Safetensors.h"
#include "test/fuzz/Files.h"

static volatile char sink;

/// Error is what a malformed file may give; nothing else. What is accepted can
/// be read to its last byte.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try {
    dist::Safetensors file(dist::test::fileOf(data, size, ".safetensors"));
    for (const auto &[name, tensor] : file.tensors())
      for (int64_t i = 0; i < tensor.bytes(); ++i)
        sink = static_cast<const char *>(tensor.data)[i];
  } catch (const dist::Error &) {
  }
  return 0;
}
