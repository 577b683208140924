//===- OnnxTensorFuzz.cpp - Any bytes as a TensorProto --------------------===//

#include "dist/OnnxTensor.h"
#include "test/fuzz/Files.h"

/// Error is what a malformed file may give; nothing else.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try {
    dist::readOnnxTensor(dist::test::fileOf(data, size, ".pb"));
  } catch (const dist::Error &) {
  }
  return 0;
}
