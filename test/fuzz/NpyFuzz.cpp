//===- NpyFuzz.cpp - Any bytes as an .npy file ----------------------------===//

#include "dist/Npy.h"
#include "test/fuzz/Files.h"

/// Error is what a malformed file may give; nothing else.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try {
    dist::readNpy(dist::test::fileOf(data, size, ".npy"));
  } catch (const dist::Error &) {
  }
  return 0;
}
